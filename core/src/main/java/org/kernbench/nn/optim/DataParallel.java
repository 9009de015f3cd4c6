package org.kernbench.nn.optim;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import org.kernbench.device.Mode;
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Recipe;
import org.kernbench.nn.autograd.TwoModuleRecipe;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.WorkCount;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.tensor.DType;
import org.kernbench.tl.Value;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;

/**
 * Sums gradients over the data- and context-parallel ranks in buckets, while the backward pass goes
 * on ({@code DistributedDataParallel} of Megatron-LM), and divides the optimizer over these ranks
 * if asked to ({@code DistributedOptimizer}, the first stage of ZeRO).
 *
 * <p>Gradients of a bucket lie one behind the other in one tensor, last parameter first, as the
 * backward pass finds them. When all of a bucket are complete, its sum is handed to the device: an
 * all-reduce, or with a divided optimizer a reduce-scatter after which each rank has the sum of its
 * part only. Then each rank's optimizer changes its part of the weights, and {@link #gather} brings
 * the parts together. Gradients and parameters can be divided as well ({@link Zero}); how parts of
 * these come and go {@link Bucket} and {@link Units} know. It takes the place of {@link
 * GradientSync#sum}, and gives the same sums up to the order of adding.
 *
 * {@snippet :
 * DataParallel data = new DataParallel(torch, layout, model.parameters(), DataParallel.DEFAULT);
 * Optimizer optimizer = new AdamW(torch, data.owned(), AdamW.Settings.of(1e-3));
 * data.zeroGrad();
 * data.backward(graph, loss); // of the last microbatch; of earlier ones graph.backward(loss)
 * data.divideByTokens(tokens);
 * data.clip(1);
 * optimizer.step();
 * data.gather();
 * }
 */
public final class DataParallel {
  /** Buckets of 4 MiB, summed beside the backward pass; whole optimizer on every rank. */
  public static final Options DEFAULT = new Options(4 << 20, true, Zero.NONE, Optional.empty());

  private static final int FILLED = 256;

  private final Torch torch;
  private final ParallelLayout layout;
  private final Options options;
  private final GradientSync sync;
  private final Compute compute;
  private final List<Parameter> parameters;
  private final List<Bucket> buckets = new ArrayList<>();
  private final Map<Parameter, Bucket> bucketOf = new IdentityHashMap<>();
  private final List<Parameter> owned = new ArrayList<>();
  private final Deque<Tensor> freedGradients = new ArrayDeque<>();
  private final Units units;
  private final Recipe recipe;
  private int summed;

  /**
   * How gradients are summed.
   *
   * @param bucketBytes least size of a bucket's gradients, except of the last; more than 0
   * @param overlap whether a bucket is summed as soon as its gradients are complete, or all after
   *     the backward pass
   * @param zero what the ranks divide
   * @param gradType in which gradients add up and are summed; empty for that of {@link
   *     Parameter#masterType}
   */
  public record Options(long bucketBytes, boolean overlap, Zero zero, Optional<DType> gradType) {
    /** Gradients of masters' type. */
    public Options(long bucketBytes, boolean overlap, Zero zero) {
      this(bucketBytes, overlap, zero, Optional.empty());
    }

    /** Checks the size. */
    public Options {
      if (bucketBytes < 1) {
        throw new IllegalArgumentException(
            "buckets of " + bucketBytes + " bytes; expected 1 or more");
      }
    }

    /** A copy with other buckets. */
    public Options withBucketBytes(long bytes) {
      return new Options(bytes, overlap, zero, gradType);
    }

    /** A copy that sums beside the backward pass, or after it. */
    public Options withOverlap(boolean beside) {
      return new Options(bucketBytes, beside, zero, gradType);
    }

    /** A copy with a divided optimizer and nothing else divided, or without. */
    public Options withDistributedOptimizer(boolean divided) {
      return with(divided ? Zero.OPTIMIZER : Zero.NONE);
    }

    /** A copy that divides other things. */
    public Options with(Zero other) {
      return new Options(bucketBytes, overlap, other, gradType);
    }

    /**
     * A copy whose gradients add up and are summed in a type ({@code --grad-reduce-in-bf16} of
     * Megatron-LM for {@code BF16}): half the bytes in memory and on links for its rounding.
     */
    public Options withGradType(DType type) {
      return new Options(bucketBytes, overlap, zero, Optional.of(type));
    }

    /** Whether each rank keeps masters and states of its part of the weights only. */
    public boolean distributedOptimizer() {
      return Zero.OPTIMIZER.isPartOf(zero);
    }
  }

  /**
   * Takes over where gradients of parameters lie, and with a divided optimizer where their values
   * do, for as long as they live. Weights must have been loaded, and all gradients be forgotten.
   *
   * @param parameters of the model; those frozen now are left alone
   */
  public DataParallel(
      Torch torch, ParallelLayout layout, List<Parameter> parameters, Options options) {
    this(torch, layout, parameters, options, Recipe.STANDARD);
  }

