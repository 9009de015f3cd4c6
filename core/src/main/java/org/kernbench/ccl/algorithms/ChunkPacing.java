package org.kernbench.ccl.algorithms;

import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.LinkCosts;
import org.kernbench.machine.Machine;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.machine.spec.PeSpec;
import org.kernbench.tensor.DType;

/**
 * The pace of a pipelined tree: the chunk size with the least time by {@code 2 * path + (m - 1) *
 * period}, and the lag that keeps the pipeline full.
 *
 * <p>{@code path} is the way of a chunk from the farthest leaf to the root. {@code period} is the
 * time between two chunks at the busiest place: a link, a message channel, the adder, the command
 * issue of a PE, or a queue whose slots are all under way.
 */
final class ChunkPacing implements TreeSchedule.Pacing {
  private static final int SMALLEST_CHUNK_BYTES = 256;

  private final Machine machine;
  private final PeSpec adder;
  private final IpcqSpec queues;
  private final AlgorithmConfig config;
  private final Tree tree;
  private final @Nullable LinkCosts[] hops; // by rank, to its parent; null for roots
  private final int[] childCount;

  ChunkPacing(Group group, IpcqSpec queues, AlgorithmConfig config, Tree tree) {
    this.machine = group.machine();
    this.adder = LinkCosts.slowestPe(group);
    this.queues = queues;
    this.config = config;
    this.tree = tree;
    this.hops = new LinkCosts[tree.size()];
    this.childCount = new int[tree.size()];
    for (int rank = 0; rank < tree.size(); rank++) {
      childCount[rank] = tree.children(rank, Tree.Order.PHASES).size();
      if (!tree.isRoot(rank)) {
        hops[rank] =
            LinkCosts.between(machine, group.lead(rank), group.lead(tree.parent(rank)))
                .worse(LinkCosts.between(machine, group.lead(tree.parent(rank)), group.lead(rank)));
      }
    }
  }

  @Override
  public TreeSchedule.Pace of(int elements, DType dtype) {
    int chunk = chunkElements(elements, dtype);
    long bytes = (long) chunk * dtype.sizeBytes();
    int m = Math.ceilDiv(elements, chunk);
    long period = Math.max(1, periodPs(bytes));
    int[] lag = new int[tree.size()];
    for (int rank = 0; rank < lag.length; rank++) {
      // From each parent on: what fits its round trip, and one to spare; but not more than the
      // slots.
      for (int at = rank; !tree.isRoot(at); at = tree.parent(at)) {
        long trip = Math.ceilDiv(2 * hopPs(at, bytes), period) + 1;
        lag[rank] += (int) Math.min(trip, queues.slots() - 1);
      }
    }
    for (int rank = 0; rank < lag.length; rank++) {
      lag[rank] = Math.min(lag[rank], m);
    }
    return new TreeSchedule.Pace(chunk, lag, true);
  }

  private int chunkElements(int elements, DType dtype) {
    int size = dtype.sizeBytes();
    long slot = Math.max(1, queues.slotBytes() / size);
    if (config.chunkBytes().isPresent()) {
      return (int) Math.min(elements, Math.max(1, config.chunkBytes().getAsLong() / size));
    }
    int most = (int) Math.min(slot, elements);
    int best = most;
    long bestPs = Long.MAX_VALUE;
    for (int m = Math.ceilDiv(elements, most); ; m += Math.max(1, m / 4)) {
      int chunk = Math.ceilDiv(elements, m);
      long bytes = (long) chunk * size;
      long ps = 2 * pathPs(bytes) + (Math.ceilDiv(elements, chunk) - 1) * periodPs(bytes);
      if (ps < bestPs) {
        bestPs = ps;
        best = chunk;
      }
      if (bytes <= SMALLEST_CHUNK_BYTES) {
        return best;
      }
    }
  }

  private long pathPs(long bytes) {
    long longest = 0;
    for (int rank = 0; rank < tree.size(); rank++) {
      long path = 0;
      for (int at = rank; !tree.isRoot(at); at = tree.parent(at)) {
        path += hopPs(at, bytes);
      }
      longest = Math.max(longest, path);
    }
    return longest;
  }

  /** A chunk's way from a rank to its parent, added there. */
  private long hopPs(int rank, long bytes) {
    LinkCosts hop = Objects.requireNonNull(hops[rank]);
    return hop.messagePs(bytes) + LinkCosts.additionPs(adder, bytes);
  }

  private long periodPs(long bytes) {
    long addition = LinkCosts.additionPs(adder, bytes);
    long dispatch = machine.pe().cpu().dispatchPs();
    int channels = machine.pe().dma().messageChannels();
    long period = 0;
    for (int rank = 0; rank < tree.size(); rank++) {
      int c = childCount[rank];
      int sends = tree.isRoot(rank) ? c : c + 1;
      // load, receive and add of each child, send up; receive, sends down, store
      period = Math.max(period, dispatch * (2 + 3L * c + 2));
      period = Math.max(period, c * addition);
      LinkCosts hop = hops[rank];
      if (hop != null) {
        long injection = hop.overheadPs() + hop.injection().durationPs(bytes);
        long roundTrip = hop.messagePs(bytes) + hop.latencyPs() + addition;
        period = Math.max(period, Math.ceilDiv(sends, channels) * injection);
        period = Math.max(period, hop.narrowest().durationPs(bytes));
        period = Math.max(period, roundTrip / queues.slots());
      }
    }
    return period;
  }
}
