package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Expected output in files under {@code src/test/resources/golden}. {@code -Dgolden.update=true}
 * rewrites them; the difference is then reviewed like code.
 */
public final class Golden {
  private static final Path ROOT =
      Path.of(System.getProperty("basedir", "."), "src/test/resources/golden");

  /** Whether expected outputs are written anew. */
  static final boolean UPDATE = Boolean.getBoolean("golden.update");

  private Golden() {}

  /** Without what differs from run to run and machine to machine, and without lines of sources. */
  static String masked(String text) {
    return text.replaceAll("\"wall_ms\": [0-9.]+", "\"wall_ms\": MASKED")
        .replaceAll("\"events_per_s\": [0-9]+", "\"events_per_s\": MASKED")
        .replaceAll("\"numerics\": \"(plain|vector-\\d+)\"", "\"numerics\": MASKED")
        .replaceAll(", products by vector-\\d+", "")
        .replaceAll("\\.java:\\d+", ".java:LINE")
        .replaceAll(" events in [0-9,]+ ms", " events in MASKED ms")
        .replaceAll("[0-9]\\.[0-9]+[eE]-1[0-9]", "ROUND-OFF"); // of libraries for f64
  }

  /** The text of a golden file. */
  static String read(String name) {
    try {
      return Files.readString(ROOT.resolve(name));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Compares text with a golden file, or rewrites the file. */
  public static void check(String name, String actual) {
    Path file = ROOT.resolve(name);
    try {
      if (UPDATE) {
        Files.createDirectories(file.getParent());
        Files.writeString(file, actual);
        return;
      }
      if (!Files.exists(file)) {
        fail("no golden file " + file + "; run with -Dgolden.update=true and review it");
      }
      assertThat(actual)
          .as("golden file %s (-Dgolden.update=true rewrites it)", name)
          .isEqualTo(Files.readString(file));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
