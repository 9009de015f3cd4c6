package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.cli.pages.LocalPages;

/** The local page shows what is in its folder, to its own pages on this computer, and no more. */
final class UiCommandTest {
  @TempDir private static Path directory;
  private static LocalPages pages;
  private static HttpClient client;

  @BeforeAll
  static void fillAndOpen() throws IOException {
    Path root = directory.resolve("root");
    for (String n : List.of("16", "4096")) {
      Session run =
          Session.of(
              "run",
              "hello-send",
              "--topology",
              "tiny",
              "--param",
              "n_elem=" + n,
              "--out",
              root.resolve("runs/n " + n).toString());
      assertThat(run.exitCode()).as(run.err()).isZero();
    }
    Files.createDirectories(root.resolve("odd"));
    Files.writeString(root.resolve("odd/result.json"), "{\"bench\": \"</script><b>\"");
    Files.createDirectories(root.resolve("sweep"));
    Files.writeString(
        root.resolve("sweep/results.json"),
        "{\"bench\": \"</script><i>\", \"axes\": {\"n\": [\"1\", \"2\"]}, \"rows\": [{\"status\":"
            + " \"ok\", \"machine\": \"tiny\"}, {\"status\": \"refused\"}]}");
    Files.createDirectories(directory.resolve("secret"));
    Files.writeString(directory.resolve("secret/results.json"), "{\"bench\": \"secret\"}");
    Files.createSymbolicLink(root.resolve("link"), directory.resolve("secret"));
    pages = LocalPages.open(root, 0);
    client = HttpClient.newHttpClient();
  }

  @AfterAll
  static void close() {
    client.close();
    pages.close();
  }

  private static HttpResponse<String> get(String path) throws Exception {
    return client.send(
        HttpRequest.newBuilder(pages.address().resolve(path)).build(),
        HttpResponse.BodyHandlers.ofString());
  }

