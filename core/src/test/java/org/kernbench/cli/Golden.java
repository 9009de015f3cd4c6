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

  private Golden() {}

  /** Compares text with a golden file, or rewrites the file. */
  public static void check(String name, String actual) {
    Path file = ROOT.resolve(name);
    try {
      if (Boolean.getBoolean("golden.update")) {
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
