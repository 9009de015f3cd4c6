package org.kernbench.ccl.flow;

/**
 * How the chunks of a vector follow each other. Chunks go in groups of {@code together}; a group
 * does one step after the other, each for all of its chunks, and the next group starts {@code
 * apart} steps later.
 *
 * <p>Chunks in a group hide latency: while one is on its way the next is sent (a ring in
 * sub-chunks). Groups that start before the one ahead has ended keep all links busy though each
 * chunk uses only some of them at a time (a tree; a torus, one dimension after the other).
 *
 * @param chunks number of chunks of the vector, at least 1
 * @param together chunks in a group, at least 1
 * @param apart steps from the start of a group to that of the next, at least 1
 * @param copy whether parts that are received and passed on leave their slot at once
 */
record FlowPace(int chunks, int together, int apart, boolean copy) {
  /** Does something with a chunk at a step. */
  @FunctionalInterface
  interface Visitor {
    void visit(int chunk, int step);
  }

  int groups() {
    return Math.ceilDiv(chunks, together);
  }

  /** All steps of all chunks, in the order in which every rank takes them. */
  void forEach(int steps, Visitor visitor) {
    int groups = groups();
    int end = (groups - 1) * apart + steps;
    for (int time = 0; time < end; time++) {
      int first = Math.max(0, Math.ceilDiv(time - steps + 1, apart));
      int last = Math.min(groups - 1, time / apart);
      for (int place = 0; place < together; place++) {
        for (int group = first; group <= last; group++) {
          int chunk = group * together + place;
          if (chunk < chunks) {
            visitor.visit(chunk, time - group * apart);
          }
        }
      }
    }
  }
}
