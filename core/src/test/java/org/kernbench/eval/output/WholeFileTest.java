package org.kernbench.eval.output;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Files are replaced whole; what is no file is written to and stays what it is. */
final class WholeFileTest {
  @TempDir private Path directory;

  private static long write(Path target, String text) {
    return WholeFile.write(target, out -> out.write(text.getBytes(StandardCharsets.UTF_8)));
  }

  @Test
  void write_symbolicLink_writesTheFileThatItLeadsTo() throws Exception {
    Path file = Files.writeString(directory.resolve("file"), "before");
    Path link = Files.createSymbolicLink(directory.resolve("link"), file);

    assertThat(write(link, "after")).isEqualTo(5);

    assertThat(link).isSymbolicLink();
    assertThat(file).hasContent("after");
    assertThat(directory).isDirectoryNotContaining("glob:**.tmp");
  }

  /** As a device such as /dev/stdout: a file in its place would be the end of it. */
  @Test
  @EnabledOnOs(OS.LINUX)
  void write_pipe_writesIntoItAndLeavesIt() throws Exception {
    Path pipe = directory.resolve("pipe");
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
    CompletableFuture<String> read =
        CompletableFuture.supplyAsync(() -> {
          try {
            return Files.readString(pipe);
          } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
          }
        });

    assertThat(write(pipe, "through")).isEqualTo(7);

    assertThat(read.get()).isEqualTo("through");
    assertThat(Files.readAttributes(pipe, java.nio.file.attribute.BasicFileAttributes.class))
        .matches(java.nio.file.attribute.BasicFileAttributes::isOther);
  }
}
