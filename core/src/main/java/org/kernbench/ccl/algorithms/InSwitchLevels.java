package org.kernbench.ccl.algorithms;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.BiFunction;
import org.kernbench.ccl.Axes;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Payload;
import org.kernbench.ccl.Reduction;
import org.kernbench.ccl.Schedule;
import org.kernbench.ccl.Segments;
import org.kernbench.device.QueuePlan;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.Part;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.collective.Splits;

/**
 * An all-reduce over several levels of which some hang on switches that add up: each level but the
 * last scatters what the one before left, the last sums it over all, then each gathers back. So
 * that of n packages on a node's switch each sends {@code 1/n} of the vector beyond it.
 *
 * <p>Each phase is a collective of its own along a level: a rank issues it when it has issued the
 * one before, and pays for its begin where the machine's library says so.
 */
final class InSwitchLevels implements Schedule {
  /** How a level does its part: bound to the ranks of one line along it, for one phase. */
  interface Level {
    Schedule bind(Group line, String phase);
  }

  private final Group group;
  private final Axes axes;
  private final List<Phase> phases = new ArrayList<>();

  /** A collective along an axis: of each line of ranks, by the rank. */
  private record Phase(int axis, CollectiveOp op, List<Schedule> byRank) {}

  /**
   * Binds levels to the ranks.
   *
   * @param levels by axis, innermost first
   */
  InSwitchLevels(Axes axes, List<Level> levels) {
    this.group = axes.group();
    this.axes = axes;
    int last = axes.count() - 1;
    for (int a = 0; a < last; a++) {
      phases.add(phase(a, CollectiveOp.REDUCE_SCATTER, levels.get(a)));
    }
    phases.add(phase(last, CollectiveOp.ALL_REDUCE, levels.get(last)));
    for (int a = last - 1; a >= 0; a--) {
      phases.add(phase(a, CollectiveOp.ALL_GATHER, levels.get(a)));
    }
  }

  private Phase phase(int axis, CollectiveOp op, Level level) {
    Schedule[] byRank = new Schedule[group.size()];
    for (int[] line : axes.lines(axis)) {
      Group ranks =
          new Group(
              group.machine(), group.level(), Arrays.stream(line).mapToObj(group::lead).toList());
      Schedule bound = level.bind(ranks, op.word() + axis);
      for (int rank : line) {
        byRank[rank] = bound;
      }
    }
    return new Phase(axis, op, List.of(byRank));
  }

  // ---- calls of phases ----

  /** A run of elements. */
  private record Region(int start, int count) {
    Region part(int place, int places) {
      Segments cut = new Segments(start, count, places);
      return new Region(cut.start(place), cut.count(place));
    }
  }

  /** What of the vector a rank shares with those along an axis. */
  private Region region(CollectiveCall call, int rank, int axis) {
    Region region = new Region(0, Math.toIntExact(call.elements()));
    for (int a = 0; a < axis; a++) {
      region = region.part(axes.place(rank, a), axes.axis(a).size());
    }
    return region;
  }

