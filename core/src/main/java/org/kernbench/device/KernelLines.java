package org.kernbench.device;

import java.util.Optional;

/** Finds the source line of the kernel that is issuing a command: the first frame outside the rooms {@code device} and {@code tl}. */
final class KernelLines {
  private static final StackWalker WALKER = StackWalker.getInstance();

  String current() {
    Optional<String> line =
        WALKER.walk(
            frames ->
                frames
                    .filter(f -> !isPlumbing(f.getClassName()))
                    .findFirst()
                    .map(f -> f.getFileName() + ":" + f.getLineNumber()));
    return line.orElse("unknown line");
  }

  private static boolean isPlumbing(String className) {
    return className.startsWith("org.kernbench.device.") || className.startsWith("org.kernbench.tl.");
  }
}
