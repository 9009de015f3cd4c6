package org.kernbench.device.reuse;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.device.log.OpRows;
import org.kernbench.device.memory.Lookups;

/** What came of a stretch. */
final class StretchOutcome {
  final OpRows rows = new OpRows();
  final List<Step> steps = new ArrayList<>();

  /** By PE, what its engines served last. */
  final List<List<Served>> served = new ArrayList<>();

  final List<Lookups> lookups = new ArrayList<>();

  /** By PE, in which order its engines had served its streams; not asked if one stream has all. */
  final List<Long> orders = new ArrayList<>();

  boolean severalStreams;
  int[] links = new int[0];

  /** How many accesses of a PE have been looked up when the step after one begins. */
  int lookupsAfter(int step, int slot) {
    for (int i = step + 1; i < steps.size(); i++) {
      if (steps.get(i) instanceof Started s) {
        return slot < s.lookups().length ? s.lookups()[slot] : 0;
      }
    }
    return lookups.get(slot).size();
  }
}
