package org.kernbench.nn.kernels;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Dependent;
import org.kernbench.tl.Scope;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.ElementRun;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.placement.Layout;
import org.kernbench.torch.placement.Mesh;

/**
 * A tensor in several copies, one for each place along one axis of the grid of cubes: each copy
 * lies, by rows, over the cubes along the other axis and over the PEs of these.
 *
 * <p>If every cube fetched all of its part from where it lies, what two halves of the grid need of
 * each other would cross the link in the middle once for every cube behind it. So large copies are
 * handed on (ADR 0170): of its part a PE first fetches one share, another one in each copy. Then,
 * in as many steps as there are copies, but one, each cube fetches what its neighbours on both
 * sides have got in the step before. In no step does a link carry more than a share in each
 * direction.
 */
final class Copies implements Dependent, AutoCloseable {
  private final Compute compute;
  private final Tensor all;
  private final List<Tensor> each;
  private final int axis;
  private final List<Map<Pe, List<ElementRun>>> runs;

  /**
   * Room for copies of a tensor.
   *
   * @param axis of the mesh, 0 or 1: with one copy for each place along it
   */
  Copies(Compute compute, String name, Shape shape, DType dtype, int axis) {
    this.compute = compute;
    this.axis = axis;
    Mesh mesh = compute.mesh();
    int count = mesh.axes().get(axis).size();
    Layout.Part first = new Layout.Rows(0);
    Layout.Part second = new Layout.Rows(1);
    List<Layout.Part> parts =
        axis == 0
            ? List.of(first, second, new Layout.Rows(2))
            : List.of(second, first, new Layout.Rows(2));
    int[] dims = shape.toArray();
    dims[0] = Math.multiplyExact(dims[0], count);
    this.all =
        compute
            .torch()
            .empty(Shape.of(dims), dtype, new Layout(mesh, parts), name)
            .heldAs(Tensor.Purpose.COPY);
    this.each = new ArrayList<>();
    this.runs = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      Tensor copy = all.view(i * shape.elements(), shape, name);
      each.add(copy);
      runs.add(copy.runs());
    }
  }

  @Override
  public List<Object> dependsOn() {
    return List.of(compute, all, axis);
  }

  /** What to pass to kernels that read them. */
  List<Tensor> tensors() {
    return each;
  }

  /** All copies as one tensor, whose memory they are. */
  Tensor all() {
    return all;
  }

  /** The copy that is nearest to a PE. */
  Tensor near(Tl tl) {
    return each.get(at(tl));
  }

  /** The copy behind so many others, counted from the one that is nearest to a PE. */
  Tensor near(Tl tl, int index) {
    return each.get((at(tl) + index) % each.size());
  }

  private int at(Tl tl) {
    Mesh mesh = compute.mesh();
    int cube = mesh.placeOf(tl.pe()) / mesh.axes().get(2).size();
    int wide = mesh.axes().get(1).size();
    return axis == 0 ? cube / wide : cube % wide;
  }

  /** Memory that they take on each PE, about. */
  long bytesOnEach() {
    return all.shards().stream()
        .mapToLong(s -> s.shape().elements() * all.dtype().sizeBytes())
        .max()
        .orElse(0);
  }

  boolean isClosed() {
    return all.isClosed();
  }

  @Override
  public void close() {
    all.close();
  }

  // ---- made ----

  /** Lets the host write all copies. */
  void fill(double[] values) {
    each.forEach(copy -> copy.copyInPlace(values));
  }

  /** Fetches a share. */
  @FunctionalInterface
  interface Fetch {
    /**
     * Fetches elements of whole rows.
     *
     * @param to the copy
     * @param from first element
     * @param count of elements
     */
    void run(Tl tl, Tensor to, int from, int count);
  }

  /**
   * Makes the copies.
   *
   * @param beside whether that goes on beside the kernels before and after
   */
  void make(String name, List<Tensor> sources, boolean beside, Fetch fetch) {
    compute.countBytes(name, each.getFirst().sizeBytes() + sources.getFirst().sizeBytes());
    compute.countLinks(name, each.getFirst(), axis, sources);
    boolean handsOn = compute.copyCost(axis).handsOn(bytesOnEach() / each.size());
    compute.onAll(
        name,
        each,
        sources,
        beside,
        tl -> {
          int at = at(tl);
          for (ElementRun run : handsOn ? share(tl, at, at) : all(tl, at)) {
            fetch.run(tl, each.get(at), run.start(), run.count());
          }
        });
    for (int step = 1; handsOn && step < each.size(); step++) {
      int far = step;
      compute.onAll(name, each, List.of(), beside, tl -> handOn(tl, far, beside));
    }
  }

  /** What a PE holds of copy {@code at}. */
  private List<ElementRun> all(Tl tl, int at) {
    return runs.get(at).getOrDefault(tl.pe(), List.of());
  }

  /** What a PE holds of share {@code of} in copy {@code at}. */
  private List<ElementRun> share(Tl tl, int at, int of) {
    List<ElementRun> shares = new ArrayList<>();
    int rank = all.shape().rank();
    int width = rank <= 1 ? 1 : all.shape().dim(rank - 1);
    for (ElementRun run : all(tl, at)) {
      int rows = run.count() / width;
      int first = (int) ((long) rows * of / each.size());
      int behind = (int) ((long) rows * (of + 1) / each.size());
      if (first < behind) {
        shares.add(new ElementRun(run.start() + first * width, (behind - first) * width));
      }
    }
    return shares;
  }

  /**
   * Fetches what the neighbours got in the step before, or brings them what was got: a load from
   * afar keeps a DMA with one read queue from all loads of other kernels, a store does not.
   */
  private void handOn(Tl tl, int step, boolean beside) {
    boolean brings = compute.torch().machine().pe().dma().readQueues() == 1;
    int at = at(tl);
    int below = at - 1;
    int above = at + 1;
    List<ElementRun> lower =
        shareIfAny(tl, at, brings ? above - step : at - step, brings ? above : below);
    List<ElementRun> upper =
        shareIfAny(tl, at, brings ? below + step : at + step, brings ? below : above);
    Pace pace = new Pace(tl, beside);
    for (int i = 0; i < Math.max(lower.size(), upper.size()); i++) {
      ElementRun low = i < lower.size() ? lower.get(i) : new ElementRun(0, 0);
      ElementRun high = i < upper.size() ? upper.get(i) : new ElementRun(0, 0);
      int block = compute.blockBytes() / all.dtype().sizeBytes();
      for (int j = 0; j < Math.max(low.count(), high.count()); j += block) {
        copy(tl, pace, brings ? at : below, brings ? above : at, low, j, block);
        copy(tl, pace, brings ? at : above, brings ? below : at, high, j, block);
      }
    }
  }

  /** A share, if there is such a one and there is a neighbour. */
  private List<ElementRun> shareIfAny(Tl tl, int at, int of, int neighbour) {
    boolean is = of >= 0 && of < each.size() && neighbour >= 0 && neighbour < each.size();
    return is ? share(tl, at, of) : List.of();
  }

  private void copy(Tl tl, Pace pace, int from, int to, ElementRun run, int at, int block) {
    int count = Math.min(block, run.count() - at);
    if (count > 0) {
      try (Scope one = tl.scope()) {
        Value moved = pace.loaded(tl.load(tl.whole(each.get(from)).range(run.start() + at, count)));
        tl.store(tl.whole(each.get(to)).range(run.start() + at, count), moved);
      }
    }
  }
}
