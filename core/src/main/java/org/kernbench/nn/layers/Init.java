package org.kernbench.nn.layers;

import org.kernbench.device.Mode;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Parameter.Sharding;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;

/**
 * First values of parameters. A value depends on the seed, the parameter's name and its index in
 * the whole parameter, and on nothing else: every layout starts from the same model, and a rank
 * draws only what it keeps.
 */
public final class Init {
  private final Torch torch;
  private final DType dtype;
  private final long seed;
  private final double deviation;
  private final double spread;
  private final DType rounded;

  /**
   * Values for the parameters of a rank.
   *
   * @param dtype of the parameters
   * @param deviation standard deviation of {@link #normal}
   */
  public Init(Torch torch, DType dtype, long seed, double deviation) {
    this(torch, dtype, seed, deviation, 0, DType.F64);
  }

  private Init(
      Torch torch, DType dtype, long seed, double deviation, double spread, DType rounded) {
    this.torch = torch;
    this.dtype = dtype;
    this.seed = seed;
    this.deviation = deviation;
    this.spread = spread;
    this.rounded = rounded;
  }

  /**
   * A copy whose constants are spread around their value by the same deviation, so that no two
   * elements are alike and a bias in the wrong place shows.
   */
  public Init withSpread() {
    return new Init(torch, dtype, seed, deviation, deviation, rounded);
  }

  /** A copy whose values are rounded to another type first, to start where a run in it does. */
  public Init roundedTo(DType other) {
    return new Init(torch, dtype, seed, deviation, spread, other);
  }

  /** Type of the parameters. */
  public DType dtype() {
    return dtype;
  }

  /** Normal random values of mean 0. */
  public Parameter normal(String name, Shape whole, Sharding sharding, ProcessGroup tp) {
    long stream = mix(seed ^ hash(name));
    return make(name, whole, sharding, tp, index -> deviation * gaussian(stream, index));
  }

  /** A constant, all of it on every rank. */
  public Parameter constant(String name, int elements, double value, Sharding sharding) {
    return make(name, Shape.of(elements), sharding, null, around(name, value));
  }

  /** A constant, cut as {@code sharding} says. */
  public Parameter constant(
      String name, int elements, double value, Sharding sharding, ProcessGroup tp) {
    return make(name, Shape.of(elements), sharding, tp, around(name, value));
  }

  /**
   * A constant that no gradient changes, all of it on every rank, in the type in which optimizers
   * keep parameters.
   */
  public Parameter buffer(String name, int elements, double value) {
    Init precise = new Init(torch, Compute.working(dtype), seed, deviation, spread, rounded);
    Parameter made = precise.constant(name, elements, value, Sharding.REPLICATED);
    return Parameter.buffer(made.name(), made.value());
  }

  private Values around(String name, double value) {
    long stream = mix(seed ^ hash(name));
    return spread == 0 ? index -> value : index -> value + spread * gaussian(stream, index);
  }

  private interface Values {
    double at(long index);
  }

  private Parameter make(
      String name,
      Shape whole,
      Sharding sharding,
      @org.jspecify.annotations.Nullable ProcessGroup tp,
      Values values) {
    if (sharding.axis().isEmpty() || tp == null) {
      return new Parameter(name, tensor(name, whole, values, whole.elements(), 1, 0), sharding);
    }
    int axis = sharding.axis().getAsInt();
    int ranks = tp.size();
    int multiple = ranks * sharding.stride();
    if (whole.dim(axis) % multiple != 0) {
      throw new ShapeException(
          """
          parameter %s: axis %s of %s cannot be cut into %s equal parts over %s; expected a \
          multiple of %s\
          """
              .formatted(name, axis, whole, multiple, tp, multiple));
    }
    Shape part = whole.with(axis, whole.dim(axis) / ranks);
    long run = whole.dim(axis) / multiple * whole.inner(axis);
    return new Parameter(name, tensor(name, part, values, run, ranks, tp.rank()), sharding);
  }

  /**
   * A rank's part of the whole, in which the ranks have runs of elements in turn.
   *
   * @param run elements of a run
   */
  private Tensor tensor(String name, Shape part, Values values, long run, int ranks, int rank) {
    if (torch.simulator().mode() == Mode.TIME) {
      return Compute.parameter(torch, name, part, dtype);
    }
    double[] data = new double[Math.toIntExact(part.elements())];
    for (int i = 0; i < data.length; i++) {
      double value = values.at((i / run * ranks + rank) * run + i % run);
      data[i] = rounded == DType.F64 ? value : rounded.round(value);
    }
    return Compute.parameter(torch, name, part, dtype).copyInPlace(data);
  }

  // ---- random numbers by counter ----

  private static long hash(String name) {
    long h = 0xCBF29CE484222325L;
    for (int i = 0; i < name.length(); i++) {
      h = (h ^ name.charAt(i)) * 0x100000001B3L; // FNV-1a
    }
    return h;
  }

  /** The finaliser of SplitMix64 (Steele, Lea and Flood 2014). */
  private static long mix(long z) {
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  private static double uniform(long stream, long index) {
    return ((mix(stream + index * 0x9E3779B97F4A7C15L) >>> 11) + 0.5) * 0x1p-53;
  }

  /** Box and Muller's transform of two uniform numbers. */
  private static double gaussian(long stream, long index) {
    double radius = Math.sqrt(-2 * StrictMath.log(uniform(stream, 2 * index)));
    return radius * StrictMath.cos(2 * Math.PI * uniform(stream, 2 * index + 1));
  }
}
