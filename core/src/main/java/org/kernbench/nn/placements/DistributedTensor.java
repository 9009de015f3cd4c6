package org.kernbench.nn.placements;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.Compute.BlockCopy;
import org.kernbench.nn.placements.Extents.Run;
import org.kernbench.nn.placements.Placement.Partial;
import org.kernbench.nn.placements.Placement.Replicate;
import org.kernbench.nn.placements.Placement.Shard;
import org.kernbench.nn.placements.Redistribution.Step;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.collective.ReduceKind;

/**
 * A tensor over the ranks of a mesh, of which each has a part on its device ({@code DTensor} of
 * PyTorch). All ranks make the same calls. It owns its part, and closes it when it is closed.
 */
public final class DistributedTensor implements AutoCloseable {
  private final Torch torch;
  private final DeviceMesh mesh;
  private final Shape whole;
  private final DType dtype;
  private final List<Placement> placements;
  private final List<Tensor> owned;
  private final Tensor local;

  private DistributedTensor(
      Torch torch,
      DeviceMesh mesh,
      Shape whole,
      DType dtype,
      List<Placement> placements,
      List<Tensor> owned,
      Tensor local) {
    this.torch = torch;
    this.mesh = mesh;
    this.whole = whole;
    this.dtype = dtype;
    this.placements = List.copyOf(placements);
    this.owned = owned;
    this.local = local;
  }

  /**
   * A tensor from host values that every rank has, and of which it keeps its part ({@code
   * distribute_tensor}). Of a partial sum the first rank has all, and the others have zeros.
   *
   * @param values of the whole, row-major
   * @param placements one for each dimension of the mesh
   */
  public static DistributedTensor distribute(
      Torch torch,
      DeviceMesh mesh,
      double[] values,
      Shape whole,
      DType dtype,
      List<Placement> placements) {
    List<Placement> all = mesh.sizes().stream().<Placement>map(s -> new Replicate()).toList();
    List<Tensor> owned = new ArrayList<>();
    Tensor first = torch.from(values, whole, dtype, "distributed");
    owned.add(first);
    try (DistributedTensor everywhere =
        new DistributedTensor(torch, mesh, whole, dtype, all, owned, first)) {
      return everywhere.redistribute(placements);
    }
  }

  /** How it lies. */
  public List<Placement> placements() {
    return placements;
  }

  /** This rank's part. */
  public Tensor local() {
    return local;
  }

  /** The whole, read by the host; every rank calls it. */
  public double[] full() {
    List<Placement> all = placements.stream().<Placement>map(p -> new Replicate()).toList();
    try (DistributedTensor everywhere = redistribute(all)) {
      return everywhere.local.toDoubles();
    }
  }

  /** What {@link #redistribute} would do. */
  public Redistribution plan(List<Placement> to) {
    return Redistribution.plan(mesh.sizes(), whole, dtype.sizeBytes(), placements, to);
  }

  /** This tensor, placed in another way; this one stays. */
  public DistributedTensor redistribute(List<Placement> to) {
    List<Tensor> made = new ArrayList<>();
    Mover mover =
        new Mover(
            new Compute(
                torch,
                t -> {
                  made.add(t);
                  return t;
                }),
            new ArrayList<>(placements),
            local);
    for (Step step : plan(to).steps()) {
      mover.move(step);
    }
    if (mover.now == local) {
      mover.now = mover.copy(local.shape()); // it has an owner of its own
    }
    return new DistributedTensor(torch, mesh, whole, dtype, to, made, mover.now);
  }

  /** A block that begins at an offset of a tensor, and goes to a run of an axis. */
  private record Piece(Tensor flat, long offset, int start, int count) {}

  /** Goes the steps. */
  private final class Mover {
    private final Compute compute;
    private final List<Placement> at;
    private Tensor now;

    Mover(Compute compute, List<Placement> at, Tensor now) {
      this.compute = compute;
      this.at = at;
      this.now = now;
    }

    void move(Step step) {
      int i = step.dimension();
      ProcessGroup group = mesh.group(i);
      List<Placement> open = new ArrayList<>(at);
      open.set(i, new Replicate());
      Shape all = Extents.of(whole, open, mesh.sizes(), mesh.coordinates()).shape();
      now =
          switch (step.from()) {
            case Replicate replicated -> fromWhole(step.to(), all, group);
            case Shard cut -> fromCut(cut, step.to(), all, group);
            case Partial part -> fromParts(part.op(), step.to(), all, group);
          };
      at.set(i, step.to());
    }

    private Tensor fromWhole(Placement to, Shape all, ProcessGroup group) {
      return switch (to) {
        case Replicate same -> now;
        case Shard cut -> {
          Run own = Run.of(all.dim(cut.dim()), group.size(), group.rank());
          yield shaped(flat(all, cut.dim(), List.of(own)), with(all, cut.dim(), own.count()));
        }
        case Partial part -> {
          boolean keeps = group.rank() == 0 || part.op() != ReduceKind.SUM;
          yield keeps ? now : zeros(all);
        }
      };
    }

    private Tensor fromCut(Shard cut, Placement to, Shape all, ProcessGroup group) {
      int dim = cut.dim();
      Run own = Run.of(all.dim(dim), group.size(), group.rank());
      return switch (to) {
        case Replicate whole -> {
          if (group.size() == 1) {
            yield now;
          }
          List<Integer> counts = elements(all, dim, group.size());
          Tensor gathered = empty(sum(counts));
          group.allGather(gathered, flatView(now), counts);
          yield joined(gathered, counts, all, dim);
        }
        case Partial part -> join(all, dim, List.of(new Piece(now, 0, own.start(), own.count())));
        case Shard other -> {
          if (group.size() == 1) {
            yield now;
          }
          yield exchanged(dim, other.dim(), all, group, own);
        }
      };
    }

