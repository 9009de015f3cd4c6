package org.kernbench.nn.autograd;

import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.KeptCopies;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.tensor.DType;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;

/**
 * A tensor that training changes. It outlives graphs, and its gradient adds up over them until
 * {@link #zeroGrad}: in f64 for f64, else in f32, whatever the type of the value, unless {@link
 * #addUpIn} says otherwise.
 */
public final class Parameter extends Variable {
  private final String name;
  private final Sharding sharding;
  private final @Nullable Parameter whole;
  private final boolean isBuffer;
  private boolean frozen;
  private DType gradType;
  private @Nullable Tensor mainGrad;
  private @Nullable Supplier<Tensor> gradHome;

  private final KeptCopies copies = new KeptCopies();

  /**
   * How the ranks of a tensor-parallel group share a parameter.
   *
   * @param axis along which the whole parameter is cut into equal parts, one per rank; empty if
   *     each rank has all of it
   * @param sequenceParallel a replicated parameter that each rank applies to its own rows of the
   *     sequence only, so that its gradient must be summed over the tensor-parallel group
   * @param stride projections that are fused along the axis: each is cut by itself, and a rank has
   *     its part of the first, then that of the second, and so on; 1 if it is a single one
   * @param ofExpert a parameter of one expert, which some ranks have: it is cut over the expert
   *     tensor-parallel group instead
   */
  public record Sharding(OptionalInt axis, boolean sequenceParallel, int stride, boolean ofExpert) {
    /** Every rank has all of it and computes the same gradient. */
    public static final Sharding REPLICATED = new Sharding(OptionalInt.empty(), false, 1, false);

    /** Every rank has all of it and computes the gradient of its rows of the sequence. */
    public static final Sharding SEQUENCE = new Sharding(OptionalInt.empty(), true, 1, false);

    /** Checks the stride. */
    public Sharding {
      if (stride < 1) {
        throw new IllegalArgumentException("stride " + stride + "; expected 1 or more");
      }
    }

    /** Cut along an axis. */
    public static Sharding along(int axis) {
      return along(axis, 1);
    }

    /** Cut along an axis, each of {@code stride} fused projections by itself. */
    public static Sharding along(int axis, int stride) {
      return new Sharding(OptionalInt.of(axis), false, stride, false);
    }

    /** Cut along an axis over the ranks that have a part of the same expert. */
    public static Sharding ofExpert(int axis) {
      return new Sharding(OptionalInt.of(axis), false, 1, true);
    }

    /** The ranks over which a parameter is cut, if it is. */
    public ProcessGroup over(ParallelLayout layout) {
      return ofExpert ? layout.experts().orElseThrow().etp() : layout.tp();
    }
  }

  /** A parameter; the tensor belongs to it from now on. */
  public Parameter(String name, Tensor value, Sharding sharding) {
    this(name, value, sharding, null, false);
  }

  private Parameter(
      String name, Tensor value, Sharding sharding, @Nullable Parameter whole, boolean isBuffer) {
    super(value.heldAs(Tensor.Purpose.PARAMETER), value.shape(), true);
    this.name = name;
    this.sharding = sharding;
    this.whole = whole;
    this.isBuffer = isBuffer;
    this.gradType = whole == null ? masterType() : whole.gradType;
  }

  /** A piece of this parameter that a rank's optimizer changes, in a shape of its own. */
  public Parameter piece(Tensor elements) {
    return new Parameter(name, elements, sharding, this, false);
  }

  /**
   * What belongs to a model like a parameter, all of it on every rank, but is changed by a rule and
   * not by gradients ({@code register_buffer} of PyTorch): always frozen.
   */
  public static Parameter buffer(String name, Tensor value) {
    return new Parameter(name, value, Sharding.REPLICATED, null, true);
  }

  /** What it is a {@link #piece} of, if it is one. */
  public Optional<Parameter> whole() {
    return Optional.ofNullable(whole);
  }

  /** Its path in the model, for example {@code layers.0.mlp.up.weight}. */
  @Override
  public String name() {
    return name;
  }

  /** How tensor-parallel ranks share it. */
  public Sharding sharding() {
    return sharding;
  }

  /** Whether it is frozen: no gradient is computed for it and no optimizer changes it. */
  public boolean isFrozen() {
    return frozen || isBuffer;
  }

  /** Freezes or thaws it; a {@link #buffer} stays frozen. */
  public void freeze(boolean freeze) {
    frozen = freeze;
  }

  /** Type in which gradients add up. */
  public DType gradType() {
    return gradType;
  }

  /** Type in which optimizers keep the parameter and what belongs to it, and norms are formed. */
  public DType masterType() {
    return dtype() == DType.F64 ? DType.F64 : DType.F32;
  }

  /**
   * Has gradients add up, and be summed over ranks, in another type from now on; a gradient that
   * there is is forgotten.
   */
  public void addUpIn(DType type) {
    zeroGrad();
    gradType = type;
  }

  /** The sum of the gradients since {@link #zeroGrad}; empty if there was none. */
  @Override
  public Optional<Tensor> grad() {
    return Optional.ofNullable(mainGrad);
  }

  @Override
  DType gradientType() {
    return gradType();
  }

  /** Copies that stay with it. */
  KeptCopies copies() {
    return copies;
  }

  void setMainGrad(Tensor sum) {
    mainGrad = sum.heldAs(Tensor.Purpose.GRADIENT);
  }

  /**
   * Where gradients add up from now on, instead of in a tensor of the parameter's own: asked at the
   * first one after {@link #zeroGrad}. It stays the caller's.
   */
  public void keepGradIn(Supplier<Tensor> home) {
    zeroGrad();
    gradHome = home;
  }

  /** Memory for the gradient, as the first one finds it: nothing that counts is written there. */
  public Tensor startGrad(Torch torch) {
    Tensor start =
        gradHome != null
            ? gradHome.get()
            : Compute.parameter(torch, name + ".grad", shape(), gradType());
    setMainGrad(start);
    return start;
  }

  /** Forgets the gradient. */
  public void zeroGrad() {
    if (mainGrad != null && gradHome == null) {
      mainGrad.close();
    }
    mainGrad = null;
  }
}
