package org.kernbench.torch;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Launch;
import org.kernbench.device.SimulationException;
import org.kernbench.machine.Pe;
import org.kernbench.tl.Shard;

/** The ranks that communicate with each other, and the algorithm they use. */
final class ProcessGroup {
  private static final String WORLD = "world";

  private final Session session;
  private final String backend;
  private final List<Pe> leads;
  private final Communicator communicator;
  private final int[] sequence;
  private final BitSet left = new BitSet();
  private final Map<Integer, Rendezvous> meetings = new HashMap<>();

  ProcessGroup(Session session, String backend, List<Pe> leads, Communicator communicator) {
    this.session = session;
    this.backend = backend;
    this.leads = List.copyOf(leads);
    this.communicator = communicator;
    this.sequence = new int[leads.size()];
  }

  int size() {
    return leads.size();
  }

  String backend() {
    return backend;
  }

  String algorithm() {
    return communicator.algorithm();
  }

  void checkWorld(int worldSize) {
    if (worldSize != size()) {
      throw new SimulationException(
          "spawn of "
              + worldSize
              + " ranks, but the process group has "
              + size()
              + "; spawn as many, or set world_size of the collective configuration to "
              + worldSize);
    }
  }

  boolean isMember(int rank) {
    return !left.get(rank);
  }

  /** A rank leaves; true if it was the last. */
  boolean leave(int rank) {
    left.set(rank);
    return left.cardinality() == size();
  }

  /** Forgets meetings that a failed spawn left behind. */
  void reset() {
    meetings.clear();
    left.clear();
    Arrays.fill(sequence, 0);
  }

  void barrier(Worker worker) {
    Fingerprint mine = fingerprint(worker, CollectiveOp.BARRIER, "");
    Rendezvous meeting = meeting(worker, mine);
    if (meeting.arrive(worker.rank(), mine, null)) {
      meetings.remove(mine.sequence());
      meeting.begin(session.pendingLaunches(), () -> {});
    }
    worker.block(meeting);
  }

  void allReduce(Worker worker, Tensor tensor, ReduceKind reduce) {
    check(worker, CollectiveOp.ALL_REDUCE, tensor, reduce);
    session.order(List.of(tensor), List.of(leads.get(worker.rank())));
    Fingerprint mine =
        fingerprint(
            worker,
            CollectiveOp.ALL_REDUCE,
            tensor.dtype() + tensor.shape().toString() + ", " + reduce);
    Rendezvous meeting = meeting(worker, mine);
    if (meeting.arrive(worker.rank(), mine, tensor)) {
      meetings.remove(mine.sequence());
      meeting.begin(perform(CollectiveOp.ALL_REDUCE, reduce, meeting), () -> {});
    }
    worker.block(meeting);
  }

  /** Nothing has to move in a group of one, or if there is nothing. */
  private List<Launch> perform(CollectiveOp op, ReduceKind reduce, Rendezvous meeting) {
    Tensor first = meeting.tensor(0);
    int elements = Math.toIntExact(first.shape().elements());
    if (size() == 1 || elements == 0) {
      return List.of();
    }
    List<Shard> shards = new ArrayList<>(size());
    for (int rank = 0; rank < size(); rank++) {
      shards.add(meeting.tensor(rank).shards().getFirst());
    }
    CollectiveCall call = CollectiveCall.inPlace(op, reduce, -1, shards);
    CollectivePlan plan = communicator.plan(call);
    session.install(plan.queues());
    Launch launch =
        session.launchCollective(op.method() + " (" + plan.algorithm() + ")", plan.kernel(), leads);
    session.history.add(new CollectiveRun(call, plan.algorithm(), plan.queues(), launch));
    return List.of(launch);
  }

  private Fingerprint fingerprint(Worker worker, CollectiveOp op, String operands) {
    return new Fingerprint(op.method(), WORLD, sequence[worker.rank()]++, operands);
  }

  private Rendezvous meeting(Worker worker, Fingerprint mine) {
    return meetings.computeIfAbsent(
        mine.sequence(), s -> new Rendezvous(mine, size(), worker.rank()));
  }

  private void check(Worker worker, CollectiveOp op, Tensor tensor, @Nullable ReduceKind reduce) {
    int rank = worker.rank();
    String what = "rank " + rank + ": " + op.method() + " of tensor " + tensor.name();
    tensor.checkUsable(op.method());
    if (!tensor.belongsTo(session)) {
      throw new SimulationException(what + ", which belongs to another Torch");
    }
    Pe lead = leads.get(rank);
    List<ShardSpec> specs = tensor.shardSpecs();
    if (specs.size() != 1) {
      throw new SimulationException(
          what
              + ": it has "
              + specs.size()
              + " shards; expected one, at "
              + lead
              + "; make it without a placement (DpPolicy.single())");
    }
    if (!specs.getFirst().place().equals(lead)) {
      throw new SimulationException(
          what
              + ": it lies at "
              + specs.getFirst().place()
              + "; expected "
              + lead
              + ", the lead PE of the rank's device; make it on the rank's own device");
    }
    if (tensor.shape().elements() > Integer.MAX_VALUE) {
      throw new SimulationException(what + ": more than 2^31 - 1 elements; divide the call");
    }
    if (reduce != null && !reduce.combine().supports(tensor.dtype())) {
      throw new SimulationException(
          what + ": " + reduce + " is not defined on " + tensor.dtype() + "; cast the tensor");
    }
    if (reduce == ReduceKind.AVG && !tensor.dtype().isFloatingPoint()) {
      throw new SimulationException(
          what + ": AVG of " + tensor.dtype() + "; expected a floating-point type, or use SUM");
    }
  }
}