  /** For a model of one module that is trained with a mistake, to see it found. */
  public DataParallel(
      Torch torch,
      ParallelLayout layout,
      List<Parameter> parameters,
      Options options,
      Fault fault) {
    this(torch, layout, parameters, options, TwoModuleRecipe.of(layout, fault));
  }

  public DataParallel(
      Torch torch,
      ParallelLayout layout,
      List<Parameter> parameters,
      Options options,
      Recipe recipe) {
    this.torch = torch;
    this.layout = layout;
    this.options = options;
    this.sync = new GradientSync(torch, layout, recipe);
    this.compute = new Compute(torch, t -> t);
    this.recipe = recipe;
    this.units = new Units(torch, options.overlap);
    this.parameters = parameters.stream().filter(p -> !p.isFrozen()).toList();
    options.gradType.ifPresent(type -> this.parameters.forEach(p -> p.addUpIn(type)));
    Map<List<Object>, List<Parameter>> alike = new LinkedHashMap<>();
    for (Parameter p : this.parameters.reversed()) {
      List<ProcessGroup> groups = recipe.gradientGroups(p, layout);
      alike.computeIfAbsent(List.of(p.dtype(), groups), key -> new ArrayList<>()).add(p);
    }
    // few parameters are summed over two groups; the first layer's are among them, so they end last
    alike.entrySet().stream()
        .sorted((a, b) -> Integer.compare(groups(a.getKey()).size(), groups(b.getKey()).size()))
        .forEach(e -> fill(e.getValue(), groups(e.getKey())));
    gatherByUnits();
  }

  /** Buckets with parts of one unit are gathered and freed together. */
  private void gatherByUnits() {
    Map<String, List<Bucket>> byUnit = new LinkedHashMap<>();
    for (Parameter p : parameters) {
      List<Bucket> unit = byUnit.computeIfAbsent(unit(p), u -> new ArrayList<>());
      Bucket bucket = bucketOf.get(p);
      if (bucket != null && bucket.dividesValues() && !unit.contains(bucket)) {
        unit.add(bucket);
      }
    }
    byUnit.values().forEach(units::add);
  }

  private String unit(Parameter p) {
    return Units.of(p, parameters);
  }

  @SuppressWarnings("unchecked")
  private static List<ProcessGroup> groups(List<Object> key) {
    return (List<ProcessGroup>) key.get(1);
  }

  private void fill(List<Parameter> alike, List<ProcessGroup> groups) {
    List<Parameter> members = new ArrayList<>();
    long bytes = 0;
    for (Parameter p : alike) {
      members.add(p);
      bytes += p.shape().elements() * p.gradType().sizeBytes();
      if (isFull(bytes, p, alike) || isApart(groups)) {
        Bucket bucket =
            new Bucket(
                torch, compute, buckets.size(), members, groups, options.zero, freedGradients);
        members.forEach(member -> bucketOf.put(member, bucket));
        buckets.add(bucket);
        members = new ArrayList<>();
        bytes = 0;
      }
    }
  }

  /** Whether a bucket ends with a parameter: of divided parameters, when its unit does. */
  private boolean isFull(long bytes, Parameter p, List<Parameter> alike) {
    int next = alike.indexOf(p) + 1;
    if (next == alike.size()) {
      return true;
    }
    return options.zero == Zero.PARAMETERS
        ? !unit(p).equals(unit(alike.get(next)))
        : bytes >= options.bucketBytes;
  }

  /** On many PEs, gradients that nobody else has lie as their parameters do. */
  private boolean isApart(List<ProcessGroup> groups) {
    return Compute.isSpread(torch) && groups.stream().allMatch(group -> group.size() == 1);
  }

  /**
   * As many elements as can be cut into equal parts, and of long vectors these into equal blocks,
   * whose number is a power of two: less than an element for each part more, or one in 256.
   *
   * @param elements of a bucket, at least 1
   * @param parts one for each rank that sums and each of its PEs
   */
  public static long filledUp(long elements, long parts) {
    long unit = parts * Math.max(1, Long.highestOneBit(elements / parts / FILLED));
    return Math.ceilDiv(elements, unit) * unit;
  }

  /**
   * What this rank's optimizer is to change: the parameters, or with a divided optimizer the parts
   * of them that are its own, which have other shapes and no gradient before {@link #sum}.
   */
  public List<Parameter> owned() {
    if (owned.isEmpty()) {
      for (Bucket b : buckets) {
        owned.addAll(b.owned());
      }
    }
    return Collections.unmodifiableList(owned);
  }

  /** The parameters whose gradients are summed here. */
  public List<Parameter> parameters() {
    return parameters;
  }

  /** The ranks over which the model is divided. */
  public ParallelLayout layout() {
    return layout;
  }

