package org.kernbench.nn.autograd;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.layers.Transformer;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.optim.AdamW;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.nn.optim.GradientSync;
import org.kernbench.nn.optim.Optimizer;
import org.kernbench.nn.optim.Sgd;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.ParallelLayout.ContextExchange;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.DType;
import org.kernbench.torch.Worker;

/**
 * Some steps of training of a small transformer in a layout, in f64, and what comes out of it put
 * together from the ranks: the subject and the reference of the oracles that compare layouts.
 */
public final class TrainingRun {
  private static final double RATE = 0.05;

  private final Setup setup;
  private final DType dtype;
  private final double[] losses;
  private final Map<String, SortedMap<Integer, double[]>> grads = new TreeMap<>();
  private final Map<String, SortedMap<Integer, double[]>> parameters = new TreeMap<>();
  private final Map<String, SortedMap<Integer, SortedMap<Integer, double[]>>> parts =
      new TreeMap<>();
  private final Map<String, Parameter> shapes = new LinkedHashMap<>();

  private TrainingRun(Setup setup, DType dtype) {
    this.setup = setup;
    this.dtype = dtype;
    this.losses = new double[setup.steps];
  }

  /** How parameters change after the gradients are known. */
  public enum Training {
    SGD,
    ADAM;

    Optimizer of(Worker w, List<Parameter> parameters) {
      return this == SGD
          ? new Sgd(w.torch(), parameters, RATE)
          : new AdamW(w.torch(), parameters, AdamW.Settings.of(RATE));
    }
  }

  /** What is trained, and how. */
  public record Setup(
      TransformerConfig config,
      int sequence,
      int samples,
      int steps,
      Training training,
      int tp,
      int cp,
      int dp,
      boolean sp,
      How how,
      Recipe recipe) {
    public Setup onOneRank() {
      return new Setup(
          config,
          sequence,
          samples,
          steps,
          training,
          1,
          1,
          1,
          false,
          How.PLAIN.with(how.dropout),
          Recipe.STANDARD);
    }

    public ParallelLayout layout(Worker w) {
      return ParallelLayout.create(w.distributed(), tp, cp, dp, sp)
          .with(how.exchange)
          .sharingKeys(w.distributed(), config.keyHeads());
    }

    public int ranks() {
      return tp * cp * dp;
    }

    /** Samples of a data-parallel rank; the first ones have what remains. */
    private int samples(int rank) {
      return samples / dp + (rank < samples % dp ? 1 : 0);
    }

    public Batch batch(ParallelLayout layout) {
      int batch = samples(layout.dp().rank());
      int before = IntStream.range(0, layout.dp().rank()).map(this::samples).sum();
      SequencePart part =
          new SequencePart(sequence, cp, layout.cp().rank()).ofSamples(before, batch);
      int[] at = part.own();
      int[] ids = new int[at.length * batch];
      int[] targets = new int[ids.length];
      double[] mask = new double[ids.length];
      int tokens = 0;
      for (int i = 0; i < at.length; i++) {
        for (int b = 0; b < batch; b++) {
          int sample = before + b;
          int k = i * batch + b;
          ids[k] = (at[i] * 7 + sample * 5 + at[i] * at[i]) % config.vocabulary();
          targets[k] = (at[i] * 11 + sample * 3 + 1) % config.vocabulary();
          // the last sample has few tokens, so that some context-parallel ranks have none of it
          mask[k] = at[i] < sequence - sequence * 7 * sample / 24 - 1 ? 1 : 0;
          tokens += (int) mask[k];
        }
      }
      return new Batch(ids, targets, mask, tokens, batch, part);
    }

    Setup forSteps(int n) {
      return new Setup(config, sequence, samples, n, training, tp, cp, dp, sp, how, recipe);
    }

    public Setup with(Training other) {
      return new Setup(config, sequence, samples, steps, other, tp, cp, dp, sp, how, recipe);
    }

    Setup with(Recipe other) {
      return new Setup(config, sequence, samples, steps, training, tp, cp, dp, sp, how, other);
    }

    public Setup with(How other) {
      return new Setup(config, sequence, samples, steps, training, tp, cp, dp, sp, other, recipe);
    }
  }

