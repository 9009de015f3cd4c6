package org.kernbench.ccl.flow;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.ccl.Axes;
import org.kernbench.ccl.flow.Dataflow.Part;
import org.kernbench.ccl.flow.Phases.Reach;
import org.kernbench.torch.collective.CollectiveOp;

/**
 * Collectives along the axes of a grid, one phase after the other. An all-reduce scatters along
 * some axes, reduces what is left along others, and gathers back in reverse. Several {@linkplain
 * Colour colours}, each with its part of the vector and its own order of axes, run at once.
 *
 * <p>Ranks that are not on the grid hand their vector to one that is, and get the result from it.
 */
public final class GridFlow {
  /**
   * A phase of an all-reduce.
   *
   * @param axis of the grid
   * @param reach how blocks go along it
   * @param exchange whether whole sums are exchanged; if not they are scattered, and gathered later
   */
  public record Phase(int axis, Reach reach, boolean exchange) {}

  /**
   * A share of the vector and the phases it goes through.
   *
   * @param weight share, relative to other colours
   */
  public record Colour(int weight, List<Phase> phases) {}

  private final Axes axes;
  private final CollectiveOp op;
  private final boolean join;
  private final Dataflow flow;
  private final Phases phases;
  private final int ranks;

  private GridFlow(Axes axes, CollectiveOp op, boolean join) {
    this.axes = axes;
    this.op = op;
    this.join = join;
    this.ranks = axes.group().size();
    this.flow = new Dataflow(ranks);
    this.phases = new Phases(flow);
  }

  /**
   * Draws a collective.
   *
   * @param op an ALL_REDUCE, or, without exchanges, a REDUCE_SCATTER or an ALL_GATHER
   * @param join whether blocks of several units go in one message: in an all-reduce those that came
   *     in pieces, which costs a store and a load; in the others the parts of ranks that follow
   *     each other
   */
  public static Dataflow draw(Axes axes, CollectiveOp op, List<Colour> colours, boolean join) {
    GridFlow drawing = new GridFlow(axes, op, join);
    for (Colour colour : colours) {
      if (op == CollectiveOp.ALL_REDUCE) {
        drawing.allReduce(colour);
      } else {
        drawing.scattered(colour);
      }
    }
    return drawing.flow;
  }

  /**
   * A unit is what one rank, or those that differ only along axes of exchange, has after all
   * scattering; units lie in the order in which they are scattered, so that every block is one run.
   */
  private void allReduce(Colour colour) {
    int[] unit = new int[ranks];
    int units = 1;
    for (int i = colour.phases.size() - 1; i >= 0; i--) {
      Phase phase = colour.phases.get(i);
      if (!phase.exchange) {
        for (int rank = 0; rank < ranks; rank++) {
          unit[rank] += units * axes.place(rank, phase.axis);
        }
        units *= axes.axis(phase.axis).size();
      }
    }
    int first = flow.addUnits(units, colour.weight);
    Arrays.setAll(unit, rank -> unit[rank] + first);
    draw(colour.phases, unit, first, units, true);
  }

  /** Units are by rank, the part that it owns. */
  private void scattered(Colour colour) {
    int first = flow.addUnits(ranks, colour.weight);
    int[] unit = new int[ranks];
    Arrays.setAll(unit, rank -> first + rank);
    draw(colour.phases, unit, first, ranks, join);
  }

  private void draw(List<Phase> colour, int[] unit, int firstUnit, int units, boolean runs) {
    List<List<Part>> held = new ArrayList<>();
    for (int rank = 0; rank < ranks; rank++) {
      held.add(
          List.of(
              op == CollectiveOp.ALL_GATHER
                  ? flow.own(rank, unit[rank], 1)
                  : flow.own(rank, firstUnit, units)));
    }
    List<Phase> scattered = new ArrayList<>();
    for (int extra = axes.ranks(); extra < ranks; extra++) {
      int rank = extra - axes.ranks();
      held.set(
          rank,
          List.of(flow.combine(held.get(rank).get(0), flow.move(held.get(extra).get(0), rank))));
    }
    if (op == CollectiveOp.ALL_GATHER) {
      scattered.addAll(colour);
      held.forEach(parts -> parts.forEach(phases::store));
    } else {
      for (Phase phase : colour) {
        if (phase.exchange) {
          axes.lines(phase.axis).forEach(line -> phases.exchange(line, phase.reach, held));
          continue;
        }
        scattered.add(phase);
        Phases.Blocks blocks = runs(List.copyOf(scattered), unit, runs);
        axes.lines(phase.axis)
            .forEach(line -> phases.reduceScatter(line, phase.reach, held, blocks));
      }
      phases.finish(held.subList(0, axes.ranks()));
    }
    if (op == CollectiveOp.REDUCE_SCATTER) {
      return;
    }
    for (int i = scattered.size() - 1; i >= 0; i--) {
      Phase phase = scattered.get(i);
      if (join) {
        phases.join(held.subList(0, axes.ranks()));
      }
      axes.lines(phase.axis).forEach(line -> phases.allGather(line, phase.reach, held));
    }
    if (join && axes.ranks() < ranks) {
      phases.join(held.subList(0, ranks - axes.ranks()));
    }
    for (int extra = axes.ranks(); extra < ranks; extra++) {
      for (Part part : held.get(extra - axes.ranks())) {
        phases.store(flow.move(part, extra));
      }
    }
  }

  /**
   * For each rank the units of all ranks that have the same places on some axes; those ranks have
   * one answer.
   */
  private Phases.Blocks runs(List<Phase> along, int[] unit, boolean joined) {
    long[] keys = new long[ranks];
    Map<Long, List<Integer>> units = new HashMap<>();
    for (int rank = 0; rank < ranks; rank++) {
      for (Phase phase : along) {
        keys[rank] = keys[rank] * axes.axis(phase.axis).size() + axes.place(rank, phase.axis);
      }
      units.computeIfAbsent(keys[rank], key -> new ArrayList<>()).add(unit[rank]);
    }
    Map<Long, List<int[]>> found = new HashMap<>();
    return rank ->
        found.computeIfAbsent(keys[rank], key -> runs(units.getOrDefault(key, List.of()), joined));
  }

  private static List<int[]> runs(List<Integer> units, boolean joined) {
    List<int[]> runs = new ArrayList<>();
    for (int u : units.stream().mapToInt(i -> i).sorted().distinct().toArray()) {
      int[] last = runs.isEmpty() ? null : runs.get(runs.size() - 1);
      if (joined && last != null && last[0] + last[1] == u) {
        last[1]++;
      } else {
        runs.add(new int[] {u, 1});
      }
    }
    return runs;
  }
}
