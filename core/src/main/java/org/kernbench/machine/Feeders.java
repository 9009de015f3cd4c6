package org.kernbench.machine;

import java.util.List;

/** From which single link a link can be entered, where there is but one. */
final class Feeders {
  private final Machine machine;

  Feeders(Machine machine) {
    this.machine = machine;
  }

  /** By link, see {@link Machine#soleFeeders}. */
  int[] all() {
    int links = machine.linkCount();
    int[] start = new int[machine.nodeCount() + 2];
    for (int id = 0; id < links; id++) {
      start[machine.linkTo(id) + 2]++;
      if (machine.linkKind(id).isMemoryPort()) {
        start[machine.linkFrom(id) + 2]++;
      }
    }
    for (int i = 2; i < start.length; i++) {
      start[i] += start[i - 1];
    }
    int[] into = new int[start[start.length - 1]];
    for (int id = 0; id < links; id++) {
      into[start[machine.linkTo(id) + 1]++] = id;
      if (machine.linkKind(id).isMemoryPort()) {
        into[start[machine.linkFrom(id) + 1]++] = id;
      }
    }
    int[] feeders = new int[links];
    for (int id = 0; id < links; id++) {
      int from = machine.linkFrom(id);
      feeders[id] =
          machine.linkKind(id).isMemoryPort()
              ? -1
              : soleFeeder(id, into, start[from], start[from + 1]);
    }
    return feeders;
  }

  /**
   * The only link from which one can be entered, -1 without one.
   *
   * @param into links that lead to where it begins
   */
  int of(int id, List<Integer> into) {
    int[] all = into.stream().mapToInt(Integer::intValue).toArray();
    return soleFeeder(id, all, 0, all.length);
  }

  private int soleFeeder(int id, int[] into, int first, int end) {
    int to = machine.linkTo(id);
    if (isSource(machine.linkFrom(id)) || leavesSums(id)) {
      return -1;
    }
    int found = -1;
    for (int i = first; i < end; i++) {
      int other = into[i];
      if (machine.linkFrom(other) != to) {
        if (found >= 0) {
          return -1;
        }
        found = other;
      }
    }
    return found;
  }

  /** Whether a link leaves a switch that adds up, which then is a source. */
  private boolean leavesSums(int id) {
    return machine.kindOf(machine.linkFrom(id)) == NodeKind.SWITCH
        && machine.dimensions().get(machine.dimensionOf(id)).reduces();
  }

  private boolean isSource(int node) {
    return switch (machine.kindOf(node)) {
      case PE, HBM, SRAM, M_CPU, HOST -> true;
      case ROUTER, HBM_CONTROLLER, SRAM_CONTROLLER, IO, SWITCH, NIC -> false;
    };
  }
}
