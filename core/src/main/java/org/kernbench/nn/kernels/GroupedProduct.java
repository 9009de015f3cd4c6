package org.kernbench.nn.kernels;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.machine.spec.GemmSpec;
import org.kernbench.nn.kernels.Compute.Matrix;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Dependent;
import org.kernbench.tl.Scope;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Slice;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;

/**
 * Several products of matrices in one launch, each of its own extents: tiles of all of them are
 * dealt over the PEs together, so that a small product leaves no PE idle. As in {@link Product} one
 * PE forms a tile over all of k in ascending order, so the bits depend on no division.
 */
public final class GroupedProduct implements Dependent {
  /** Tiles along each side that a PE makes at once. */
  private static final int SIDE = 2;

  private final Compute compute;
  private final String name;
  private final List<Part> parts;
  private final int tileM;
  private final int tileN;
  private final List<Block> blocks = new ArrayList<>();

  /**
   * One product: {@code m x k} from a row and a column of {@code a}, times {@code k x n} from a row
   * of {@code b}, to rows of {@code c}.
   *
   * @param c as many columns as the product
   * @param add whether the product is added to what is there
   */
  public record Part(
      Matrix a,
      int aRow,
      int aColumn,
      Matrix b,
      int bRow,
      Tensor c,
      int cRow,
      Extents size,
      boolean add) {}

  /** Extents of a product. */
  public record Extents(int m, int n, int k) {}

  /** Neighbouring tiles of one product. */
  private record Block(int part, int row, int rows, int column, int columns) {}

  public GroupedProduct(Compute compute, String name, List<Part> parts) {
    this.compute = compute;
    this.name = name;
    this.parts = parts;
    GemmSpec gemm = compute.torch().machine().pe().gemm();
    this.tileM = compute.tile(gemm.rows());
    this.tileN = compute.tile(gemm.columns());
    for (int p = 0; p < parts.size(); p++) {
      Extents size = parts.get(p).size;
      for (int i = 0; i < size.m; i += SIDE * tileM) {
        for (int j = 0; j < size.n; j += SIDE * tileN) {
          int rows = Math.min(SIDE * tileM, size.m - i);
          blocks.add(new Block(p, i, rows, j, Math.min(SIDE * tileN, size.n - j)));
        }
      }
    }
  }

  @Override
  public List<Object> dependsOn() {
    return List.of(compute, parts, tileM, tileN);
  }

  public void launch() {
    if (blocks.isEmpty()) {
      return;
    }
    for (Part p : parts) {
      compute.countFlops(name, 2.0 * p.size.m * p.size.n * p.size.k, p.a.tensor().dtype());
    }
    compute.cut(
        name,
        blocks.size(),
        parts.stream().map(Part::c).distinct().toList(),
        parts.stream()
            .flatMap(p -> List.of(p.a.tensor(), p.b.tensor()).stream())
            .distinct()
            .toList(),
        (tl, from, to) -> {
          for (Block block : blocks.subList(from, to)) {
            run(tl, block);
          }
        });
  }

  private void run(Tl tl, Block block) {
    Part part = parts.get(block.part);
    int height = Math.toIntExact(part.c.shape().elements() / part.size.n);
    Shard to = tl.whole(part.c).as(height, part.size.n);
    DType in = part.a.tensor().dtype();
    int wider = Math.max(tileM, tileN);
    int step = Math.max(1, Math.min(512, compute.blockBytes() / (wider * in.sizeBytes()) * 2));
    try (Scope all = tl.scope()) {
      List<Slice> places = new ArrayList<>();
      List<Value> sums = new ArrayList<>();
      for (int i = 0; i < block.rows; i += tileM) {
        for (int j = 0; j < block.columns; j += tileN) {
          int rows = Math.min(tileM, block.rows - i);
          int columns = Math.min(tileN, block.columns - j);
          Slice place = to.block(part.cRow + block.row + i, rows, block.column + j, columns);
          places.add(place);
          sums.add(
              part.add
                  ? tl.load(place).cast(in.accumulator())
                  : tl.zeros(Shape.of(rows, columns), in.accumulator()));
        }
      }
      for (int l = 0; l < part.size.k; l += step) {
        step(tl, part, block, sums, l, Math.min(step, part.size.k - l));
      }
      for (int i = 0; i < places.size(); i++) {
        tl.store(places.get(i), sums.get(i).cast(part.c.dtype()));
      }
    }
  }

  private void step(Tl tl, Part part, Block block, List<Value> sums, int l, int depth) {
    List<Value> lefts = new ArrayList<>();
    for (int i = 0; i < block.rows; i += tileM) {
      int rows = Math.min(tileM, block.rows - i);
      lefts.add(part.a.load(tl, part.aRow + block.row + i, rows, part.aColumn + l, depth));
    }
    int across = Math.ceilDiv(block.columns, tileN);
    for (int j = 0; j < across; j++) {
      int columns = Math.min(tileN, block.columns - j * tileN);
      int column = block.column + j * tileN;
      Value right = part.b.load(tl, part.bRow + l, depth, column, columns);
      for (int i = 0; i < lefts.size(); i++) {
        int at = i * across + j;
        sums.set(at, tl.dotInPlace(sums.get(at), lefts.get(i), right));
      }
      tl.release(right);
    }
    lefts.forEach(tl::release);
  }
}
