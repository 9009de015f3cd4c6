package org.kernbench.eval.benches;

import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import org.kernbench.device.log.OpLog;
import org.kernbench.eval.explain.Breakdown;
import org.kernbench.eval.explain.PathCause;
import org.kernbench.eval.explain.Segment;

/**
 * What decides the time of a kernel, in one word: the kind of cause that took most of its critical
 * path, which is the path of the breakdown and of its sentences. {@code docs/results.md} says what
 * each word means.
 */
final class KernelCause {
  private enum Kind {
    COMPUTING,
    DMA,
    MESSAGES,
    FILL
  }

  private KernelCause() {}

  /** The word for a path. */
  static String of(Breakdown path) {
    Map<Kind, Long> times = new EnumMap<>(Kind.class);
    Map<String, Long> engines = new HashMap<>();
    for (Segment s : path.segments()) {
      times.merge(kind(path.log(), s), s.ps(), Long::sum);
      if (s.cause() == PathCause.COMPUTE) {
        engines.merge(s.resource(), s.ps(), Long::sum);
      }
    }
    Kind most =
        times.entrySet().stream()
            .max(
                Map.Entry.<Kind, Long>comparingByValue()
                    .thenComparing(Map.Entry.comparingByKey(Comparator.reverseOrder())))
            .map(Map.Entry::getKey)
            .orElse(Kind.FILL);
    return switch (most) {
      case COMPUTING ->
          engines.getOrDefault("GEMM", 0L) >= engines.getOrDefault("MATH", 0L)
              ? "compute-bound"
              : "MATH-bound";
      case DMA -> "DMA-bound";
      case MESSAGES -> "message-bound";
      case FILL -> "fill-bound";
    };
  }

  private static Kind kind(OpLog log, Segment s) {
    return switch (s.cause()) {
      case COMPUTE -> Kind.COMPUTING;
      case SERIALISATION, CONTENTION, FLOW_CONTROL, MEMORY ->
          isMessage(log, s) ? Kind.MESSAGES : Kind.DMA;
      case LATENCY -> isMessage(log, s) ? Kind.MESSAGES : Kind.FILL;
      case PROTOCOL,
          MESSAGE_OVERHEAD,
          NIC_MESSAGE,
          NIC_CONTENTION,
          SLOT_ACCESS,
          SLOT_HELD,
          CREDIT_RETURN ->
          Kind.MESSAGES;
      case DMA_SETUP, TRANSLATION, COMMAND_ISSUE, LOOK, LAUNCH, HOST, OTHER -> Kind.FILL;
    };
  }

  private static boolean isMessage(OpLog log, Segment s) {
    return s.op() >= 0
        && switch (log.kind(s.op())) {
          case SEND, RECV -> true;
          case LOAD, STORE, MATH, GEMM -> false;
        };
  }
}
