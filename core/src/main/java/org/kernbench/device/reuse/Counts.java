package org.kernbench.device.reuse;

import java.util.HashMap;
import java.util.Map;

/** What became of launches. */
final class Counts {
  long reused;
  long operations;
  long simulated;
  long met;
  final Map<String, Integer> reasons = new HashMap<>();

  void because(String why) {
    reasons.merge(why, 1, Integer::sum);
  }
}
