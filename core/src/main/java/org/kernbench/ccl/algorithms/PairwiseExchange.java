package org.kernbench.ccl.algorithms;

import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Payload;
import org.kernbench.ccl.RingOrder;
import org.kernbench.ccl.Schedule;
import org.kernbench.ccl.Wiring;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.placement.RankLevel;

/**
 * All-to-all, block by block: in step {@code s} each rank sends to the one {@code s} places on and
 * takes from the one {@code s} places back.
 *
 * <p>As long as a PE has as many queues as there are other ranks ({@code ipcq.directions} of the
 * machine), each pair has its own: every block crosses the fabric once. Beyond, blocks are handed
 * on round a cycle, a block of step {@code s} by {@code s} ranks; {@code p (p - 1) / 2} blocks then
 * pass each link of the cycle.
 */
public final class PairwiseExchange implements CollectiveAlgorithm {
  private static final String NEXT = "E";
  private static final String PREVIOUS = "W";

  @Override
  public String name() {
    return "pairwise";
  }

  @Override
  public String description() {
    return "all_to_all: between all pairs; round a cycle where there are more ranks than queues";
  }

  @Override
  public Set<CollectiveOp> operations() {
    return Set.of(CollectiveOp.ALL_TO_ALL);
  }

  @Override
  public RankLevel defaultRankLevel() {
    return RankLevel.SIP;
  }

  @Override
  public Schedule plan(Group group, IpcqSpec queues, AlgorithmConfig config) {
    int p = group.size();
    boolean direct = p - 1 <= queues.directions();
    RingOrder order = RingOrder.of(group);
    Wiring wiring = new Wiring(group);
    if (direct) {
      for (int a = 0; a < p; a++) {
        for (int b = a + 1; b < p; b++) {
          wiring.join(a, to(b), b, to(a));
        }
      }
    } else {
      for (int i = 0; i < p; i++) {
        wiring.join(order.rankAt(i), NEXT, order.rankAt((i + 1) % p), PREVIOUS);
      }
    }
    List<QueuePlan.Connection> connections = wiring.connections();
    return new Schedule() {
      @Override
      public List<QueuePlan.Connection> connections() {
        return connections;
      }

      @Override
      public RankProgram program(CollectiveCall call) {
        int most = Pieces.fitting(queues, config, call.dtype());
        return (tl, rank, vector, reduction) -> {
          boolean copy = queues.slots() == 1;
          Blocks blocks = new Blocks(tl, call, rank, order, vector, most, copy);
          blocks.copyOwn();
          for (int step = 1; step < p; step++) {
            if (direct) {
              blocks.exchange(step);
            } else {
              blocks.relay(step);
            }
          }
        };
      }
    };
  }

  private static String to(int rank) {
    return "rank" + rank;
  }

  /** One rank's blocks, and where they lie in its input and output. */
  private static final class Blocks {
    private final Tl tl;
    private final CollectiveCall call;
    private final int rank;
    private final RingOrder order;
    private final Payload vector;
    private final int most;
    private final boolean copy;
    private final int[] sendStart;
    private final int[] receiveStart;

    Blocks(
        Tl tl,
        CollectiveCall call,
        int rank,
        RingOrder order,
        Payload vector,
        int most,
        boolean copy) {
      this.copy = copy;
      this.tl = tl;
      this.call = call;
      this.rank = rank;
      this.order = order;
      this.vector = vector;
      this.most = most;
      int p = call.ranks();
      this.sendStart = new int[p];
      this.receiveStart = new int[p];
      for (int i = 1; i < p; i++) {
        sendStart[i] = sendStart[i - 1] + count(rank, i - 1);
        receiveStart[i] = receiveStart[i - 1] + count(i - 1, rank);
      }
    }

    private int count(int src, int dst) {
      return Math.toIntExact(call.splits().count(src, dst));
    }

    private Pieces block(int src, int dst) {
      return new Pieces(0, count(src, dst), most);
    }

    private int at(int places) {
      return order.rankAt(Math.floorMod(order.positionOf(rank) + places, call.ranks()));
    }

    private @Nullable Value read(int dst, int k) {
      Pieces p = new Pieces(sendStart[dst], count(rank, dst), most);
      return p.count(k) == 0 ? null : vector.read(tl, p.start(k), p.count(k));
    }

    private void write(int src, int k, Value value) {
      Pieces p = new Pieces(receiveStart[src], count(src, rank), most);
      vector.write(tl, p.start(k), p.count(k), value);
    }

    void copyOwn() {
      for (int k = 0; k < block(rank, rank).pieces(); k++) {
        Value value = read(rank, k);
        if (value != null) {
          write(rank, k, value);
          tl.release(value);
        }
      }
    }

    void exchange(int step) {
      int dst = at(step);
      int src = at(-step);
      int pieces = Math.max(block(rank, dst).pieces(), block(src, rank).pieces());
      for (int k = 0; k < pieces; k++) {
        send(to(dst), read(dst, k));
        int n = block(src, rank).count(k);
        if (n > 0) {
          Value got = tl.recv(to(src), Shape.of(n), call.dtype());
          write(src, k, got);
          tl.release(got);
        }
      }
    }

    /**
     * Blocks that go {@code step} places on: the own one is handed to the next rank, then those of
     * the ranks before are taken and handed on; the last one stays here.
     */
    void relay(int step) {
      int pieces = block(rank, at(step)).pieces();
      for (int hop = 1; hop <= step; hop++) {
        pieces = Math.max(pieces, block(at(-hop), at(step - hop)).pieces());
      }
      for (int k = 0; k < pieces; k++) {
        Value held = read(at(step), k);
        for (int hop = 1; hop <= step; hop++) {
          send(NEXT, held);
          int n = block(at(-hop), at(step - hop)).count(k);
          held = n == 0 ? null : Pieces.receive(tl, PREVIOUS, Shape.of(n), call.dtype(), copy);
        }
        if (held != null) {
          write(at(-step), k, held);
          tl.release(held);
        }
      }
    }

    private void send(String direction, @Nullable Value value) {
      if (value != null) {
        tl.send(direction, value);
        tl.release(value);
      }
    }
  }
}
