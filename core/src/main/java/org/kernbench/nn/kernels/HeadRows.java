package org.kernbench.nn.kernels;

import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Dependent;
import org.kernbench.tl.Scope;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Slice;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.placement.Mesh;

/**
 * The rows of each head of a tensor {@code [rows, batch, heads x size]}: where they lie, or copied
 * head by head, {@code [batch x heads, rows, size]}.
 *
 * <p>A row of the sequence lies on one PE, so 128 rows of a head lie on many, a little on each. Of
 * what is read again and again each column of cubes gets a copy of its heads, by rows over the PEs
 * of every cube: there a tile lies on one PE or two, near its readers.
 */
public final class HeadRows implements Dependent, AutoCloseable {
  private final Tensor tensor;
  private final @Nullable Copies copies;

  /** Whether the rows of a head are neighbours in the tensor. */
  private final boolean byHead;

  private final int rows;
  private final int batch;
  private final int heads;
  private final int size;

  private HeadRows(
      Tensor tensor,
      @Nullable Copies copies,
      boolean byHead,
      int rows,
      int batch,
      int heads,
      int size) {
    this.tensor = tensor;
    this.copies = copies;
    this.byHead = byHead;
    this.rows = rows;
    this.batch = batch;
    this.heads = heads;
    this.size = size;
  }

  /**
   * Where they lie.
   *
   * @param size elements of a head in a row
   */
  public static HeadRows of(Tensor tensor, int rows, int batch, int heads, int size) {
    return new HeadRows(tensor, null, false, rows, batch, heads, size);
  }

  /** One number of each row and head, {@code [batch x heads, rows]}. */
  public static HeadRows numbers(Tensor tensor, int rows, int batch, int heads) {
    return new HeadRows(tensor, null, true, rows, batch, heads, 1);
  }

  /**
   * Copied, if there is more than one PE.
   *
   * @param resident whether they have been there for long: they are copied beside the kernels
   *     before, as those are that were there before a long one
   */
  public HeadRows gathered(Compute compute, String name, boolean resident) {
    if (compute.places() == 1 || rows == 0) {
      return this;
    }
    boolean beside = resident || compute.isSettled(tensor);
    Shape shape = Shape.of(batch * heads, rows, size);
    Copies made = new Copies(compute, name, shape, tensor.dtype(), 0);
    made.make(
        name,
        List.of(tensor),
        beside,
        (tl, to, from, count) -> fetch(compute, tl, to, from, count, new Pace(tl, beside)));
    return new HeadRows(tensor, made, true, rows, batch, heads, size);
  }

  private void fetch(Compute compute, Tl tl, Tensor to, int from, int elements, Pace pace) {
    int block = Math.max(1, compute.blockBytes() / (size * tensor.dtype().sizeBytes()));
    int end = (from + elements) / size;
    Shard all = tl.whole(to).as(batch * heads * rows, size);
    for (int at = from / size, count; at < end; at += count) {
      int row = at % rows;
      count = Math.min(Math.min(block, end - at), rows - row);
      try (Scope one = tl.scope()) {
        Value moved = pace.loaded(tl.load(source(tl, at / rows, row, count)));
        tl.store(all.block(at, count, 0, size), moved);
      }
    }
  }

  private Slice source(Tl tl, int head, int row, int count) {
    return tl.whole(tensor).as(rows, batch * heads * size).block(row, count, head * size, size);
  }

  @Override
  public List<Object> dependsOn() {
    return List.of(copies == null ? tensor : copies, byHead, rows, batch, heads, size);
  }

  public DType dtype() {
    return tensor.dtype();
  }

  /** Bytes of all copies but one. */
  public long surplusBytes() {
    return copies == null ? 0 : copies.all().sizeBytes() - tensor.sizeBytes();
  }

  /** What to pass to kernels that read them. */
  public List<Tensor> tensors() {
    return copies == null ? List.of(tensor) : copies.tensors();
  }

  /** {@code [count, size]} of a sample's head. */
  public Slice block(Tl tl, int sample, int head, int row, int count) {
    int of = sample * heads + head;
    return byHead
        ? tl.whole(copies == null ? tensor : copies.near(tl))
            .as(batch * heads * rows, size)
            .block(of * rows + row, count, 0, size)
        : source(tl, of, row, count);
  }

  /** Leaves copies to the owner of what is made in the graph. */
  public void leaveTo(Compute compute) {
    if (copies != null) {
      compute.own(copies.all());
    }
  }

  /** Gives copies back when nobody reads them any more. */
  @Override
  public void close() {
    if (copies != null) {
      copies.close();
    }
  }

  // ---- who works on which tiles ----

  /** One tile of one head of one sample. */
  public interface Visit {
    void tile(int sample, int head, int row, int count);
  }

  /**
   * The tiles of one place. Columns of cubes divide the heads, as the copies are divided; the PEs
   * of a column the tiles of these. Later rows see more keys (earlier keys are seen by more rows),
   * so tiles are dealt there and back: who has a long one has a short one, too. Each row of cubes
   * begins with another round, for the rows of a round lie in few cubes, whose links all would want
   * at once.
   */
  public static void deal(
      Mesh mesh, int place, int samples, int headCount, int rows, int tile, Visit visit) {
    int pes = mesh.axes().get(2).size();
    int columns = Math.min(mesh.axes().get(1).size(), samples * headCount);
    int column = place / pes % mesh.axes().get(1).size();
    if (column >= columns) {
      return;
    }
    int all = samples * headCount;
    int first = column * (all / columns) + Math.min(column, all % columns);
    int mine = all / columns + (column < all % columns ? 1 : 0);
    int places = mesh.axes().get(0).size() * pes;
    int own = place / (pes * mesh.axes().get(1).size()) * pes + place % pes;
    int units = mine * Math.ceilDiv(rows, tile);
    int rounds = Math.ceilDiv(units, places);
    for (int i = 0; i < rounds; i++) {
      int round = (i + own / pes) % rounds;
      int unit = round * places + (round % 2 == 0 ? own : places - 1 - own);
      if (unit < units) {
        int head = first + unit % mine;
        int row = unit / mine * tile;
        visit.tile(head / headCount, head % headCount, row, Math.min(tile, rows - row));
      }
    }
  }
}