    /** From blocks along one axis to blocks along another. */
    private Tensor exchanged(int from, int to, Shape all, ProcessGroup group, Run own) {
      int ranks = group.size();
      Shape mine = with(all, from, own.count());
      List<Run> theirs = runs(all.dim(to), ranks);
      Run kept = theirs.get(group.rank());
      List<Integer> out = new ArrayList<>();
      List<Integer> in = new ArrayList<>();
      for (int r = 0; r < ranks; r++) {
        out.add(count(with(mine, to, theirs.get(r).count())));
        Run rows = Run.of(all.dim(from), ranks, r);
        in.add(count(with(with(all, from, rows.count()), to, kept.count())));
      }
      Tensor packed = flat(mine, to, theirs);
      Tensor arrived = empty(sum(in));
      group.allToAll(arrived, packed, in, out);
      return joined(arrived, in, with(all, to, kept.count()), from);
    }

    private Tensor fromParts(ReduceKind op, Placement to, Shape all, ProcessGroup group) {
      if (group.size() == 1) {
        return now;
      }
      return switch (to) {
        case Replicate whole -> {
          Tensor sum = copy(all);
          group.allReduce(sum, op);
          yield sum;
        }
        case Shard cut -> {
          List<Integer> counts = elements(all, cut.dim(), group.size());
          Tensor packed = flat(all, cut.dim(), runs(all.dim(cut.dim()), group.size()));
          Tensor own = empty(counts.get(group.rank()));
          group.reduceScatter(own, packed, op, counts);
          int width = Run.of(all.dim(cut.dim()), group.size(), group.rank()).count();
          yield shaped(own, with(all, cut.dim(), width));
        }
        case Partial other -> throw new IllegalStateException("bug: " + op + " to " + to);
      };
    }

    // ---- copies ----

    private Tensor empty(int elements) {
      return compute.empty("redistributed", Shape.of(elements), dtype);
    }

    private Tensor zeros(Shape of) {
      Tensor made = compute.empty("redistributed", of, dtype);
      compute.zero("zeros", made);
      return made;
    }

    private Tensor copy(Shape of) {
      return compute.map("copy", of, dtype, List.of(now), x -> x.get(0));
    }

    private Tensor flatView(Tensor of) {
      return shaped(of, Shape.of(count(of.shape())));
    }

    private Tensor shaped(Tensor of, Shape shape) {
      return of.shape().equals(shape) ? of : of.view(0, shape, of.name());
    }

    /** Runs of an axis, one block after the other. */
    private Tensor flat(Shape of, int axis, List<Run> runs) {
      int inner = Math.toIntExact(of.inner(axis));
      int outer = Math.toIntExact(of.outer(axis));
      int row = of.dim(axis) * inner;
      List<BlockCopy> copies = new ArrayList<>();
      int to = 0;
      for (Run run : runs) {
        int width = run.count() * inner;
        for (int o = 0; o < outer && width > 0; o++, to += width) {
          copies.add(new BlockCopy(now, row, o, run.start() * inner, 1, width, 0, to));
        }
      }
      return to == 0
          ? empty(0)
          : shaped(compute.assemble("pack", 1, to, dtype, false, copies), Shape.of(to));
    }

    /** The inverse: blocks of ranks, put together along an axis. */
    private Tensor joined(Tensor flat, List<Integer> counts, Shape all, int axis) {
      List<Run> runs = runs(all.dim(axis), counts.size());
      List<Piece> pieces = new ArrayList<>();
      long offset = 0;
      for (int r = 0; r < counts.size(); r++) {
        pieces.add(new Piece(flat, offset, runs.get(r).start(), runs.get(r).count()));
        offset += counts.get(r);
      }
      return join(all, axis, pieces);
    }

    private Tensor join(Shape all, int axis, List<Piece> pieces) {
      int inner = Math.toIntExact(all.inner(axis));
      int outer = Math.toIntExact(all.outer(axis));
      int row = all.dim(axis) * inner;
      if (row == 0 || outer == 0) {
        return compute.empty("redistributed", all, dtype);
      }
      List<BlockCopy> copies = new ArrayList<>();
      for (Piece piece : pieces) {
        int width = piece.count * inner;
        int length = Math.toIntExact(piece.flat.shape().elements());
        for (int o = 0; o < outer && width > 0; o++) {
          int from = Math.toIntExact(piece.offset + (long) o * width);
          copies.add(new BlockCopy(piece.flat, length, 0, from, 1, width, o, piece.start * inner));
        }
      }
      return shaped(compute.assemble("join", outer, row, dtype, true, copies), all);
    }
  }

  private static List<Run> runs(int all, int ranks) {
    List<Run> runs = new ArrayList<>();
    for (int r = 0; r < ranks; r++) {
      runs.add(Run.of(all, ranks, r));
    }
    return runs;
  }

  /** Elements of each rank's block along an axis. */
  private static List<Integer> elements(Shape all, int axis, int ranks) {
    return runs(all.dim(axis), ranks).stream()
        .map(run -> count(with(all, axis, run.count())))
        .toList();
  }

  private static Shape with(Shape shape, int axis, int extent) {
    return shape.with(axis, extent);
  }

  private static int count(Shape shape) {
    return Math.toIntExact(shape.elements());
  }

  private static int sum(List<Integer> of) {
    return of.stream().mapToInt(Integer::intValue).sum();
  }

  @Override
  public void close() {
    owned.forEach(Tensor::close);
  }
}
