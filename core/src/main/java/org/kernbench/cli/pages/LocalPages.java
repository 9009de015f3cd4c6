package org.kernbench.cli.pages;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.kernbench.config.UsageException;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.report.Page;
import org.kernbench.eval.report.Recording;
import org.kernbench.eval.report.Report;
import org.kernbench.eval.report.RunDiff;
import org.kernbench.eval.report.RunFolder;

/**
 * A page over the runs and sweeps of a folder: a list, their reports, two runs beside each other.
 *
 * <p>It listens on the loopback address alone and answers only who asks for that address: a page of
 * another site that a browser has open can neither read it (the {@code Host} and {@code Origin} of
 * a request are compared, so a name that is made to point here does not help) nor change anything,
 * for nothing can be changed. Only folders of the list can be named.
 */
public final class LocalPages implements AutoCloseable {
  private static final int THREADS = 4;
  private static final int OK = 200;
  private static final int FORBIDDEN = 403;
  private static final int NOT_FOUND = 404;
  private static final int METHOD = 405;
  private static final int CANNOT = 422;
  private static final int BROKEN = 500;

  private final Shelf shelf;
  private final HttpServer server;
  private final ExecutorService threads;
  private final List<String> hosts;

  private LocalPages(Shelf shelf, HttpServer server, ExecutorService threads) {
    this.shelf = shelf;
    this.server = server;
    this.threads = threads;
    int port = server.getAddress().getPort();
    this.hosts = List.of("127.0.0.1:" + port, "localhost:" + port);
  }

  /**
   * Starts to answer.
   *
   * @param root folder with runs and sweeps in it
   * @param port to listen on; 0 for any that is free
   * @throws UsageException if there is no such folder, or the port is taken
   */
  public static LocalPages open(Path root, int port) {
    Shelf shelf = new Shelf(root);
    HttpServer server;
    try {
      InetAddress here = InetAddress.getByAddress("localhost", new byte[] {127, 0, 0, 1});
      server = HttpServer.create(new InetSocketAddress(here, port), 0);
    } catch (IOException e) {
      throw new UsageException(
          "--port %s: cannot listen there (%s); name another, or 0 for any that is free"
              .formatted(port, e.getMessage()));
    }
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    LocalPages pages = new LocalPages(shelf, server, threads);
    server.setExecutor(threads);
    server.createContext("/", pages::answer);
    server.start();
    return pages;
  }

  /** Where it is. */
  public URI address() {
    return URI.create("http://" + hosts.getFirst() + "/");
  }

