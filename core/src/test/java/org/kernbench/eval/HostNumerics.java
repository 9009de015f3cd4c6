package org.kernbench.eval;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * What {@link CountingLoader} has seen: how often each method computed with values. Shared by the
 * classes that it loads and the test, which loads this class alone from the ordinary loader.
 */
public final class HostNumerics {
  private static final Map<String, LongAdder> COUNTS = new ConcurrentHashMap<>();

  private HostNumerics() {}

  /** Called by the instrumented code. */
  public static void count(String place) {
    COUNTS.computeIfAbsent(place, p -> new LongAdder()).increment();
  }

  /** Forgets what was counted, and says it: method and times. */
  static Map<String, Long> taken() {
    Map<String, Long> taken = new TreeMap<>();
    COUNTS.forEach((place, times) -> taken.put(place, times.sum()));
    COUNTS.clear();
    return taken;
  }
}
