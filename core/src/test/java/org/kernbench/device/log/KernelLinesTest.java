package org.kernbench.device.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which line of a stack is the kernel's. */
final class KernelLinesTest {
  private static final String PLUMBING = KernelLines.class.getName();

  /** Frames as {@code class:line}, the innermost first. */
  @ParameterizedTest
  @CsvSource({
    "'user.Axpy:7', Axpy.java:7",
    "'java.util.List:3 user.Axpy:7 user.Main:9', Axpy.java:7",
    "'jdk.internal.Loader:3 user.Axpy:7', Axpy.java:7",
    "'javax.Other:3 user.Axpy:7', Other.java:3",
    "'PLUMBING:3 java.util.List:4 PLUMBING$Inner:5 user.Axpy:7', Axpy.java:7",
    "'java.util.List:3 jdk.internal.Loader:4', unknown line",
    "'', unknown line",
  })
  void of_aStack_isTheFirstFrameOfNeitherPlumbingNorTheJdk(String frames, String line) {
    StackTraceElement[] stack =
        Stream.of(frames.replace("PLUMBING", PLUMBING).split(" "))
            .filter(frame -> !frame.isEmpty())
            .map(frame -> {
              String[] parts = frame.split(":");
              String name = parts[0].substring(parts[0].lastIndexOf('.') + 1);
              return new StackTraceElement(
                  parts[0], "run", name + ".java", Integer.parseInt(parts[1]));
            })
            .toArray(StackTraceElement[]::new);
    assertThat(KernelLines.of(stack)).isEqualTo(line);
  }
}
