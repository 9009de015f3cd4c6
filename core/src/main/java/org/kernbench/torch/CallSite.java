package org.kernbench.torch;

import java.util.Optional;
import java.util.Set;
import org.kernbench.device.log.SourceLine;

/** Finds the line of the user's program that called into this room. */
final class CallSite {
  private static final Set<String> OWN =
      Set.of(
          "Calls",
          "Collectives",
          "DeviceMemory",
          "Distributed",
          "Groups",
          "KernelRuns",
          "Members",
          "Messages",
          "Multiprocessing",
          "Post",
          "ProcessGroup",
          "Rank",
          "Rendezvous",
          "Scheduler",
          "Session",
          "Tensor",
          "TensorChecks",
          "Torch",
          "Wait",
          "Work",
          "Worker");
  private static final String PACKAGE = CallSite.class.getPackageName() + ".";
  private static final String HOUSE = "org.kernbench.";

  /** Rooms that call into this one for a program. */
  private static final String MODELS = HOUSE + "nn.";

  private CallSite() {}

  /** {@code File.java:12} of the thread that asks. */
  static String here() {
    Optional<String> said = SourceLine.current();
    return said.isPresent() ? said.get() : javaLine(); // no lambda: its frames would be found first
  }

  private static String javaLine() {
    Optional<String> line =
        StackWalker.getInstance()
            .walk(frames ->
                frames
                    .map(StackWalker.StackFrame::toStackTraceElement)
                    .filter(CallSite::isUser)
                    .findFirst()
                    .map(CallSite::text));
    return line.orElse("an unknown line");
  }

  /** {@code File.java:12} of a suspended rank. */
  static String of(StackTraceElement[] stack) {
    for (StackTraceElement e : stack) {
      if (isUser(e)) {
        return text(e);
      }
    }
    return "an unknown line";
  }

  /** {@code File.java:12} of the innermost frame that is not of kernbench; empty if all are. */
  static Optional<String> ofProgram(StackTraceElement[] stack) {
    for (StackTraceElement e : stack) {
      String name = e.getClassName();
      if (!name.startsWith("java.") && !name.startsWith("jdk.") && !name.startsWith(HOUSE)) {
        return Optional.of(text(e));
      }
    }
    return Optional.empty();
  }

  private static boolean isUser(StackTraceElement e) {
    String name = e.getClassName();
    if (name.startsWith("java.")
        || name.startsWith("jdk.")
        || name.startsWith("org.kernbench.sim.")) {
      return false;
    }
    if (!name.startsWith(PACKAGE)) {
      return !name.startsWith(MODELS);
    }
    String simple = name.substring(PACKAGE.length()).replaceAll("\\$.*", "");
    return !OWN.contains(simple) && !simple.equals("CallSite");
  }

  private static String text(StackTraceElement e) {
    return e.getFileName() + ":" + e.getLineNumber();
  }
}