  /** The call of one phase among the ranks of a line, in coordinates of what they share. */
  private CollectiveCall call(CollectiveCall whole, Phase phase, Region region) {
    int n = axes.axis(phase.axis).size();
    Segments cut = new Segments(0, region.count, n);
    List<Part> parts = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      boolean all = phase.op == CollectiveOp.ALL_REDUCE;
      parts.add(all ? new Part(0, region.count) : new Part(cut.start(i), cut.count(i)));
    }
    return new CollectiveCall(
        phase.op,
        whole.reduce(),
        whole.dtype(),
        -1,
        region.count,
        parts,
        Splits.NONE,
        List.of(),
        Collections.nCopies(n, Optional.empty()),
        Collections.nCopies(n, Optional.empty()));
  }

  @Override
  public RankProgram program(CollectiveCall call) {
    checkOp(call);
    return (tl, rank, vector, reduction) -> {
      Payload from = vector;
      for (Phase phase : phases) {
        Region region = region(call, rank, phase.axis);
        if (region.count > 0) {
          RankProgram program = bound(phase, rank).program(call(call, phase, region));
          int place = axes.place(rank, phase.axis);
          program.run(tl, place, shifted(from, region.start), reduction(phase, reduction));
        }
        from = written(vector);
      }
    };
  }

  /** An average is divided once, where all have been summed. */
  private Reduction reduction(Phase phase, Reduction of) {
    boolean divides = phase.op == CollectiveOp.ALL_REDUCE;
    return of.kind() == ReduceKind.AVG && !divides ? new Reduction(ReduceKind.SUM, of.ranks()) : of;
  }

  private static void checkOp(CollectiveCall call) {
    if (call.op() != CollectiveOp.ALL_REDUCE) {
      throw new CollectiveException(
          """
          %s: %s goes through one switch only, and these ranks hang on several; use ranks on one \
          switch, or another algorithm\
          """
              .formatted(InSwitch.NAME, call.op().word()));
    }
  }

  /** The vector after the first phase: what is read is what was written. */
  private static Payload written(Payload vector) {
    return new Payload() {
      @Override
      public Value read(Tl tl, int start, int count) {
        return vector.readBack(tl, start, count);
      }

      @Override
      public void giveBack(Tl tl, Value read) {
        vector.giveBack(tl, read);
      }

      @Override
      public void write(Tl tl, int start, int count, Value value) {
        vector.write(tl, start, count, value);
      }
    };
  }

  /** A vector of which element 0 is further on. */
  private static Payload shifted(Payload vector, int by) {
    return new Payload() {
      @Override
      public Value read(Tl tl, int start, int count) {
        return vector.read(tl, by + start, count);
      }

      @Override
      public void giveBack(Tl tl, Value read) {
        vector.giveBack(tl, read);
      }

      @Override
      public void write(Tl tl, int start, int count, Value value) {
        vector.write(tl, by + start, count, value);
      }

      @Override
      public Value readBack(Tl tl, int start, int count) {
        return vector.readBack(tl, by + start, count);
      }
    };
  }

  @Override
  public List<QueuePlan.Connection> connections() {
    return connections((phase, rank) -> phase.byRank.get(rank).connections());
  }

  @Override
  public List<QueuePlan.Connection> connections(CollectiveCall call) {
    checkOp(call);
    return connections((phase, rank) -> {
      CollectiveCall part = call(call, phase, region(call, rank, phase.axis));
      return bound(phase, rank).connections(part);
    });
  }

  /** Of all lines of all phases; a level that goes both ways by the same queues has them once. */
  private List<QueuePlan.Connection> connections(
      BiFunction<Phase, Integer, List<QueuePlan.Connection>> of) {
    Set<QueuePlan.Connection> all = new LinkedHashSet<>();
    for (Phase phase : phases) {
      for (int[] line : axes.lines(phase.axis)) {
        all.addAll(of.apply(phase, line[0]));
      }
    }
    return List.copyOf(all);
  }

  /** One phase after the other, by the line of rank 0. */
  @Override
  public OptionalLong predictPs(CollectiveCall call) {
    long all = 0;
    for (Phase phase : phases) {
      Region region = region(call, 0, phase.axis);
      OptionalLong ps = bound(phase, 0).predictPs(call(call, phase, region));
      if (ps.isEmpty()) {
        return ps;
      }
      all += ps.getAsLong();
    }
    return OptionalLong.of(all);
  }

  @Override
  public OptionalLong wireBytes(CollectiveCall call) {
    long bytes = 0;
    for (Phase phase : phases) {
      for (int[] line : axes.lines(phase.axis)) {
        Region region = region(call, line[0], phase.axis);
        CollectiveCall part = call(call, phase, region);
        OptionalLong sent =
            region.count == 0 ? OptionalLong.of(0) : bound(phase, line[0]).wireBytes(part);
        if (sent.isEmpty()) {
          return sent;
        }
        bytes += sent.getAsLong();
      }
    }
    return OptionalLong.of(bytes);
  }

  private static Schedule bound(Phase phase, int rank) {
    return phase.byRank.get(rank);
  }
}
