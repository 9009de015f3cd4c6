package org.kernbench.eval.benches;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.DoubleSupplier;
import java.util.function.Supplier;
import org.kernbench.config.UsageException;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.eval.training.OperationRows;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.placement.RankLevel;

/**
 * What benches do on all PEs of one device as a rank of a training run does it: tensors lie where
 * those of models lie, and the plans of room {@code nn} divide the work, with the copies of
 * operands that they ask for.
 */
final class ModelBed implements AutoCloseable {
  /** Which device it is, for benches that can divide their work over its PEs by hand, too. */
  static final Param<KernelBed.Over> OVER =
      Param.choice(
          "over",
          KernelBed.Over.CUBE,
          List.of(KernelBed.Over.CUBE, KernelBed.Over.PACKAGE),
          "PEs of a cube, or of the package");

  private final KernelBed bed;
  private final Torch torch;
  private final Graph graph;
  private final List<Launch> launches = new ArrayList<>();

  private ModelBed(KernelBed bed) {
    this.bed = bed;
    this.torch = bed.torch();
    this.graph = Graph.of(torch);
    graph.tellLaunches(launches::add);
  }

  /**
   * A bed on the chosen package, or its first cube.
   *
   * @throws UsageException if the PEs that take part are no device
   */
  static ModelBed open(BenchContext context, KernelBed.Over over) {
    RankLevel level =
        switch (over) {
          case CUBE -> RankLevel.CUBE;
          case PACKAGE -> RankLevel.SIP;
          case CUBES, PACKAGES ->
              throw new UsageException(
                  """
                  --param over=%s: expected cube or package where a product is divided as \
                  models divide it (split=device), on all PEs of one device\
                  """
                      .formatted(Param.word(over)));
        };
    return new ModelBed(KernelBed.open(context, level));
  }

  KernelBed bed() {
    return bed;
  }

  Graph graph() {
    return graph;
  }

  /** How many PEs the device has. */
  int pes() {
    return torch.mesh().size();
  }

  @Override
  public void close() {
    graph.close();
    bed.close();
  }

  /** An activation, whose gradient nobody wants: its rows lie on all PEs. */
  Variable activation(String name, DType d, HostValues values, int... dims) {
    return graph.constant(Compute.spread(torch, name, shape(name, dims), d, values::get));
  }

  /** A weight, which lies as those of models do. */
  Parameter weight(String name, DType d, HostValues values, int... dims) {
    Tensor tensor = Compute.parameter(torch, name, shape(name, dims), d);
    return new Parameter(name, filled(tensor, values), Parameter.Sharding.REPLICATED);
  }

  /** The shape of a tensor whose elements a device can count. */
  private static Shape shape(String name, int... dims) {
    Shape shape = Shape.of(dims);
    if (shape.elements() > Integer.MAX_VALUE) {
      throw new UsageException(
          String.format(
              Locale.ROOT,
              "split=device: tensor %s is %s, %,d elements; expected at most %,d on one device",
              name,
              shape,
              shape.elements(),
              Integer.MAX_VALUE));
    }
    return shape;
  }

  private Tensor filled(Tensor tensor, HostValues values) {
    return torch.simulator().mode() == Mode.TIME ? tensor : tensor.copyInPlace(values.get());
  }

  /** Compares with what it should hold. */
  void check(Tensor t, HostValues expected, DoubleSupplier bound) {
    bed.check(t, expected, bound);
  }

  /**
   * Compares a product.
   *
   * @param d type that it is rounded to
   * @param k how many products each element is the sum of
   */
  void check(Tensor t, DType d, int k, Supplier<double[]> exact) {
    HostValues want = bed.values(exact);
    bed.check(t, want, () -> KernelBed.productBound(d, k, want.get()));
  }

  /**
   * What all launches took, and a row for each kind of them.
   *
   * @param flops of all products
   * @param bytes that are read or written at least
   */
  Outcome outcome(double flops, double bytes) {
    torch.synchronize();
    int pes = pes();
    Outcome outcome = bed.outcome(launches, new KernelBed.Work(flops / pes, bytes / pes));
    int sip = torch.mesh().pes().getFirst().sip();
    if (outcome.critPs() >= 0) {
      new OperationRows(
              bed.machine,
              bed.log(),
              pe -> pe.sip() == sip,
              pes,
              outcome.critPs(),
              graph.compute().work())
          .rows()
          .forEach(outcome::row);
    }
    return outcome.condition("pes", pes);
  }
}