  /** A request as it stands, for what a client would not send; the answer with its head. */
  private static String raw(String... lines) throws IOException {
    try (Socket socket = new Socket("127.0.0.1", pages.address().getPort())) {
      socket.setSoTimeout(20_000);
      String text = String.join("\r\n", lines) + "\r\nConnection: close\r\n\r\n";
      socket.getOutputStream().write(text.getBytes(StandardCharsets.ISO_8859_1));
      return new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static String here() {
    return "Host: 127.0.0.1:" + pages.address().getPort();
  }

  // ---- what is shown ----

  @Test
  void list_hasRunsAndSweeps_andNothingBehindLinks() throws Exception {
    HttpResponse<String> list = get("");

    assertThat(list.statusCode()).isEqualTo(200);
    assertThat(list.body())
        .contains("\"path\":\"runs/n 16\",\"kind\":\"run\",\"bench\":\"hello-send\"")
        .contains("\"machine\":\"tiny\"")
        .contains("n_elem=4096")
        .contains("\"status\":\"1 of 2 points ok\"")
        .contains("\"with\":\"n=1,2\"")
        .contains("\"status\":\"cannot be read\"") // half of a JSON text
        .doesNotContain("secret")
        .doesNotContain("</script><");
  }

  @Test
  void report_isThePageThatTheCommandWrites() throws Exception {
    Path page = directory.resolve("report.html");
    Session report =
        Session.of(
            "report", directory.resolve("root/runs/n 16").toString(), "--out", page.toString());
    assertThat(report.exitCode()).as(report.err()).isZero();

    assertThat(get("report/runs/n%2016").body()).isEqualTo(Files.readString(page));
  }

  /** Beside the command line, which compares the same folders. */
  @Test
  void compare_saysWhatDiffSays() throws Exception {
    Session diff =
        Session.of(
            "diff",
            directory.resolve("root/runs/n 16").toString(),
            directory.resolve("root/runs/n 4096").toString(),
            "--format",
            "json");

    String page = get("compare?a=runs%2Fn%2016&b=runs%2Fn%204096").body();

    assertThat(diff.exitCode()).as(diff.err()).isZero();
    assertThat(page).contains("\"diff\":" + diff.out().replace("<", "\\u003c"));
    assertThat(get("compare?a=runs%2Fn%2016&b=sweep").statusCode()).isEqualTo(422);
    assertThat(get("compare?a=runs%2Fn%2016").statusCode()).isEqualTo(404);
  }

  @Test
  void pages_saySoToTheBrowser() throws Exception {
    HttpResponse<String> list = get("");

    assertThat(list.headers().firstValue("X-Frame-Options")).contains("DENY");
    assertThat(list.headers().firstValue("Cache-Control")).contains("no-store");
    assertThat(list.headers().map()).doesNotContainKey("access-control-allow-origin");
    assertThat(list.body()).contains("default-src 'none'").doesNotContain("unsafe");
  }

  // ---- what is refused ----

  @ParameterizedTest
  @ValueSource(
      strings = {
        "../secret",
        "%2e%2e/secret",
        "..%2fsecret",
        "runs/../../secret",
        "link",
        "/etc/passwd",
        "%2Fetc%2Fpasswd",
        "runs/n%2016/result.json",
        "runs",
        "x%00",
        "nowhere",
      })
  void pathThatTheListHasNot_isNotFound(String path) throws Exception {
    for (String place : List.of("/report/" + path, "/compare?a=runs%2Fn%2016&b=" + path)) {
      String answer = raw("GET " + place + " HTTP/1.1", here());

      assertThat(answer).as(place).startsWith("HTTP/1.1 404");
      assertThat(answer).doesNotContain("\"bench\"").doesNotContain("root:");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"%", "%zz", "%f"})
  void pathThatIsNone_isAnErrorAndNoCrash(String path) throws Exception {
    assertThat(raw("GET /report/" + path + " HTTP/1.1", here())).matches("(?s)HTTP/1.1 4\\d\\d.*");
    assertThat(get("").statusCode()).isEqualTo(200);
  }

  /** A name of another site that was made to point here. */
  @Test
  void otherHost_isRefused() throws Exception {
    int port = pages.address().getPort();
    for (String host :
        List.of("evil.example", "evil.example:" + port, "127.0.0.1", "127.0.0.1:1", "")) {
      assertThat(raw("GET / HTTP/1.1", "Host: " + host))
          .as(host)
          .startsWith("HTTP/1.1 403")
          .doesNotContain("hello-send");
    }
    assertThat(raw("GET / HTTP/1.0")).doesNotContain("hello-send"); // none at all
    assertThat(raw("GET / HTTP/1.1", here(), "Host: evil.example")).doesNotContain("hello-send");
    assertThat(raw("GET / HTTP/1.1", "Host: localhost:" + port)).startsWith("HTTP/1.1 200");
  }

  @Test
  void otherOrigin_isRefused() throws Exception {
    int port = pages.address().getPort();
    for (String origin :
        List.of("http://evil.example", "null", "https://127.0.0.1:" + port, "http://127.0.0.1")) {
      assertThat(raw("GET / HTTP/1.1", here(), "Origin: " + origin))
          .as(origin)
          .startsWith("HTTP/1.1 403")
          .doesNotContain("hello-send");
    }
    assertThat(raw("GET / HTTP/1.1", here(), "Sec-Fetch-Site: cross-site"))
        .startsWith("HTTP/1.1 403");
    assertThat(raw("GET / HTTP/1.1", here(), "Origin: http://127.0.0.1:" + port))
        .startsWith("HTTP/1.1 200");
  }

  @ParameterizedTest
  @ValueSource(strings = {"POST", "PUT", "DELETE", "OPTIONS", "TRACE"})
  void methodThatCouldChange_isRefused(String method) throws Exception {
    assertThat(raw(method + " / HTTP/1.1", here(), "Content-Length: 0"))
        .startsWith("HTTP/1.1 405")
        .containsIgnoringCase("Allow: GET, HEAD");
  }

  /** Only who is on this computer can connect: no other address of it listens. */
  @Test
  void otherAddresses_doNotListen() throws Exception {
    for (NetworkInterface each : Collections.list(NetworkInterface.getNetworkInterfaces())) {
      for (InetAddress address : Collections.list(each.getInetAddresses())) {
        if (!address.isLoopbackAddress()) {
          try (Socket socket = new Socket()) {
            Assertions.assertThatThrownBy(() ->
                    socket.connect(new InetSocketAddress(address, pages.address().getPort()), 2000))
                .as(address.toString())
                .isInstanceOf(IOException.class);
          }
        }
      }
    }
  }

  // ---- the command ----

  /** Killed while it serves, it is gone and so is its port. */
  @Test
  void command_servesUntilItIsKilled() throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin/java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                "org.kernbench.cli.Main",
                "ui",
                directory.resolve("root").toString(),
                "--port",
                "0")
            .start();
    try (BufferedReader out =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      URI address = URI.create(out.readLine().split(" ", 2)[0]);
      HttpRequest request = HttpRequest.newBuilder(address).build();
      assertThat(client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode())
          .isEqualTo(200);

      process.destroy();

      assertThat(process.waitFor(20, TimeUnit.SECONDS)).isTrue();
      Assertions.assertThatThrownBy(
              () -> client.send(request, HttpResponse.BodyHandlers.discarding()))
          .isInstanceOf(ConnectException.class);
    } finally {
      process.destroyForcibly();
    }
  }

  @Test
  void portThatIsTaken_isSaid() {
    String port = Integer.toString(pages.address().getPort());

    Session taken = Session.of("ui", directory.toString(), "--port", port);

    assertThat(taken.exitCode()).isEqualTo(2);
    assertThat(taken.err()).contains("--port " + port + ": cannot listen there").contains("or 0");
  }
}
