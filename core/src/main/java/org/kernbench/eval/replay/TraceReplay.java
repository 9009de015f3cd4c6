package org.kernbench.eval.replay;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.kernbench.chakra.NodeType;
import org.kernbench.chakra.TraceStep;
import org.kernbench.device.Launch;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.Work;
import org.kernbench.torch.Worker;
import org.kernbench.torch.collective.ReduceKind;

/**
 * The host program that runs a graph of steps. All ranks go through the steps in one order, so none
 * waits for another on the host for long; what a step comes after is said launch by launch, so time
 * is decided by the device alone: each rank has one stream for its computations and one for what it
 * does with others.
 *
 * <p>A rank's collectives share one pair of buffers. That orders nothing that its stream does not
 * order anyhow.
 */
final class TraceReplay {
  private final List<List<TraceStep>> byRank = new ArrayList<>();
  private final StepTimes times;
  private final TraceVectors vectors;
  private final long overheadPs;
  private final Map<List<Integer>, ProcessGroup> groups = new HashMap<>();

  /** By step, what the device does; null if that is nothing. */
  private final @Nullable Launch[] launches;

  /** By step, what comes instead of its launch if it has none. */
  private final Map<Integer, List<Launch>> instead = new HashMap<>();

  private final int[] longest; // elements of the buffers of each rank

  /**
   * A replay.
   *
   * @param order all steps, as they are to be launched
   * @param overheadPs what the shortest kernel takes beside the time that it lets pass
   */
  TraceReplay(
      List<TraceStep> order, int ranks, StepTimes times, TraceVectors vectors, long overheadPs) {
    this.times = times;
    this.vectors = vectors;
    this.overheadPs = overheadPs;
    this.launches = new Launch[order.size()];
    this.longest = new int[ranks];
    for (int rank = 0; rank < ranks; rank++) {
      byRank.add(new ArrayList<>());
    }
    for (TraceStep step : order) {
      for (int rank : step.ranks()) {
        byRank.get(rank).add(step);
        if (step.type().isCommunication()) {
          longest[rank] = Math.max(longest[rank], Math.toIntExact(vectors.wholeElements(step)));
        }
      }
    }
  }

  /** Makes the process groups; to be called by the host program before it spawns the ranks. */
  void makeGroups(Torch torch) {
    int ranks = byRank.size();
    for (List<TraceStep> steps : byRank) {
      for (TraceStep step : steps) {
        if (step.type() == NodeType.COMM_COLL && step.ranks().size() < ranks) {
          groups.computeIfAbsent(step.ranks(), r -> torch.distributed().newGroup(r));
        }
      }
    }
    if (ranks > 1) {
      groups.put(torch.distributed().world().ranks(), torch.distributed().world());
    }
  }

  /** What the device did for a step; null if nothing. */
  @Nullable Launch launch(TraceStep step) {
    return launches[step.id()];
  }

  /** The program of a rank. */
  void body(Worker worker) {
    int rank = worker.rank();
    Torch torch = worker.torch();
    int most = longest[rank];
    try (Tensor in = torch.empty(Shape.of(Math.max(1, most)), vectors.dtype(), "in");
        Tensor out = torch.empty(Shape.of(Math.max(1, most)), vectors.dtype(), "out")) {
      Pe pe = in.shardSpecs().getFirst().place();
      for (TraceStep step : byRank.get(rank)) {
        List<Launch> before = before(step);
        if (!step.type().isCommunication()) {
          compute(torch, pe, step, before);
        } else if (step.ranks().size() < 2) {
          instead.put(step.id(), before);
        } else {
          before.forEach(in::orderAfter);
          Work work =
              step.type() == NodeType.COMM_COLL
                  ? collective(step, rank, in, out)
                  : message(torch, step, rank, in);
          work.await();
          launches[step.id()] = work.launch().orElse(null);
        }
      }
    }
  }

  /** What a rank itself has to wait for before a step. */
  private List<Launch> before(TraceStep step) {
    List<Launch> all = new ArrayList<>();
    for (int id : step.before()) {
      Launch launch = launches[id];
      if (launch != null) {
        all.add(launch);
      } else {
        all.addAll(instead.getOrDefault(id, List.of()));
      }
    }
    return all;
  }

  private void compute(Torch torch, Pe pe, TraceStep step, List<Launch> before) {
    long ps = times.localPs(step);
    if (ps == 0) {
      instead.put(step.id(), before);
      return;
    }
    long wait = Math.max(1, ps - overheadPs);
    launches[step.id()] =
        torch.launchAfter(step.node().name(), tl -> tl.elapse(wait), List.of(pe), before);
  }

  private Work message(Torch torch, TraceStep step, int rank, Tensor buffer) {
    int n = Math.toIntExact(vectors.wholeElements(step));
    Tensor part = buffer.view(0, Shape.of(n), step.node().name());
    return rank == step.ranks().get(0)
        ? torch.distributed().isend(part, step.ranks().get(1))
        : torch.distributed().irecv(part, step.ranks().get(0));
  }

  private Work collective(TraceStep step, int rank, Tensor in, Tensor out) {
    ProcessGroup group = groups.get(step.ranks());
    if (group == null) {
      throw new IllegalStateException("bug: no group of " + step.ranks());
    }
    String name = step.node().name();
    if (TraceVectors.isEmpty(step)) { // the ranks wait for each other, without the host
      return group.allReduceAsync(in.view(0, Shape.of(1), name), ReduceKind.SUM);
    }
    int n = Math.toIntExact(vectors.wholeElements(step));
    int part = n / step.ranks().size();
    Tensor wholeIn = in.view(0, Shape.of(n), name);
    return switch (step.node().comm().collective()) {
      case ALL_REDUCE, BARRIER -> group.allReduceAsync(wholeIn, ReduceKind.SUM);
      case REDUCE -> group.reduceAsync(wholeIn, step.root(), ReduceKind.SUM);
      case BROADCAST -> group.broadcastAsync(wholeIn, step.root());
      case REDUCE_SCATTER, REDUCE_SCATTER_BLOCK ->
          group.reduceScatterAsync(out.view(0, Shape.of(part), name), wholeIn, ReduceKind.SUM);
      case ALL_GATHER ->
          group.allGatherAsync(out.view(0, Shape.of(n), name), in.view(0, Shape.of(part), name));
      case ALL_TO_ALL -> group.allToAllAsync(out.view(0, Shape.of(n), name), wholeIn);
      case GATHER -> {
        Tensor own = in.view(0, Shape.of(part), name);
        yield rank == step.root()
            ? group.gatherAsync(out.view(0, Shape.of(n), name), own, rank)
            : group.gatherAsync(own, step.root());
      }
      case SCATTER -> {
        Tensor own = out.view(0, Shape.of(part), name);
        yield rank == step.root()
            ? group.scatterAsync(own, wholeIn, rank)
            : group.scatterAsync(own, step.root());
      }
    };
  }
}
