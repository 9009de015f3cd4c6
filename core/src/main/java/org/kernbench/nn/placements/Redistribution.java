package org.kernbench.nn.placements;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.kernbench.nn.placements.Extents.Run;
import org.kernbench.nn.placements.Placement.Partial;
import org.kernbench.nn.placements.Placement.Replicate;
import org.kernbench.nn.placements.Placement.Shard;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;

/**
 * The way from one placement of a tensor to another: steps along one dimension of the mesh each,
 * with the bytes that all ranks together send, at the least that any algorithm needs.
 *
 * <p>An axis that several dimensions cut is cut by the first of them first. So before one of them
 * changes, those behind it that cut the same axis are gathered, and cut again at the end. The other
 * dimensions change in the order that sends least.
 *
 * @param steps in order; none if nothing changes
 */
public record Redistribution(List<Step> steps) {
  private static final Replicate WHOLE = new Replicate();

  /** Dimensions of which all orders are tried: 24. */
  private static final int MOST_ORDERED = 4;

  /** Keeps a copy. */
  public Redistribution {
    steps = List.copyOf(steps);
  }

  /**
   * A change along one dimension.
   *
   * @param dimension of the mesh
   * @param collective that it takes; empty if ranks have what they need
   * @param bytes that all ranks together send
   */
  public record Step(
      int dimension, Placement from, Placement to, Optional<CollectiveOp> collective, long bytes) {}

  /**
   * Plans it.
   *
   * @param sizes ranks along each dimension of the mesh
   * @param whole shape of the whole tensor
   * @param width bytes of an element
   * @throws ShapeException if a placement is not one of such a tensor on such a mesh
   */
  public static Redistribution plan(
      List<Integer> sizes, Shape whole, int width, List<Placement> from, List<Placement> to) {
    check(sizes, whole, from);
    check(sizes, whole, to);
    List<Integer> ahead = new ArrayList<>();
    for (int i = 0; i < sizes.size(); i++) {
      if (!isInTheWay(i, from, to) && !from.get(i).equals(to.get(i))) {
        ahead.add(i);
      }
    }
    return orders(ahead).stream()
        .map(order -> inOrder(order, sizes, whole, width, from, to))
        .min(Comparator.comparingLong(Redistribution::bytes))
        .orElseThrow();
  }

  /** All orders of a few dimensions, the given one first; of many only that one. */
  private static List<List<Integer>> orders(List<Integer> of) {
    if (of.size() <= 1 || of.size() > MOST_ORDERED) {
      return List.of(of);
    }
    List<List<Integer>> all = new ArrayList<>();
    for (Integer first : of) {
      List<Integer> others = new ArrayList<>(of);
      others.remove(first);
      for (List<Integer> rest : orders(others)) {
        List<Integer> order = new ArrayList<>(List.of(first));
        order.addAll(rest);
        all.add(order);
      }
    }
    return all;
  }

  private static Redistribution inOrder(
      List<Integer> order,
      List<Integer> sizes,
      Shape whole,
      int width,
      List<Placement> from,
      List<Placement> to) {
    List<Placement> now = new ArrayList<>(from);
    List<Step> steps = new ArrayList<>();
    Planner planner = new Planner(sizes, whole, width, now, steps);
    for (int i = sizes.size() - 1; i >= 0; i--) {
      if (isInTheWay(i, from, to)) {
        planner.change(i, WHOLE);
      }
    }
    order.forEach(i -> planner.change(i, to.get(i)));
    for (int i = 0; i < sizes.size(); i++) {
      planner.change(i, to.get(i));
    }
    return new Redistribution(steps);
  }

  /** Whether a dimension cuts an axis that an earlier one, which changes, cuts or will cut. */
  private static boolean isInTheWay(int i, List<Placement> from, List<Placement> to) {
    for (int before = 0; before < i; before++) {
      if (!from.get(before).equals(to.get(before))) {
        for (Placement mine : List.of(from.get(i), to.get(i))) {
          boolean cuts = mine instanceof Shard;
          if (cuts && (mine.equals(from.get(before)) || mine.equals(to.get(before)))) {
            return true;
          }
        }
      }
    }
    return false;
  }

