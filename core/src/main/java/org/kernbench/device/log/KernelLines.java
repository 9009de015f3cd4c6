package org.kernbench.device.log;

import java.util.Optional;
import java.util.Set;

/**
 * Finds the source line of the kernel that is issuing a command: the first frame outside the
 * classes that take commands.
 */
public final class KernelLines {
  private static final StackWalker WALKER = StackWalker.getInstance();

  /** The doors through which a command comes in. By name: {@code tl} is above this room. */
  private static final Set<String> PLUMBING =
      Set.of(
          "org.kernbench.device.check.CheckedPort",
          "org.kernbench.device.log.KernelLines",
          "org.kernbench.device.MachineParts",
          "org.kernbench.device.TimedPort",
          "org.kernbench.device.ValuesExecutor",
          "org.kernbench.tl.CompositeGemm",
          "org.kernbench.tl.Scope",
          "org.kernbench.tl.Tl",
          "org.kernbench.tl.Value");

  /** The line that has control here and now. */
  public String current() {
    Optional<String> said = SourceLine.current();
    return said.isPresent() ? said.get() : javaLine(); // no lambda: its frames would be found first
  }

  private static String javaLine() {
    Optional<String> line =
        WALKER.walk(frames ->
            frames
                .filter(f -> !isPlumbing(f.getClassName()))
                .findFirst()
                .map(f -> f.getFileName() + ":" + f.getLineNumber()));
    return line.orElse("unknown line");
  }

  /** Of another thread the line of its first frame that is neither plumbing nor the JDK's. */
  public static String of(StackTraceElement[] stack) {
    for (StackTraceElement f : stack) {
      String name = f.getClassName();
      if (!name.startsWith("java.") && !name.startsWith("jdk.") && !isPlumbing(name)) {
        return f.getFileName() + ":" + f.getLineNumber();
      }
    }
    return "unknown line";
  }

  private static boolean isPlumbing(String className) {
    int nested = className.indexOf('$');
    return PLUMBING.contains(nested < 0 ? className : className.substring(0, nested));
  }
}
