package org.kernbench.eval.replay;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.ccl.bounds.Bounds;
import org.kernbench.chakra.NodeType;
import org.kernbench.chakra.TraceNode;
import org.kernbench.chakra.TraceStep;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.torch.placement.Device;
import org.kernbench.torch.placement.RankLevel;

/**
 * How long a step takes: computations by the trace or by the machine's roofline, communication at
 * least by the bound of the machine.
 */
final class StepTimes {
  private static final double PS = 1e12;

  /** Groups whose cuts are worth a search; of larger ones the bound is left out. */
  private static final int MOST_RANKS = 1024;

  private final Machine machine;
  private final RankLevel level;
  private final TraceVectors vectors;
  private final boolean recomputes;
  private final Map<List<Integer>, Bounds> bounds = new HashMap<>();
  private final Map<List<Object>, Long> known = new HashMap<>();
  private final Map<Integer, Rates> rates = new HashMap<>();

  /** What the PEs of a rank and their HBM can do together, per second. */
  private record Rates(double flops, double bytes) {}

  /**
   * Times on a machine.
   *
   * @param recomputes whether computations last as the machine's peak and memory say
   */
  StepTimes(Machine machine, RankLevel level, TraceVectors vectors, boolean recomputes) {
    this.machine = machine;
    this.level = level;
    this.vectors = vectors;
    this.recomputes = recomputes;
  }

  /** Those of a rank: packages may be slower than others. */
  private Rates rates(int rank) {
    return rates.computeIfAbsent(
        rank,
        r -> {
          Device device = Device.of(machine, level, r);
          int pes = device.cubes() * device.pes();
          Pe lead = device.lead();
          return new Rates(
              machine.pe(lead.sip()).gemm().peakFlops() * pes,
              Bounds.portRate(machine, lead) * pes);
        });
  }

  /** The time of a computation, or the least time of a communication, in picoseconds. */
  long leastPs(TraceStep step) {
    return step.type().isCommunication() ? boundPs(step) : localPs(step);
  }

  /** The time of work on one rank; 0 if nothing is known of it. */
  long localPs(TraceStep step) {
    TraceNode node = step.node();
    boolean moves = node.type() != NodeType.COMP;
    boolean hasSize = node.memoryBytes() > 0 || (!moves && node.operations() > 0);
    if ((recomputes || node.durationPs() == 0) && hasSize && (recomputes || moves)) {
      Rates of = rates(step.ranks().getFirst());
      double seconds =
          Math.max(moves ? 0 : node.operations() / of.flops, node.memoryBytes() / of.bytes);
      return Math.max(1, Math.round(seconds * PS));
    }
    return node.durationPs();
  }

  private long boundPs(TraceStep step) {
    if (step.ranks().size() > MOST_RANKS || step.ranks().size() < 2) {
      return 0;
    }
    List<Object> key =
        List.of(
            step.type(), step.node().comm().collective(), step.ranks(), step.root(), step.bytes());
    return known.computeIfAbsent(key, k -> bound(step));
  }

  private long bound(TraceStep step) {
    Bounds of = bounds.computeIfAbsent(step.ranks(), r -> Bounds.of(machine, leads(r)));
    int n = step.ranks().size();
    long whole = vectors.wholeElements(step) * vectors.elementBytes();
    if (step.type() == NodeType.COMM_SEND) {
      return of.pointToPoint(0, 1, whole).ps();
    }
    List<Long> parts = Collections.nCopies(n, whole / n);
    int root = Math.max(0, step.ranks().indexOf(step.root()));
    return switch (step.node().comm().collective()) {
      case ALL_REDUCE -> of.allReduce(whole).ps();
      case BARRIER -> of.allReduce(vectors.elementBytes()).ps();
      case REDUCE -> of.reduce(root, whole).ps();
      case BROADCAST -> of.broadcast(root, whole).ps();
      case ALL_GATHER -> of.allGather(parts).ps();
      case REDUCE_SCATTER, REDUCE_SCATTER_BLOCK -> of.reduceScatter(parts).ps();
      case GATHER -> of.gather(root, parts).ps();
      case SCATTER -> of.scatter(root, parts).ps();
      case ALL_TO_ALL -> of.allToAll(Collections.nCopies(n, parts)).ps();
    };
  }

  private List<Pe> leads(List<Integer> ranks) {
    List<Pe> leads = new ArrayList<>();
    for (int rank : ranks) {
      leads.add(Device.of(machine, level, rank).lead());
    }
    return leads;
  }
}
