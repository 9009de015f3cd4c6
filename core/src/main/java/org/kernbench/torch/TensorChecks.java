package org.kernbench.torch;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.Device;
import org.kernbench.torch.placement.ShardSpec;

/** What tensors must be like to take part in a collective. */
final class TensorChecks {
  private TensorChecks() {}

  /** That a tensor is there, and where the rank is. */
  static void check(TensorHost host, Device device, String method, int rank, Tensor tensor) {
    tensor.checkUsable(method);
    if (!tensor.belongsTo(host)) {
      throw error(method, rank, tensor, ", which belongs to another Torch");
    }
    Set<Pe> holders = new HashSet<>();
    for (ShardSpec spec : tensor.shardSpecs()) {
      if (!holders.add(spec.place())) {
        throw error(
            method,
            rank,
            tensor,
            """
            : it has several shards at %s; expected one on each PE: take a view of it as a \
            matrix of rows\
            """
                .formatted(spec.place()));
      }
      if (!Lane.isOn(spec, device)) {
        throw error(
            method,
            rank,
            tensor,
            """
            : it lies at %s; expected %s, on the rank's own device: make it there, or set \
            the device back\
            """
                .formatted(spec.place(), device.lead()));
      }
    }
    if (tensor.shape().elements() > Integer.MAX_VALUE) {
      throw error(method, rank, tensor, ": more than 2^31 - 1 elements; divide the call");
    }
  }

  static void checkReduce(String method, int rank, Tensor tensor, ReduceKind reduce) {
    if (!reduce.combine().supports(tensor.dtype())) {
      throw error(
          method,
          rank,
          tensor,
          ": " + reduce + " is not defined on " + tensor.dtype() + "; cast the tensor");
    }
    if (reduce == ReduceKind.AVG && !tensor.dtype().isFloatingPoint()) {
      throw error(
          method,
          rank,
          tensor,
          ": AVG of " + tensor.dtype() + "; expected a floating-point type, or use SUM");
    }
  }

  private static SimulationException error(String method, int rank, Tensor tensor, String problem) {
    return new SimulationException(
        "rank " + rank + ": " + method + " of tensor " + tensor.name() + problem);
  }

  /** That input and output differ in the first axis at most. */
  static void checkRows(Members group, String method, int rank, Tensor in, Tensor out) {
    Shape a = in.shape();
    Shape b = out.shape();
    boolean alike = a.rank() == b.rank();
    for (int axis = 1; alike && axis < a.rank(); axis++) {
      alike = a.dim(axis) == b.dim(axis);
    }
    if (!alike) {
      throw group.error(
          method,
          rank,
          """
          input %s has shape %s, output %s has %s; expected shapes that differ in the \
          first axis only\
          """
              .formatted(in.name(), a, out.name(), b));
    }
  }

  static void checkRank(Members group, String method, int rank, Tensor tensor) {
    if (tensor.shape().rank() == 0) {
      throw group.error(
          method, rank, "tensor " + tensor.name() + " is a scalar, which has no rows to divide");
    }
  }

  /**
   * That a tensor is spread as the call's other one is, and that its first axis is whole where the
   * call cuts it.
   */
  static void checkLanes(
      Members group,
      String method,
      int rank,
      Tensor tensor,
      Tensor alike,
      boolean cuts,
      Device device) {
    List<ShardSpec> specs = tensor.shardSpecs();
    if (specs.size() > 1 && cuts) {
      for (ShardSpec spec : specs) {
        if (spec.shape().dim(0) != tensor.shape().dim(0)) {
          throw group.error(
              method,
              rank,
              """
              tensor %s is spread along its first axis, which %s cuts; place it on one PE, \
              replicate it, or spread another axis\
              """
                  .formatted(tensor.name(), method));
        }
      }
    }
    if (tensor != alike && !lanes(tensor, device).equals(lanes(alike, device))) {
      throw group.error(
          method,
          rank,
          "tensors %s and %s are placed differently; expected one placement"
              .formatted(tensor.name(), alike.name()));
    }
  }

  /**
   * Where a tensor's shards are on the device, and which they are; empty if it is one, at the lead.
   */
  static List<Operands.Place> places(Tensor tensor, Device device) {
    return places(tensor, device, false);
  }

  /** Where a tensor's shards are on the device, without the first axis. */
  static List<Operands.Place> lanes(Tensor tensor, Device device) {
    return places(tensor, device, true);
  }

  private static List<Operands.Place> places(Tensor tensor, Device device, boolean row) {
    List<ShardSpec> specs = tensor.shardSpecs();
    if (specs.size() == 1 && Lane.of(specs.getFirst(), device).equals(Lane.LEAD)) {
      return List.of();
    }
    List<Operands.Place> places = new ArrayList<>(specs.size());
    for (ShardSpec spec : specs) {
      Lane lane = Lane.of(spec, device);
      places.add(
          new Operands.Place(
              lane.cube(), lane.pe(), spec.offset(), row ? oneRow(spec.shape()) : spec.shape()));
    }
    return places;
  }

  /** A shape with one row. */
  static Shape oneRow(Shape shape) {
    int[] dims = shape.toArray();
    if (dims.length > 0) {
      dims[0] = 1;
    }
    return Shape.of(dims);
  }
}
