package org.kernbench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** {@code scripts/javadoc} has pages for what users may call and for nothing else. */
@Tag("slow")
@DisabledOnOs(OS.WINDOWS)
final class JavadocTest {
  @TempDir private Path folder;

  @Test
  void pages_areThoseOfTheRoomsForUsers_andNoneIsBroken() throws Exception {
    Process javadoc =
        new ProcessBuilder(House.ROOT.resolve("scripts/javadoc").toString(), folder.toString())
            .redirectErrorStream(true)
            .start();
    String said = new String(javadoc.getInputStream().readAllBytes());

    assertThat(javadoc.waitFor()).as(said).isZero();
    assertThat(Files.readAllLines(folder.resolve("element-list"))).isEqualTo(listed());
    assertThat(folder.resolve("org/kernbench/torch/Torch.html")).exists();
    assertThat(folder.resolve("org/kernbench/device/fabric")).doesNotExist();
  }

  private static java.util.List<String> listed() throws IOException {
    return Files.readAllLines(
        House.ROOT.resolve("core/src/main/resources/org/kernbench/for-users.txt"));
  }
}
