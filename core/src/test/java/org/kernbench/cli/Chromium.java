package org.kernbench.cli;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.WebSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.output.JsonObject;

/**
 * A Chromium without a window, driven over its debugging protocol: opens pages, runs what a reader
 * would do, takes pictures, and keeps every complaint of the console and every request.
 */
final class Chromium implements AutoCloseable {
  private static final long PATIENCE_S = 60;

  private final Process process;
  private final WebSocket socket;
  private final LinkedBlockingQueue<JsonObject> arrived = new LinkedBlockingQueue<>();
  private final List<String> complaints = new ArrayList<>();
  private final List<String> requests = new ArrayList<>();
  private String session = "";
  private int sent;
  private boolean loaded;

  /** Where it is installed. */
  static Optional<Path> installed() {
    return Stream.of(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator))
        .flatMap(dir ->
            Stream.of("chromium", "chromium-browser", "google-chrome")
                .map(dir1 -> Path.of(dir, dir1)))
        .filter(Files::isExecutable)
        .findFirst();
  }

  /** Starts it with a profile of its own in a folder. */
  static Chromium start(Path profile) throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(
                installed().orElseThrow().toString(),
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--hide-scrollbars",
                "--remote-debugging-port=0",
                "--user-data-dir=" + profile,
                "about:blank")
            .redirectErrorStream(true)
            .start();
    BufferedReader out =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    for (String line = out.readLine(); line != null; line = out.readLine()) {
      if (line.startsWith("DevTools listening on ")) {
        Thread rest = new Thread(() -> out.lines().forEach(text -> {}));
        rest.setDaemon(true);
        rest.start();
        return new Chromium(process, line.substring("DevTools listening on ".length()));
      }
    }
    throw new IOException("Chromium ended before it listened");
  }

  private Chromium(Process process, String address) throws InterruptedException {
    this.process = process;
    socket =
        HttpClient.newHttpClient()
            .newWebSocketBuilder()
            .buildAsync(URI.create(address), new Listener())
            .join();
    String target = call("Target.createTarget", Map.of("url", "about:blank")).text("targetId");
    session =
        call("Target.attachToTarget", Map.of("targetId", target, "flatten", true))
            .text("sessionId");
    call("Page.enable", Map.of());
    call("Runtime.enable", Map.of());
    call("Log.enable", Map.of());
    call("Network.enable", Map.of());
  }

  private final class Listener implements WebSocket.Listener {
    private final StringBuilder text = new StringBuilder();

    @Override
    public CompletionStage<?> onText(WebSocket from, CharSequence data, boolean last) {
      text.append(data);
      if (last) {
        arrived.add(JsonObject.read(text.toString().getBytes(StandardCharsets.UTF_8)));
        text.setLength(0);
      }
      from.request(1);
      return null;
    }
  }

  private JsonObject call(String method, Map<String, Object> params) throws InterruptedException {
    int id = ++sent;
    Map<String, Object> message = new LinkedHashMap<>();
    message.put("id", id);
    message.put("method", method);
    message.put("params", params);
    if (!session.isEmpty()) {
      message.put("sessionId", session);
    }
    socket.sendText(Json.compact(message), true).join();
    while (true) {
      JsonObject next = next();
      if (next.has("id") && next.whole("id") == id) {
        if (next.has("error")) {
          throw new AssertionError(method + ": " + next.object("error").text("message"));
        }
        return next.object("result");
      }
    }
  }

  private JsonObject next() throws InterruptedException {
    JsonObject next = arrived.poll(PATIENCE_S, TimeUnit.SECONDS);
    if (next == null) {
      throw new AssertionError("Chromium says nothing any more");
    }
    if (next.has("method")) {
      event(next.text("method"), next.object("params"));
    }
    return next;
  }

  private void event(String method, JsonObject params) {
    switch (method) {
      case "Page.loadEventFired" -> loaded = true;
      case "Network.requestWillBeSent" -> requests.add(params.object("request").text("url"));
      case "Log.entryAdded" -> complaints.add(params.object("entry").text("text"));
      case "Runtime.exceptionThrown" ->
          complaints.add(params.object("exceptionDetails").text("text"));
      case "Runtime.consoleAPICalled" -> {
        if (List.of("error", "warning", "assert").contains(params.text("type"))) {
          complaints.add("console: " + params.text("type"));
        }
      }
      default -> {} // of no interest
    }
  }

  /** Opens a page in a window of a width, and waits until it has been drawn. */
  void open(String address, int width) throws InterruptedException {
    size(width, 900);
    loaded = false;
    call("Page.navigate", Map.of("url", address));
    while (!loaded) {
      next();
    }
    run("new Promise(done => requestAnimationFrame(() => setTimeout(() => done(''), 100)))");
  }

  private void size(int width, int height) throws InterruptedException {
    call(
        "Emulation.setDeviceMetricsOverride",
        Map.of("width", width, "height", height, "deviceScaleFactor", 1, "mobile", false));
  }

  /** The value of an expression, as text. */
  String run(String expression) throws InterruptedException {
    JsonObject answer =
        call(
            "Runtime.evaluate",
            Map.of(
                "expression",
                "Promise.resolve(" + expression + ").then(String)",
                "awaitPromise",
                true,
                "returnByValue",
                true));
    if (answer.has("exceptionDetails")) {
      throw new AssertionError(expression + ": " + answer.object("result").text("description"));
    }
    return answer.object("result").text("value");
  }

  /** Presses a key, as {@code Tab}, {@code Enter} or {@code ArrowRight}. */
  void press(String key) throws InterruptedException {
    Map<String, Integer> codes = Map.of("Tab", 9, "Enter", 13, "ArrowRight", 39, "+", 187, " ", 32);
    String text = key.equals("Enter") ? "\r" : key.length() == 1 ? key : "";
    Map<String, Object> down = new LinkedHashMap<>();
    down.put("type", text.isEmpty() ? "rawKeyDown" : "keyDown");
    down.put("key", key);
    down.put("windowsVirtualKeyCode", codes.getOrDefault(key, (int) key.charAt(0)));
    down.put("text", text);
    call("Input.dispatchKeyEvent", down);
    call("Input.dispatchKeyEvent", Map.of("type", "keyUp", "key", key));
  }

  /** A picture of the whole page, or of its first {@code most} pixels. */
  byte[] picture(int width, int most) throws InterruptedException {
    int height = Math.min(most, Integer.parseInt(run("document.documentElement.scrollHeight")));
    JsonObject picture =
        call(
            "Page.captureScreenshot",
            Map.of(
                "format",
                "png",
                "captureBeyondViewport",
                true,
                "clip",
                Map.of("x", 0, "y", 0, "width", width, "height", height, "scale", 1)));
    return Base64.getDecoder().decode(picture.text("data"));
  }

  /** What console and log complained of so far. */
  List<String> complaints() {
    return List.copyOf(complaints);
  }

  /** Addresses that pages asked for so far, those of data within them left out. */
  List<String> requests() {
    return requests.stream().filter(r -> !r.startsWith("data:")).toList();
  }

  @Override
  public void close() throws InterruptedException {
    try {
      session = "";
      socket.sendText("{\"id\":0,\"method\":\"Browser.close\"}", true).join();
      process.waitFor(10, TimeUnit.SECONDS);
    } finally {
      process.descendants().forEach(ProcessHandle::destroyForcibly);
      process.destroyForcibly();
    }
  }
}