  /** What a rank sees of the data. */
  public record Batch(
      int[] ids, int[] targets, double[] mask, int tokens, int samples, SequencePart part) {
    /** The sum of the losses of all tokens that count. */
    public Variable loss(Graph graph, Transformer model) {
      return graph.weightedSum(model.forward(graph, ids, targets, samples, part), mask);
    }
  }

  /**
   * Options that change no result.
   *
   * @param overlap whether weight gradients are computed beside collectives
   * @param exchange of keys and values
   * @param data buckets of gradients; empty to sum each parameter's after the backward pass
   * @param dropout what is set to zero, which does change results, but not by the layout
   */
  public record How(
      boolean overlap,
      ContextExchange exchange,
      Optional<DataParallel.Options> data,
      Dropout dropout) {
    public static final How PLAIN =
        new How(false, ContextExchange.ALL_GATHER, Optional.empty(), Dropout.NONE);

    static How of(DataParallel.Options data) {
      return new How(true, ContextExchange.ALL_GATHER, Optional.of(data), Dropout.NONE);
    }

    public How with(ContextExchange other) {
      return new How(overlap, other, data, dropout);
    }

    public How with(Dropout other) {
      return new How(overlap, exchange, data, other);
    }
  }

  /**
   * What a run gives.
   *
   * @param losses of the steps, each the sum over all tokens
   * @param grads of the first step, before the optimizer, of whole parameters
   * @param parameters after the last step
   * @param unequal what differs in a bit between ranks that should have the same
   */
  public record Result(
      double[] losses,
      Map<String, double[]> grads,
      Map<String, double[]> parameters,
      List<String> unequal) {}

  /** Trains. */
  public static Result of(Setup setup) {
    return of(setup, Ranks.Devices.ONE_PE, DType.F64);
  }

  /** Trains on other devices, in another type. */
  public static Result of(Setup setup, Ranks.Devices devices, DType dtype) {
    TrainingRun run = new TrainingRun(setup, dtype);
    Ranks.run(devices, setup.tp * setup.cp * setup.dp, Mode.VALUES, run::body);
    run.joinParts();
    List<String> unequal = new ArrayList<>();
    return new Result(
        run.losses, run.whole(run.grads, unequal), run.whole(run.parameters, unequal), unequal);
  }

  private void body(Worker w) {
    Setup s = setup;
    ParallelLayout layout = s.layout(w);
    Transformer model = new Transformer(s.config, layout, new Init(w.torch(), dtype, 7, 0.2));
    Batch batch = s.batch(layout);
    GradientSync sync = new GradientSync(w.torch(), layout, s.recipe);
    List<Parameter> all = model.parameters();
    Optional<DataParallel> data =
        s.how.data.map(o -> new DataParallel(w.torch(), layout, all, o, s.recipe));
    List<Parameter> owned = data.map(DataParallel::owned).orElse(all);
    try (Optimizer optimizer = s.training.of(w, owned)) {
      for (int step = 0; step < s.steps; step++) {
        data.ifPresentOrElse(DataParallel::zeroGrad, model::zeroGrad);
        try (Graph graph =
            Graph.of(w.torch(), s.recipe)
                .withOverlap(s.how.overlap)
                .withDropout(s.how.dropout.atStep(step))) {
          Variable sum = batch.loss(graph, model);
          data.ifPresentOrElse(d -> d.backward(graph, sum), () -> graph.backward(sum));
          if (layout.tp().rank() == 0) {
            double own = sum.value().get(0); // other ranks go on meanwhile
            losses[step] += own;
          }
        }
        data.ifPresentOrElse(
            d -> d.divideByTokens(batch.tokens),
            () -> {
              sync.sum(all);
              sync.divideByTokens(all, batch.tokens);
            });
        if (step == 0) {
          all.forEach(p -> shapes.putIfAbsent(p.name(), p));
          addGrads(w, layout, owned);
        }
        data.ifPresentOrElse(d -> d.clip(1), () -> sync.clip(all, 1));
        optimizer.step();
        data.ifPresent(DataParallel::gather);
      }
    }
    for (Parameter p : all) {
      add(parameters, w, p, p.value().toDoubles());
    }
  }

