package org.kernbench.eval.layouts;

import java.util.Arrays;
import java.util.List;
import org.kernbench.ccl.bounds.Bounds;
import org.kernbench.eval.layouts.BridgeForecast.Hardware;
import org.kernbench.machine.Pe;

/**
 * A lower bound of what ranks do one after the other: by rank, when it can be ready at the
 * earliest. A collective starts when all its members can. Tensors lie in the HBM slice of the
 * rank's PE, which serves loads and stores in turn: what is copied passes it twice, an all-gather
 * loads the own part and stores all of them, an all-reduce loads and stores the tensor. What a
 * collective needs of the network is that of {@link Bounds}.
 */
final class BoundChain {
  private static final double PS_PER_SECOND = 1e12;

  private final Hardware hardware;
  private final long[] ready;

  BoundChain(Hardware hardware, int world) {
    this.hardware = hardware;
    this.ready = new long[world];
  }

  /** When the last rank can be ready. */
  long ps() {
    return Arrays.stream(ready).max().orElse(0);
  }

  void copy(int rank, long bytes) {
    ready[rank] += memoryPs(2 * bytes);
  }

  private long memoryPs(long bytes) {
    return (long)
        (bytes / (double) hardware.machine().hbm().rate().bytesPerSecond() * PS_PER_SECOND);
  }

  private Bounds network(List<Integer> group) {
    List<Pe> leads = group.stream().map(r -> hardware.level().lead(hardware.machine(), r)).toList();
    return Bounds.of(hardware.machine(), leads);
  }

  private void together(List<Integer> group, long networkPs, long memoryPs) {
    long start = group.stream().mapToLong(r -> ready[r]).max().orElse(0);
    group.forEach(r -> ready[r] = start + Math.max(networkPs, memoryPs));
  }

  void allGather(List<Integer> group, long bytesEach) {
    List<Long> parts = group.stream().map(r -> bytesEach).toList();
    long memory = memoryPs((1 + group.size()) * bytesEach);
    together(group, network(group).allGather(parts).ps(), memory);
  }

  void allReduce(List<Integer> group, long bytes) {
    together(group, network(group).allReduce(bytes).ps(), memoryPs(2 * bytes));
  }

  /** From the root, a rank of the group, to all others. */
  void broadcast(List<Integer> group, int root, long bytes) {
    if (group.size() > 1) {
      together(group, network(group).broadcast(group.indexOf(root), bytes).ps(), memoryPs(bytes));
    }
  }

  /** Messages from some ranks to others at once, each as large; a rank may have several. */
  void messages(List<Integer> from, List<Integer> to, long bytesEach) {
    long[] before = ready.clone();
    int[] count = new int[ready.length];
    for (int i = 0; i < from.size(); i++) {
      int src = from.get(i);
      int dst = to.get(i);
      count[src]++;
      count[dst]++;
      long arrived =
          Math.max(before[src], before[dst])
              + network(List.of(src, dst)).pointToPoint(0, 1, bytesEach).ps();
      ready[src] = Math.max(ready[src], arrived);
      ready[dst] = Math.max(ready[dst], arrived);
    }
    for (int r = 0; r < ready.length; r++) {
      ready[r] = Math.max(ready[r], before[r] + memoryPs(count[r] * bytesEach));
    }
  }
}
