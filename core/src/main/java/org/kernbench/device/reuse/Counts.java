package org.kernbench.device.reuse;

import java.util.HashMap;
import java.util.Map;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;

/** What became of launches. */
final class Counts {
  long reused;
  long operations;
  long simulated;
  private final Map<String, Reason> reasons = new HashMap<>();

  /** Why launches were simulated, or what was noted of them could not be kept. */
  static final class Reason {
    private int times;
    private long operations;

    /** A launch that is simulated for it has done an operation. */
    void did() {
      operations++;
    }
  }

  void because(String why) {
    reason(why).times++;
  }

  private Reason reason(String why) {
    return reasons.computeIfAbsent(why, w -> new Reason());
  }

  /** A launch is simulated; the reason is to be told of its operations. */
  Reason isSimulated(String why) {
    simulated++;
    because(why);
    return reason(why);
  }

  /** By reason, how many times. */
  Map<String, Long> times() {
    return each(r -> r.times);
  }

  /** By reason, operations of the launches that were simulated for it. */
  Map<String, Long> operationsOfThese() {
    return each(r -> r.operations);
  }

  private Map<String, Long> each(ToLongFunction<Reason> what) {
    return reasons.entrySet().stream()
        .collect(
            Collectors.toUnmodifiableMap(Map.Entry::getKey, e -> what.applyAsLong(e.getValue())));
  }
}