  /** Stops at once. */
  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }

  /**
   * What is answered.
   *
   * @param status of HTTP
   * @param type of the content
   * @param text of it
   */
  private record Answer(int status, String type, String text) {
    static Answer page(int status, String html) {
      return new Answer(status, "text/html; charset=utf-8", html);
    }

    static Answer refused(int status, String why) {
      return new Answer(status, "text/plain; charset=utf-8", why + "\n");
    }
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      Answer answer;
      try {
        answer = answerTo(exchange);
      } catch (RuntimeException | OutOfMemoryError e) {
        answer = Answer.refused(BROKEN, "this is a bug in kernbench: " + e);
      }
      send(exchange, answer);
    }
  }

  private Answer answerTo(HttpExchange exchange) {
    Optional<String> stranger = stranger(exchange.getRequestHeaders());
    if (stranger.isPresent()) {
      return Answer.refused(FORBIDDEN, stranger.get());
    }
    String method = exchange.getRequestMethod();
    if (!method.equals("GET") && !method.equals("HEAD")) {
      exchange.getResponseHeaders().set("Allow", "GET, HEAD");
      return Answer.refused(METHOD, method + ": nothing can be changed here; expected GET or HEAD");
    }
    String path = exchange.getRequestURI().getRawPath();
    try {
      if (path.equals("/")) {
        return Answer.page(OK, page(shelf.json()));
      }
      if (path.startsWith("/report/")) {
        String given = decoded(path.substring("/report/".length()));
        String name = given.isEmpty() ? "." : given;
        return shelf
            .folder(name)
            .map(folder -> Answer.page(OK, Report.page(folder)))
            .orElseGet(
                () -> Answer.page(NOT_FOUND, problem(name + ": no run or sweep of the list.")));
      }
      if (path.equals("/compare")) {
        return compared(asked(exchange.getRequestURI().getRawQuery()));
      }
    } catch (UsageException | IllegalArgumentException e) {
      return Answer.page(CANNOT, problem(String.valueOf(e.getMessage())));
    }
    return Answer.page(NOT_FOUND, problem("There is no such page."));
  }

  /** Why a request is none of the page's own, if it is not. */
  private Optional<String> stranger(Headers headers) {
    List<String> host = headers.getOrDefault("Host", List.of());
    if (host.size() != 1 || !hosts.contains(host.getFirst())) {
      return Optional.of("Host: got %s; expected one of %s".formatted(host, hosts));
    }
    for (String origin : headers.getOrDefault("Origin", List.of())) {
      if (hosts.stream().noneMatch(h -> origin.equals("http://" + h))) {
        return Optional.of("Origin: got %s; expected none, or this page".formatted(origin));
      }
    }
    for (String site : headers.getOrDefault("Sec-Fetch-Site", List.of())) {
      if (!site.equals("same-origin") && !site.equals("none")) {
        return Optional.of("Sec-Fetch-Site: got %s; expected this page".formatted(site));
      }
    }
    return Optional.empty();
  }

  private Answer compared(Map<String, String> asked) {
    String a = asked.getOrDefault("a", "");
    String b = asked.getOrDefault("b", "");
    Optional<Path> first = shelf.folder(a);
    Optional<Path> second = shelf.folder(b);
    if (first.isEmpty() || second.isEmpty()) {
      return Answer.page(
          NOT_FOUND, problem((first.isEmpty() ? a : b) + ": no run or sweep of the list."));
    }
    String one = first.get().toString();
    String other = second.get().toString();
    Recording from = RunFolder.read(one);
    Recording to = RunFolder.read(other);
    RunDiff diff = from.from(one, left -> to.from(other, right -> RunDiff.of(left, right)));
    String names = Json.compact(a) + ",\"b\":" + Json.compact(b);
    return Answer.page(OK, html("{\"a\":" + names + ",\"diff\":" + diff.toJson() + "}"));
  }

  private static Map<String, String> asked(String query) {
    Map<String, String> asked = new HashMap<>();
    for (String pair : query == null ? new String[0] : query.split("&", -1)) {
      int equals = pair.indexOf('=');
      if (equals > 0) {
        asked.put(decoded(pair.substring(0, equals)), decoded(pair.substring(equals + 1)));
      }
    }
    return asked;
  }

  private static String decoded(String text) {
    return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
  }

  private static String problem(String why) {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("problem", why);
    return page(json);
  }

  private static String page(Map<String, Object> data) {
    return html(Json.compact(data));
  }

  private static String html(String json) {
    return new Page("runs.html")
        .style("report.css")
        .script("SCRIPT", "words.js", "runs.js")
        .data("DATA", json)
        .toString();
  }

  private static void send(HttpExchange exchange, Answer answer) throws IOException {
    Headers headers = exchange.getResponseHeaders();
    headers.set("Content-Type", answer.type);
    headers.set("Cache-Control", "no-store");
    headers.set("X-Content-Type-Options", "nosniff");
    headers.set("X-Frame-Options", "DENY");
    headers.set("Referrer-Policy", "no-referrer");
    headers.set("Cross-Origin-Resource-Policy", "same-origin");
    headers.set("Cross-Origin-Opener-Policy", "same-origin");
    byte[] body = answer.text.getBytes(StandardCharsets.UTF_8);
    boolean whole = !exchange.getRequestMethod().equals("HEAD");
    exchange.sendResponseHeaders(answer.status, whole ? body.length : -1);
    if (whole) {
      try (OutputStream out = exchange.getResponseBody()) {
        out.write(body);
      }
    }
  }
}
