package org.kernbench.ccl.algorithms;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.SlotSpace;
import org.kernbench.ccl.Wiring;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectivePlan;
import org.kernbench.torch.collective.Message;

/**
 * Messages between pairs of ranks, each pair over queues of its own, in pieces of one slot.
 *
 * <p>No deadlock, whoever sends what to whom: a rank works in rounds, in each it sends one piece to
 * every rank that it has something for and then takes one piece from every rank that has something
 * for it. Both ends of a queue count the same rounds, so one slot is enough.
 */
public final class Direct {
  static final String NAME = "direct";

  private final Group group;
  private final IpcqSpec queues;
  private final AlgorithmConfig config;
  private final Map<List<Integer>, QueuePlan> plans = new HashMap<>();

  public Direct(Group group, IpcqSpec queues, AlgorithmConfig config) {
    this.group = group;
    this.queues = queues;
    this.config = config;
  }

  /** The messages of one rank in one direction to or from one peer, in order. */
  private record Lane(String direction, List<Message> messages) {}

  public CollectivePlan plan(CollectiveCall call) {
    TreeSet<Integer> pairs = new TreeSet<>();
    List<Map<Integer, Lane>> sends = new ArrayList<>();
    List<Map<Integer, Lane>> receives = new ArrayList<>();
    for (int rank = 0; rank < group.size(); rank++) {
      sends.add(new LinkedHashMap<>());
      receives.add(new LinkedHashMap<>());
    }
    for (Message m : call.messages()) {
      pairs.add(Math.min(m.src(), m.dst()) * group.size() + Math.max(m.src(), m.dst()));
      lane(sends.get(m.src()), m.dst()).messages.add(m);
      lane(receives.get(m.dst()), m.src()).messages.add(m);
    }
    return new CollectivePlan(
        NAME,
        plans.computeIfAbsent(List.copyOf(pairs), this::queues),
        tl -> {
          int rank = group.rankOf(tl.pe());
          run(tl, sends.get(rank).values(), receives.get(rank).values());
        });
  }

  private static Lane lane(Map<Integer, Lane> lanes, int peer) {
    return lanes.computeIfAbsent(peer, p -> new Lane("rank" + p, new ArrayList<>()));
  }

  private QueuePlan queues(List<Integer> pairs) {
    Wiring wiring = new Wiring(group);
    for (int pair : pairs) {
      int a = pair / group.size();
      int b = pair % group.size();
      wiring.join(a, "rank" + b, b, "rank" + a);
    }
    SlotSpace.check(group.machine(), queues, wiring.connections());
    return new QueuePlan(queues, wiring.connections());
  }

  private void run(Tl tl, Iterable<Lane> sends, Iterable<Lane> receives) {
    boolean more = true;
    for (int round = 0; more; round++) {
      more = false;
      for (Lane lane : sends) {
        more |= piece(tl, lane, round, true);
      }
      for (Lane lane : receives) {
        more |= piece(tl, lane, round, false);
      }
    }
  }

  /** The piece of a round, message after message; false if there is none. */
  private boolean piece(Tl tl, Lane lane, int round, boolean send) {
    int skip = round;
    for (Message m : lane.messages) {
      int n = Math.toIntExact(m.from().shape().elements());
      Pieces pieces = new Pieces(0, n, Pieces.fitting(queues, config, m.from().dtype()));
      if (skip < pieces.pieces()) {
        int start = pieces.start(skip);
        if (send) {
          Value value = tl.load(m.from().range(start, pieces.count(skip)));
          tl.send(lane.direction, value);
          tl.release(value);
        } else {
          var slice = m.to().range(start, pieces.count(skip));
          Value value = tl.recv(lane.direction, slice.shape(), m.to().dtype());
          tl.store(slice, value);
          tl.release(value);
        }
        return true;
      }
      skip -= pieces.pieces();
    }
    return false;
  }
}
