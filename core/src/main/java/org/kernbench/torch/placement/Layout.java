package org.kernbench.torch.placement;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;
import org.kernbench.tensor.Shape;

/**
 * How a tensor lies on the PEs of a device: for each axis of a {@link Mesh}, what the places along
 * it have ({@code Placement}s of a {@code DTensor}). Axes are taken from the first on: each divides
 * what those before it have left.
 *
 * @param mesh the device's PEs, all of them
 * @param parts one for each axis of the mesh
 */
public record Layout(Mesh mesh, List<Part> parts) {
  /** What the places along one axis of a mesh have. */
  public sealed interface Part permits Shard, Rows, Replicate {}

  /**
   * A part each, along an axis of the tensor. With {@code n} indices over {@code k} places the
   * first {@code n mod k} places have one more than the others; with {@code n < k} some have none.
   *
   * @param dim axis of the tensor; negative counts from the last
   */
  public record Shard(int dim) implements Part {}

  /**
   * A part each of the rows: of all axes but the last taken together, or of the only one. A matrix
   * is cut as by {@code Shard(0)}; with more axes a part may begin anywhere, so that the same rows
   * lie at the same place in whatever shape they are counted.
   *
   * @param turn axes that cut rows do so in the order of their turns, those of one turn from the
   *     first axis on: {@code Rows(1), Rows(0)} cuts along the second axis first
   */
  public record Rows(int turn) implements Part {
    /** In the order of the axes. */
    public Rows() {
      this(0);
    }
  }

  /** All of it each. */
  public record Replicate() implements Part {}

  /** Checks the number of parts. */
  public Layout {
    parts = List.copyOf(parts);
    if (parts.size() != mesh.axes().size()) {
      throw new IllegalArgumentException(
          "layout with " + parts + " on mesh " + mesh + "; expected one part for each axis");
    }
  }

  /** One part for every axis of a mesh. */
  public static Layout all(Mesh mesh, Part part) {
    return new Layout(mesh, Collections.nCopies(mesh.axes().size(), part));
  }

  /**
   * Where which parts lie, in structural order. A part of rows may be several boxes, which follow
   * one another.
   *
   * @param name of the tensor, for messages
   * @throws SimulationException if the tensor has no such axis
   */
  public List<ShardSpec> resolve(String name, Shape shape) {
    Shape cut = cutsRows() ? asMatrix(shape) : shape;
    List<ShardSpec> shards = new ArrayList<>();
    List<Integer> turns = turns();
    for (int place = 0; place < mesh.size(); place++) {
      Pe pe = mesh.pe(place);
      for (Box box : boxes(shape, part(name, shape, cut, place, turns), cut)) {
        shards.add(box.at(pe.sip(), pe.cube(), pe.pe()));
      }
    }
    return List.copyOf(shards);
  }

  private boolean cutsRows() {
    return parts.stream().anyMatch(Rows.class::isInstance);
  }

  /** The axes in the order in which they cut. */
  private List<Integer> turns() {
    return IntStream.range(0, parts.size())
        .boxed()
        .sorted(Comparator.comparingInt(i -> parts.get(i) instanceof Rows rows ? rows.turn : 0))
        .toList();
  }

  private Box part(String name, Shape shape, Shape cut, int place, List<Integer> turns) {
    Box box = Box.all(cut);
    List<Integer> at = mesh.coordinate(place);
    for (int i : turns) {
      Mesh.Axis axis = mesh.axes().get(i);
      box =
          switch (parts.get(i)) {
            case Replicate all -> box;
            case Rows rows -> box.cut(0, at.get(i), axis.size());
            case Shard shard -> {
              int dim = dim(name, shape, shard, axis);
              yield box.cut(cut == shape ? dim : 1, at.get(i), axis.size());
            }
          };
    }
    return box;
  }

  /** The axis that a shard cuts; beside rows it must be the last. */
  private int dim(String name, Shape shape, Shard shard, Mesh.Axis axis) {
    int dim = shard.dim < 0 ? shard.dim + shape.rank() : shard.dim;
    if (dim < 0 || dim >= shape.rank()) {
      throw new SimulationException(
          "tensor %s of shape %s: Shard(%s) along %s cuts an axis that it does not have; expected %s"
              .formatted(
                  name,
                  shape,
                  shard.dim,
                  axis.name(),
                  shape.rank() == 0 ? "Replicate" : "at most " + (shape.rank() - 1)));
    }
    if (cutsRows() && (dim != shape.rank() - 1 || dim == 0)) {
      throw new SimulationException(
          "tensor %s of shape %s: Shard(%s) along %s beside Rows; expected the last of several axes"
              .formatted(name, shape, shard.dim, axis.name()));
    }
    return dim;
  }

  /** The tensor as rows of its last axis; a vector as rows of one element. */
  private static Shape asMatrix(Shape shape) {
    int rank = shape.rank();
    if (rank <= 1) {
      return Shape.of(Math.toIntExact(shape.elements()), 1);
    }
    return Shape.of(Math.toIntExact(shape.outer(rank - 1)), shape.dim(rank - 1));
  }

  /** A part of what was cut as boxes of the tensor; at least one, which may be empty. */
  private static List<Box> boxes(Shape shape, Box part, Shape cut) {
    if (cut == shape) {
      return List.of(part);
    }
    int rank = shape.rank();
    int rows = part.extent()[0];
    if (rank <= 1 || rows == 0) {
      Box run = Box.all(shape);
      return rank == 0
          ? rows == 0 ? List.of() : List.of(run)
          : List.of(new Box(first(run, part), leading(shape, rows)));
    }
    int[] dims = shape.toArray();
    dims[rank - 1] = 1;
    long start = part.offset()[0];
    List<Box> boxes = new ArrayList<>();
    for (Box box : Box.ofRun(Shape.of(dims), start, start + rows)) {
      box.offset()[rank - 1] = part.offset()[1];
      box.extent()[rank - 1] = part.extent()[1];
      boxes.add(box);
    }
    return boxes;
  }

  private static int[] first(Box run, Box part) {
    int[] offset = run.offset();
    offset[0] = run.extent().length == 1 ? part.offset()[0] : 0;
    return offset;
  }

  private static int[] leading(Shape shape, int rows) {
    int[] extent = shape.toArray();
    extent[0] = rows;
    return extent;
  }
}
