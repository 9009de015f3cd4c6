package org.kernbench.cli.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** This program in another process: how it is called, and what is kept of what it says. */
final class JavaProcessTest {
  @Test
  void command_isThisJavaWithItsClassesAndTheArguments() {
    for (JavaProcess.Kind kind : JavaProcess.Kind.values()) {
      List<String> command = JavaProcess.command(kind, List.of("run", "--check")).command();
      assertThat(command.getFirst())
          .isEqualTo(
              System.getProperty("java.home")
                  + "/bin/java".replace('/', java.io.File.separatorChar));
      int size = command.size();
      assertThat(command.subList(size - 5, size))
          .containsExactly(
              "-cp",
              System.getProperty("java.class.path"),
              "org.kernbench.cli.Main",
              "run",
              "--check");
      boolean quick = kind == JavaProcess.Kind.QUICK;
      assertThat(command.get(size - 6))
          .isEqualTo(quick ? "-XX:TieredStopAtLevel=1" : "--add-modules=jdk.incubator.vector");
      assertThat(command.stream().filter(c -> c.contains("jdk.incubator.vector")).count())
          .isEqualTo(quick ? 0 : 1);
    }
  }

  private static String copied(String text) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    VectorProcess.copyWithout("ab", new ByteArrayInputStream(bytes), out);
    return out.toString(StandardCharsets.UTF_8);
  }

  /** The first line that is the remark and nothing else goes; everything else comes. */
  @Test
  void copyWithout_anyText_leavesOutTheFirstLineThatIsTheRemark() throws IOException {
    SplittableRandom random = new SplittableRandom(8);
    for (int i = 0; i < 4000; i++) {
      StringBuilder text = new StringBuilder();
      for (int length = random.nextInt(12); length > 0; length--) {
        text.append("ab\n".charAt(random.nextInt(3)));
      }
      String expected = ("\n" + text).replaceFirst("\nab\n", "\n").substring(1);
      assertThat(copied(text.toString())).isEqualTo(expected);
    }
    assertThat(copied("x\nab\r\ny")).isEqualTo("x\ny");
    assertThat(copied("ab")).isEqualTo("ab");
  }
}