  /** Parts that belong to a divided optimizer follow each other by rank. */
  private void addGrads(Worker w, ParallelLayout layout, List<Parameter> owned) {
    for (Parameter p : owned) {
      double[] values = p.grad().orElseThrow().toDoubles();
      if (setup.how.data.map(DataParallel.Options::distributedOptimizer).orElse(false)) {
        parts
            .computeIfAbsent(p.name(), n -> new TreeMap<>())
            .computeIfAbsent(layout.tp().rank(), t -> new TreeMap<>())
            .put(layout.dpCp().rank(), values);
      } else {
        add(grads, w, p, values);
      }
    }
  }

  private void joinParts() {
    parts.forEach((name, ofTp) ->
        ofTp.forEach((tp, ofRank) -> {
          double[] all =
              ofRank.values().stream().flatMapToDouble(java.util.Arrays::stream).toArray();
          grads.computeIfAbsent(name, n -> new TreeMap<>()).put(tp, all);
        }));
  }

  private static void add(
      Map<String, SortedMap<Integer, double[]>> to, Worker w, Parameter p, double[] values) {
    to.computeIfAbsent(p.name(), n -> new TreeMap<>()).put(w.rank(), values);
  }

  private Map<String, double[]> whole(
      Map<String, SortedMap<Integer, double[]>> parts, List<String> unequal) {
    Map<String, double[]> whole = new TreeMap<>();
    parts.forEach((name, each) -> whole.put(name, join(name, List.copyOf(each.values()), unequal)));
    return whole;
  }

  /** Ranks come in order tp fastest. */
  private double[] join(String name, List<double[]> parts, List<String> unequal) {
    Parameter p = shapes.get(name);
    int tp = setup.tp;
    boolean divided = p.sharding().axis().isPresent();
    for (int i = 0; i < parts.size(); i++) {
      if (!java.util.Arrays.equals(parts.get(i), parts.get(divided ? i % tp : 0))) {
        unequal.add(name + " on rank " + i);
      }
    }
    return joined(p, parts.subList(0, divided ? tp : 1));
  }

  /** The whole of a parameter, from the parts of a tensor-parallel group. */
  static double[] joined(Parameter p, List<double[]> parts) {
    if (p.sharding().axis().isEmpty()) {
      return parts.get(0);
    }
    int tp = parts.size();
    int axis = p.sharding().axis().getAsInt();
    int inner = (int) p.shape().inner(axis) * p.shape().dim(axis);
    int outer = (int) p.shape().outer(axis);
    double[] all = new double[inner * outer * tp];
    for (int r = 0; r < tp; r++) {
      for (int o = 0; o < outer; o++) {
        System.arraycopy(parts.get(r), o * inner, all, (o * tp + r) * inner, inner);
      }
    }
    return all;
  }

  // ---- comparing ----

  /** The largest relative distance of losses. */
  public static double lossError(Result got, Result expected) {
    double worst = 0;
    for (int i = 0; i < got.losses.length; i++) {
      worst = Math.max(worst, Math.abs(got.losses[i] / expected.losses[i] - 1));
    }
    return worst;
  }

  /** The largest distance of one tensor from that of the reference, relative to its size. */
  public static double worst(Map<String, double[]> got, Map<String, double[]> expected) {
    if (!got.keySet().equals(expected.keySet())) {
      throw new AssertionError(got.keySet() + " are not " + expected.keySet());
    }
    // a bias of keys has gradient 0, as softmax does not see a shift: measure that by the others
    double typical = expected.values().stream().mapToDouble(TrainingRun::norm).max().orElseThrow();
    double worst = 0;
    for (Map.Entry<String, double[]> e : expected.entrySet()) {
      double scale = Math.max(norm(e.getValue()), 1e-4 * typical);
      worst = Math.max(worst, distance(got.get(e.getKey()), e.getValue()) / scale);
    }
    return worst;
  }

  /** Norm of all tensors together. */
  static double norm(Map<String, double[]> tensors) {
    double sum = 0;
    for (double[] t : tensors.values()) {
      sum += Math.pow(norm(t), 2);
    }
    return Math.sqrt(sum);
  }

  private static double norm(double[] a) {
    double sum = 0;
    for (double x : a) {
      sum += x * x;
    }
    return Math.sqrt(sum);
  }

  private static double distance(double[] a, double[] b) {
    double[] difference = new double[a.length];
    for (int i = 0; i < a.length; i++) {
      difference[i] = a[i] - b[i];
    }
    return norm(difference);
  }
}
