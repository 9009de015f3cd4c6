package org.kernbench.nn.optim;

import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.kernbench.nn.autograd.Compute;
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Recipe;
import org.kernbench.nn.autograd.RowCollectives;
import org.kernbench.nn.autograd.TwoModuleRecipe;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Value;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.collective.ReduceKind;

/**
 * Sums gradients over the data- and context-parallel ranks in buckets, while the backward pass goes
 * on ({@code DistributedDataParallel} of Megatron-LM), and divides the optimizer over these ranks
 * if asked to ({@code DistributedOptimizer}, the first stage of ZeRO).
 *
 * <p>Gradients of a bucket lie one behind the other in one tensor, last parameter first, as the
 * backward pass finds them. When all of a bucket are complete, its sum is handed to the device: an
 * all-reduce, or with a divided optimizer a reduce-scatter after which each rank has the sum of its
 * part only. Then each rank's optimizer changes its part of the weights, and {@link #gather} brings
 * the parts together. It takes the place of {@link GradientSync#sum}, and gives the same sums up to
 * the order of adding.
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
  public static final Options DEFAULT = new Options(4 << 20, true, false);

  // names of tensors, by which reports know what a collective is for
  static final String GRADIENTS = "gradients.";
  static final String PARAMETERS = "parameters.";
  static final String OWN = "own ";

  private final Torch torch;
  private final ParallelLayout layout;
  private final Options options;
  private final GradientSync sync;
  private final Compute compute;
  private final List<Parameter> parameters;
  private final List<Bucket> buckets = new ArrayList<>();
  private final Map<Parameter, Bucket> bucketOf = new IdentityHashMap<>();
  private final List<Division> divisions = new ArrayList<>();
  private final List<Parameter> owned = new ArrayList<>();
  private int summed;

  /**
   * How gradients are summed.
   *
   * @param bucketBytes least size of a bucket's gradients, except of the last; more than 0
   * @param overlap whether a bucket is summed as soon as its gradients are complete, or all after
   *     the backward pass
   * @param distributedOptimizer whether each rank keeps masters and states of its part of the
   *     weights only
   */
  public record Options(long bucketBytes, boolean overlap, boolean distributedOptimizer) {
    /** Checks the size. */
    public Options {
      if (bucketBytes < 1) {
        throw new IllegalArgumentException(
            "buckets of " + bucketBytes + " bytes; expected 1 or more");
      }
    }

    /** A copy with other buckets. */
    public Options withBucketBytes(long bytes) {
      return new Options(bytes, overlap, distributedOptimizer);
    }

    /** A copy that sums beside the backward pass, or after it. */
    public Options withOverlap(boolean beside) {
      return new Options(bucketBytes, beside, distributedOptimizer);
    }

    /** A copy with or without a divided optimizer. */
    public Options withDistributedOptimizer(boolean divided) {
      return new Options(bucketBytes, overlap, divided);
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

  /** The same of a model of one module that is trained with a mistake, to see it found. */
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
    this.parameters = parameters.stream().filter(p -> !p.isFrozen()).toList();
    Map<List<Object>, List<Parameter>> alike = new LinkedHashMap<>();
    for (Parameter p : this.parameters.reversed()) {
      List<ProcessGroup> groups = recipe.gradientGroups(p, layout);
      alike.computeIfAbsent(List.of(p.dtype(), groups), key -> new ArrayList<>()).add(p);
    }
    // few parameters are summed over two groups; the first layer's are among them, so they end last
    alike.entrySet().stream()
        .sorted((a, b) -> Integer.compare(groups(a.getKey()).size(), groups(b.getKey()).size()))
        .forEach(e -> fill(e.getValue(), groups(e.getKey())));
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
      if (bytes >= options.bucketBytes || p == alike.getLast() || isApart(groups)) {
        buckets.add(new Bucket(buckets.size(), members, groups));
        members = new ArrayList<>();
        bytes = 0;
      }
    }
  }

  /** On many PEs, gradients that nobody else has lie as their parameters do. */
  private boolean isApart(List<ProcessGroup> groups) {
    return Compute.isSpread(torch) && groups.stream().allMatch(group -> group.size() == 1);
  }

  /** Parameters that are summed together. */
  private final class Bucket {
    private final List<Parameter> members;
    private final List<ProcessGroup> groups;
    private final long[] starts;
    private final long each; // elements of each rank's part
    private final Tensor grads;
    private final @Nullable Tensor ownGrads;
    private final @Nullable Tensor values;
    private final List<Parameter> pieces = new ArrayList<>();
    private int missing;

    Bucket(int index, List<Parameter> members, List<ProcessGroup> groups) {
      this.members = members;
      this.groups = groups;
      this.missing = members.size();
      this.starts = new long[members.size()];
      long elements = 0;
      for (int i = 0; i < starts.length; i++) {
        starts[i] = elements;
        elements += members.get(i).shape().elements();
        bucketOf.put(members.get(i), this);
      }
      int ranks = divides() ? last().size() : 1;
      this.each = Math.ceilDiv(elements, ranks);
      Shape shape = Shape.of(Math.toIntExact(each * ranks));
      DType type = members.getFirst().gradType();
      // what fills the last part up is summed as well, so there must be something
      this.grads = home(GRADIENTS + index, shape, type).fillInPlace(0);
      for (int i = 0; i < starts.length; i++) {
        Parameter p = members.get(i);
        p.keepGradIn(grads.view(starts[i], p.shape(), p.name() + ".grad"));
      }
      if (!divides()) {
        this.ownGrads = null;
        this.values = null;
        return;
      }
      this.ownGrads =
          Compute.spread(torch, OWN + GRADIENTS + index, Shape.of(Math.toIntExact(each)), type);
      this.values =
          Compute.spread(torch, PARAMETERS + index, shape, members.getFirst().dtype())
              .fillInPlace(0);
      for (int i = 0; i < starts.length; i++) {
        Parameter p = members.get(i);
        Tensor before = p.value();
        Tensor view = values.view(starts[i], p.shape(), p.name());
        view.copyInPlace(before);
        before.close();
        p.moveTo(view);
        cut(p, starts[i]);
      }
    }

    /** A bucket of one matrix on many PEs lies as the matrix does, any other by its elements. */
    private Tensor home(String name, Shape flat, DType type) {
      Shape only = members.getFirst().shape();
      return Compute.isSpread(torch) && members.size() == 1 && !divides()
          ? Compute.parameter(torch, name, only, type)
          : Compute.spread(torch, name, flat, type);
    }

    private ProcessGroup last() {
      return groups.getLast();
    }

    private boolean divides() {
      return options.distributedOptimizer && last().size() > 1;
    }

    /** The part of a parameter that this rank's optimizer changes. */
    private void cut(Parameter p, long start) {
      Division division = new Division(p, start, each, last());
      divisions.add(division);
      int from = division.from(last().rank());
      int n = division.to(last().rank()) - from;
      if (n == 0 || values == null || ownGrads == null) {
        return;
      }
      // optimizers tell matrices from vectors by their rank
      Shape shape = p.shape().rank() > 1 ? Shape.of(1, n) : Shape.of(n);
      Parameter piece = p.piece(values.view(start + from, shape, p.name()));
      long at = start + from - last().rank() * each;
      piece.keepGradIn(ownGrads.view(at, shape, p.name() + ".grad"));
      pieces.add(piece);
    }

    /** Hands the sum to the device. */
    void sum() {
      for (Parameter p : members) {
        if (p.grad().isEmpty()) {
          compute.zero("no gradient", p.startGrad(torch));
        }
      }
      for (ProcessGroup group : groups) {
        if (group.size() > 1 && ownGrads != null && group == last()) {
          new RowCollectives(compute, group)
              .reduceScatter(ownGrads.name(), ownGrads, grads, List.of());
        } else if (group.size() > 1) {
          group.allReduce(grads, ReduceKind.SUM);
        }
      }
      pieces.forEach(piece -> piece.startGrad(torch)); // it is there now
    }

    void gather() {
      if (values != null) {
        ProcessGroup group = last();
        Tensor own =
            values.view(group.rank() * each, Shape.of(Math.toIntExact(each)), OWN + values.name());
        new RowCollectives(compute, group).allGather(values.name(), values, own, List.of());
      }
    }
  }

  /**
   * What this rank's optimizer is to change: the parameters, or with a divided optimizer the parts
   * of them that are its own, which have other shapes and no gradient before {@link #sum}.
   */
  public List<Parameter> owned() {
    if (owned.isEmpty()) {
      for (Bucket b : buckets) {
        owned.addAll(b.values == null ? b.members : b.pieces);
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
    return Collections.unmodifiableList(divisions);
  }

  /** Forgets all gradients; a step begins. */
  public void zeroGrad() {
    summed = 0;
    for (Bucket b : buckets) {
      b.missing = b.members.size();
      b.members.forEach(Parameter::zeroGrad);
      b.pieces.forEach(Parameter::zeroGrad);
    }
  }

  /**
   * {@link Graph#backward(Variable)} of the last microbatch of a step, which completes gradients.
   * All ranks call it.
   */
  public void backward(Graph graph, Variable loss) {
    backward(graph, loss, graph.one(loss));
  }

  /** The same from a gradient of the result, as {@link Graph#backward(Variable, Tensor)}. */
  public void backward(Graph graph, Variable result, Tensor grad) {
    if (summed > 0) {
      throw new IllegalStateException(
          "gradients have been summed already; call zeroGrad() first, and backward() of this"
              + " class once for each step");
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
      bucket.missing--;
      while (summed < buckets.size() && buckets.get(summed).missing == 0) {
        buckets.get(summed++).sum();
      }
    }
  }

  /** Sums what is not summed yet; {@link #backward} does it, too. All ranks call it. */
  public void sum() {
    // without overlap the first layer's gradients come first, which are complete last: so all
    // sums follow the whole backward pass
    List<Bucket> rest = buckets.subList(summed, buckets.size());
    (options.overlap ? rest : rest.reversed()).forEach(Bucket::sum);
    summed = buckets.size();
  }

  /** As {@link GradientSync#divideByTokens}. */
  public void divideByTokens(int ownTokens) {
    sync.divideByTokens(owned(), ownTokens, parameters.getFirst().gradType());
  }

  /** As {@link GradientSync#clip}. */
  public void clip(double most) {
    clipAndKeepNorm(most).close();
  }

  /**
   * The same.
   *
   * @return the square of the norm that the gradients had, {@code [1]}; the caller closes it
   */
  public Tensor clipAndKeepNorm(double most) {
    return sync.clip(owned(), most, parts(), parameters.getFirst().gradType());
  }

  private Optional<ProcessGroup> parts() {
    return buckets.stream().anyMatch(b -> b.values != null)
        ? Optional.of(layout.dpCp())
        : Optional.empty();
  }

  /** As {@link GradientSync#total}, of the gradients that {@link #owned} parameters have. */
  Tensor total(Compute by, String name, UnaryOperator<Value> of) {
    return sync.total(by, owned(), parts(), parameters.getFirst().gradType(), name, of);
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

  /** Brings the changed parts of the weights together; does nothing if they are whole. */
  public void gather() {
    // in the order in which the forward pass needs them
    buckets.reversed().forEach(Bucket::gather);
  }
}
