package org.kernbench.cli.serve;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.kernbench.eval.output.Json;

/**
 * Makes the AOT cache (JEP 483) with which Python's child process starts: a virtual machine runs
 * some requests and remembers which classes they load.
 *
 * <p>Python starts this beside its first program and goes on. While that program runs, its end
 * without a word ends this too and leaves nothing behind; a byte on the input says that it has
 * ended as it should and that the cache is still wanted.
 */
final class Preparation {
  private static final long PATIENCE_S = 120;

  private Preparation() {}

  /**
   * Makes the cache, or performs the requests where no arguments are given.
   *
   * @param args the file of the cache, then the command line of a virtual machine without class
   *     path and class
   */
  public static void main(String[] args) throws IOException, InterruptedException {
    if (args.length == 0) {
      new Server(rehearsal(), OutputStream.nullOutputStream(), PATIENCE_S * 1000, () -> {}).serve();
      System.exit(0); // only a regular end writes the cache
    }
    Path cache = Path.of(args[0]);
    Path begun = cache.resolveSibling(cache.getFileName() + "." + ProcessHandle.current().pid());
    List<String> line = new ArrayList<>(List.of(args).subList(1, args.length));
    line.add("-XX:AOTCacheOutput=" + begun);
    line.addAll(List.of("-cp", System.getProperty("java.class.path")));
    line.add(Preparation.class.getName());
    Process process =
        new ProcessBuilder(line)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    AtomicBoolean unwanted = new AtomicBoolean();
    Thread.ofPlatform().daemon().start(() -> endWithParent(process, unwanted));
    if (!process.waitFor(PATIENCE_S, TimeUnit.SECONDS)) {
      kill(process);
    }
    if (!unwanted.get()) {
      if (!Files.exists(begun)) {
        Files.createFile(begun); // says that it is not to be tried again
      }
      Files.move(begun, cache, StandardCopyOption.REPLACE_EXISTING);
    }
    Files.deleteIfExists(begun);
    Files.deleteIfExists(configuration(begun));
  }

  private static void endWithParent(Process process, AtomicBoolean unwanted) {
    try {
      if (System.in.read() >= 0) {
        return;
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e); // ends this thread; the cache is made all the same
    }
    unwanted.set(true);
    kill(process);
  }

  private static void kill(Process process) {
    List<ProcessHandle> all = new ArrayList<>(process.descendants().toList());
    all.add(process.toHandle());
    all.forEach(ProcessHandle::destroyForcibly);
    all.forEach(
        each -> each.onExit().orTimeout(2, TimeUnit.SECONDS).exceptionally(e -> each).join());
  }

  /** What the virtual machine writes on the way. */
  private static Path configuration(Path cache) {
    return cache.resolveSibling(cache.getFileName() + ".config");
  }

  // ---- what is rehearsed ----

  /** Requests as they come on the pipe, and at last a length that ends the server. */
  static InputStream rehearsal() throws IOException {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (Map<String, ?> message : messages()) {
      byte[] text = Json.compact(message).getBytes(StandardCharsets.UTF_8);
      all.write(ByteBuffer.allocate(Integer.BYTES).putInt(text.length).array());
      all.write(text);
    }
    all.write(new byte[Integer.BYTES]);
    return new ByteArrayInputStream(all.toByteArray());
  }

  private static List<Map<String, ?>> messages() {
    return List.of(
        command("run", "ccl-allreduce", "--param", "n_elem=8192", "--format", "json", "--quiet"),
        command("run", "ccl-allreduce", "--mode", "time", "--format", "json", "--quiet"),
        Map.of("do", "open", "machine", "tiny", "set", List.of(), "mode", "full", "lines", false),
        act(
            Map.of(
                "op",
                "tensor",
                "shape",
                List.of(8, 4),
                "dtype",
                "f16",
                "name",
                "x",
                "placement",
                "cube=row_wise pe=row_wise")),
        act(Map.of("op", "fill", "tensor", 1, "x", 1.5)),
        act(
            Map.of(
                "op", "launch", "name", "k", "kernel", 1, "tensors", List.of(1), "queues", false)),
        act(Map.of("op", "synchronize")),
        TAPE,
        act(Map.of("op", "stats")),
        Map.of("do", "close", "program", 1));
  }

  private static final Map<String, Object> TAPE =
      Map.of(
          "tape",
          List.of(
              Map.of("c", "load", "l", 0, "o", 0, "s", Map.of("t", 0, "at", "own")),
              Map.of("c", "add", "l", 0, "o", 1, "a", 0, "b", 0),
              Map.of("c", "store", "l", 0, "o", 0, "s", Map.of("t", 0, "at", "own"), "a", 1)),
          "lines",
          List.of("rehearsal.py:1"),
          "consulted",
          List.of());

  private static Map<String, ?> command(String... args) {
    return Map.of("do", "command", "args", List.of(args));
  }

  private static Map<String, ?> act(Map<String, ?> fields) {
    Map<String, Object> message = new LinkedHashMap<>(fields);
    message.put("do", "act");
    message.put("program", 1);
    return message;
  }
}