  private static void check(List<Integer> sizes, Shape whole, List<Placement> placements) {
    boolean fits =
        placements.size() == sizes.size()
            && placements.stream()
                .allMatch(p -> !(p instanceof Shard shard) || shard.dim() < whole.rank());
    if (!fits) {
      throw new ShapeException(
          "placements %s of %s on a mesh of %s; expected one for each dimension, and axes 0 to %s"
              .formatted(placements, whole, sizes, whole.rank() - 1));
    }
  }

  /** Bytes of all steps. */
  public long bytes() {
    return steps.stream().mapToLong(Step::bytes).sum();
  }

  /**
   * A line for each step.
   *
   * @param names of the mesh's dimensions
   */
  public String text(List<String> names) {
    StringBuilder out = new StringBuilder();
    for (Step step : steps) {
      String how =
          step.collective
              .map(op -> op.name().toLowerCase(Locale.ROOT) + ", " + step.bytes + " bytes")
              .orElse("nothing is sent");
      out.append(names.get(step.dimension))
          .append(": " + step.from + " -> " + step.to + ": " + how + "\n");
    }
    return out.toString();
  }

  private record Planner(
      List<Integer> sizes, Shape whole, int width, List<Placement> now, List<Step> steps) {
    void change(int i, Placement to) {
      Placement from = now.get(i);
      if (from.equals(to)) {
        return;
      }
      if (needsWhole(from, to)) {
        change(i, WHOLE);
        change(i, to);
        return;
      }
      Optional<CollectiveOp> op = sizes.get(i) == 1 ? Optional.empty() : collective(from, to);
      steps.add(new Step(i, from, to, op, op.map(o -> bytes(i, o, to)).orElse(0L)));
      now.set(i, to);
    }

    /** Parts that are not sums have no neutral element here. */
    private static boolean needsWhole(Placement from, Placement to) {
      return to instanceof Partial part
          && (from instanceof Partial || (from instanceof Shard && part.op() != ReduceKind.SUM));
    }

    private static Optional<CollectiveOp> collective(Placement from, Placement to) {
      return switch (from) {
        case Replicate all -> Optional.empty();
        case Shard cut ->
            switch (to) {
              case Replicate all -> Optional.of(CollectiveOp.ALL_GATHER);
              case Shard other -> Optional.of(CollectiveOp.ALL_TO_ALL);
              case Partial part -> Optional.empty();
            };
        case Partial part ->
            switch (to) {
              case Replicate all -> Optional.of(CollectiveOp.ALL_REDUCE);
              case Shard cut -> Optional.of(CollectiveOp.REDUCE_SCATTER);
              case Partial other -> throw new IllegalStateException("bug: " + from + " -> " + to);
            };
      };
    }

    /** Of all groups along a dimension. */
    private long bytes(int i, CollectiveOp op, Placement to) {
      int ranks = sizes.get(i);
      List<Placement> open = new ArrayList<>(now);
      open.set(i, WHOLE);
      long elements = 0;
      int groups = sizes.stream().reduce(1, (a, b) -> a * b) / ranks;
      for (int g = 0; g < groups; g++) {
        Shape all = Extents.of(whole, open, sizes, coordinates(g, i)).shape();
        elements +=
            op == CollectiveOp.ALL_TO_ALL
                ? all.elements() - kept(all, ranks, (Shard) now.get(i), (Shard) to)
                : (ranks - 1) * all.elements() * (op == CollectiveOp.ALL_REDUCE ? 2 : 1);
      }
      return elements * width;
    }

    /** Elements that stay on their ranks in an exchange. */
    private static long kept(Shape all, int ranks, Shard from, Shard to) {
      long kept = 0;
      for (int r = 0; r < ranks; r++) {
        Run a = Run.of(all.dim(from.dim()), ranks, r);
        Run b = Run.of(all.dim(to.dim()), ranks, r);
        long others = all.dim(from.dim()) * (long) all.dim(to.dim());
        kept += others == 0 ? 0 : all.elements() / others * a.count() * b.count();
      }
      return kept;
    }

    /** Numbers along all dimensions of the first rank of a group. */
    private int[] coordinates(int group, int but) {
      int[] at = new int[sizes.size()];
      int rest = group;
      for (int i = 0; i < at.length; i++) {
        if (i != but) {
          at[i] = rest % sizes.get(i);
          rest /= sizes.get(i);
        }
      }
      return at;
    }
  }
}