  /** How parameters are divided, the same on all ranks; empty without a divided optimizer. */
  public List<Division> divisions() {
    return buckets.stream().flatMap(b -> b.divisions().stream()).toList();
  }

  /** Forgets all gradients; a step begins. */
  public void zeroGrad() {
    summed = 0;
    buckets.forEach(Bucket::zeroGrad);
  }

  /**
   * {@link Graph#backward(Variable)} of the last microbatch of a step, which completes gradients.
   * All ranks call it.
   */
  public void backward(Graph graph, Variable loss) {
    backward(graph, loss, graph.one(loss));
  }

  /** As {@link Graph#backward(Variable, Tensor)}, from a gradient of the result. */
  public void backward(Graph graph, Variable result, Tensor grad) {
    if (summed > 0) {
      throw new IllegalStateException(
          """
          gradients have been summed already; call zeroGrad() first, and backward() of this \
          class once for each step\
          """);
    }
    if (options.overlap) {
      graph.backward(result, grad, this::complete);
    } else {
      graph.backward(result, grad);
    }
    sum();
  }

  /** Buckets are summed in their order, which is the same on all ranks. */
  private void complete(Parameter p) {
    Bucket bucket = bucketOf.get(p);
    if (bucket != null) {
      bucket.complete();
      while (summed < buckets.size() && buckets.get(summed).isComplete()) {
        buckets.get(summed++).sum();
      }
    }
  }

  /**
   * Sums what a microbatch has added that is not the last, and frees it, if ranks keep their parts
   * of gradients only; else it adds up, and this does nothing. All ranks call it.
   */
  public void sumMicrobatch() {
    buckets.forEach(Bucket::sumIfDivided);
  }

  /** Sums what is not summed yet; {@link #backward} does it, too. All ranks call it. */
  public void sum() {
    // without overlap the first layer's gradients come first, which are complete last: so all
    // sums follow the whole backward pass
    List<Bucket> rest = buckets.subList(summed, buckets.size());
    (options.overlap ? rest : rest.reversed()).forEach(Bucket::sum);
    summed = buckets.size();
    units.end(recipe.freesGathered());
  }

  /** What has been launched so far to divide, clip and gather gradients, by name. */
  public Map<String, WorkCount> work() {
    Map<String, WorkCount> all = new TreeMap<>(sync.work());
    WorkCount.add(compute.work(), all);
    return all;
  }

  /** As {@link GradientSync#divideByTokens}. */
  public void divideByTokens(int ownTokens) {
    sync.divideByTokens(owned(), ownTokens, parameters.getFirst().masterType());
  }

  /**
   * As {@link GradientSync#divideByTokens}, and by the factor that a {@link LossScaler} multiplied
   * the loss by.
   */
  public void divideByTokens(int ownTokens, LossScaler scaler) {
    sync.divideByTokens(owned(), ownTokens, parameters.getFirst().masterType(), scaler.scale());
  }

  /**
   * Whether no gradient of any rank is infinite or NaN: all ranks get the same answer, and the host
   * waits for it. Without values they pass for finite. All ranks call it.
   */
  public boolean areFinite() {
    try (GradientSync.Scratch scratch = new GradientSync.Scratch(torch)) {
      Tensor unfinite = total(scratch.compute, "overflow", GradientSync::isUnfinite);
      torch.await(unfinite);
      return torch.simulator().mode() == Mode.TIME || unfinite.get(0) == 0;
    }
  }

  /** As {@link GradientSync#clip}. */
  public void clip(double most) {
    clipAndKeepNorm(most).close();
  }

  /**
   * As {@link #clip}, with the norm.
   *
   * @return the square of the norm that the gradients had, {@code [1]}; the caller closes it
   */
  public Tensor clipAndKeepNorm(double most) {
    return sync.clip(owned(), most, parts(), parameters.getFirst().masterType());
  }

  private Optional<ProcessGroup> parts() {
    return buckets.stream().anyMatch(Bucket::isDivided)
        ? Optional.of(layout.dpCp())
        : Optional.empty();
  }

  /** As {@link GradientSync#total}, of the gradients that {@link #owned} parameters have. */
  Tensor total(Compute by, String name, UnaryOperator<Value> of) {
    return sync.total(by, owned(), parts(), parameters.getFirst().masterType(), name, of);
  }

  /** {@link #backward} of several models whose parameters one loss depends on. */
  public static void backward(Graph graph, Variable loss, List<DataParallel> models) {
    graph.backward(
        loss, graph.one(loss), p -> models.forEach(model -> model.completeIfOverlapping(p)));
    models.forEach(DataParallel::sum);
  }

  private void completeIfOverlapping(Parameter p) {
    if (options.overlap) {
      complete(p);
    }
  }

  /**
   * Brings the changed parts of the weights together; does nothing if they are whole, or gathered
   * when they are used.
   */
  public void gather() {
    // in the order in which the forward pass needs them
    buckets.reversed().forEach(Bucket::gatherChanged);
  }
}
