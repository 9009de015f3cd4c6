package org.kernbench.eval.training;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;
import org.kernbench.device.Mode;
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.compare.StepRecord;
import org.kernbench.nn.compare.StepRecord.Kind;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.WorkCount;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.layers.Mlp;
import org.kernbench.nn.layers.MoELayer;
import org.kernbench.nn.layers.Module;
import org.kernbench.nn.layers.Transformer;
import org.kernbench.nn.layers.TransformerBlock;
import org.kernbench.nn.optim.AdamW;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.nn.optim.LossScaler;
import org.kernbench.nn.optim.Optimizer;
import org.kernbench.nn.parallel.Documents;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.Worker;

/**
 * The program of every rank of a {@link TrainingBench}, and what the ranks have at its end. Nothing
 * is read before, so that reading changes no time.
 */
final class TrainingProgram {
  /** The optimizer of a step. */
  static final AdamW.Settings ADAM = AdamW.Settings.of(1e-3);

  private final Setup setup;
  private final StepRecord record = new StepRecord();
  private final PipelineReport pipeline;
  private final ExpertReport experts = new ExpertReport();

  // what a rank's memory must do at least: in a pass, and in an optimizer's step
  private long mostMoved;
  private long mostRead;
  private long mostWritten;
  private final SummedGradients summed = new SummedGradients();
  private boolean readsGathered;
  private boolean skipped;
  private boolean alike;
  private int bodies;
  private final List<AutoCloseable> open = new ArrayList<>();

  TrainingProgram(Setup setup) {
    this.setup = setup;
    this.pipeline = new PipelineReport(setup.pipe().schedule().map(Object::toString).orElse(""));
  }

  /**
   * Compares divided parameters as the next step would gather them, which takes time that a step
   * does not have; else each rank's part.
   */
  TrainingProgram readingGathered() {
    readsGathered = true;
    return this;
  }

  /** Gives every replica the samples of the first, so that one can stand for all. */
  TrainingProgram withReplicasAlike() {
    alike = true;
    return this;
  }

  /** The number of the replica whose samples a rank has. */
  int replica(ParallelLayout layout) {
    return alike ? 0 : layout.dp().rank();
  }

  /** What the ranks of a pipeline did when. */
  PipelineReport pipeline() {
    return pipeline;
  }

  /** What the first rank launched, and what the memory held at the end of its step. */
  private final Map<String, WorkCount> work = new LinkedHashMap<>();

  private Optional<MemoryText> memory = Optional.empty();

  @SafeVarargs
  final void note(Worker w, Graph graph, Map<String, WorkCount>... more) {
    if (w.rank() == 0) {
      noteWork(w, graph.compute().work());
      List.of(more).forEach(map -> noteWork(w, map));
      memory = Optional.of(MemoryText.of(w.torch()));
    }
  }

  /** Adds what the first rank has launched, by name. */
  void noteWork(Worker w, Map<String, WorkCount> more) {
    if (w.rank() == 0) {
      WorkCount.add(more, work);
    }
  }

  /** Notes what the memory holds; of ranks that end one after another the last one's counts. */
  void noteMemory(Worker w) {
    memory = Optional.of(MemoryText.of(w.torch()));
  }

  /** What the first rank launched, by name. */
  Map<String, WorkCount> work() {
    return work;
  }

  /** What the memory held when the first rank was done with its step. */
  Optional<MemoryText> memory() {
    return memory;
  }

  /** What the ranks had at the end. */
  StepRecord record() {
    return record;
  }

  void body(Worker w) {
    Setup s = setup;
    bodies++;
    if (s.pipe().schedule().isPresent()) {
      new PipelinedProgram(this, s, s.pipe().schedule().get()).body(w);
      return;
    }
    ParallelLayout layout =
        layout(w).with(s.context()).sharingKeys(w.distributed(), s.config().keyHeads());
    Init init = init(w.torch());
    int batch = s.batch() / s.dp();
    SequencePart part = s.part(layout.cp().rank()).ofSamples(replica(layout) * batch, batch);
    switch (s.scope()) {
      case MLP -> {
        Mlp mlp = new Mlp("mlp", s.config(), layout, init);
        pass(w, layout, part, mlp, mlp::forward, List::of);
      }
      case BLOCK -> {
        TransformerBlock block = new TransformerBlock("layer", s.config(), layout, init);
        pass(
            w,
            layout,
            part,
            block,
            (graph, x) -> block.forward(graph, x, part),
            () -> block.experts().map(MoELayer::idle).orElse(List.of()));
        noteExperts(block.experts().stream().toList());
      }
      case STEP -> step(w, layout, part, init);
    }
  }

  private ParallelLayout layout(Worker w) {
    Setup s = setup;
    return s.expertSizes()
        .map(sizes -> ParallelLayout.create(w.distributed(), s.tp(), s.cp(), s.dp(), s.sp(), sizes))
        .orElseGet(() -> ParallelLayout.create(w.distributed(), s.tp(), s.cp(), s.dp(), s.sp()));
  }

  /** How tokens went to experts. */
  ExpertReport experts() {
    return experts;
  }

  /** Notes how tokens went to a rank's experts. */
  void noteExperts(List<MoELayer> layers) {
    int rowBytes = setup.config().hidden() * setup.dtype().sizeBytes();
    experts.add(layers, rowBytes);
  }

  /** First values of parameters. */
  Init init(Torch torch) {
    return new Init(torch, setup.dtype(), 7, deviation(setup.config().hidden()))
        .withSpread()
        .roundedTo(setup.first());
  }

  /**
   * Standard deviation of first values: what a layer adds to its input is then about as large as
   * the input, so that a mistake in it is no smaller than its rounding.
   */
  static double deviation(int hidden) {
    return 1.4 / Math.sqrt(hidden);
  }

  private interface Forward {
    Variable of(Graph graph, Variable x);
  }

  private Graph graph(Torch torch, ParallelLayout layout) {
    return Graph.of(torch, setup.masks().recipe(layout, setup.fault()))
        .withOverlap(setup.data().overlap())
        .withDropout(setup.masks().dropout())
        .withF8(setup.f8(layout));
  }

  private DataParallel data(Torch torch, ParallelLayout layout, Module module) {
    return new DataParallel(torch, layout, module.parameters(), setup.data(), setup.fault());
  }

  private void pass(
      Worker w,
      ParallelLayout layout,
      SequencePart part,
      Module module,
      Forward forward,
      Supplier<List<Parameter>> unread) {
    int batch = setup.batch() / setup.dp();
    int[] positions = positions(layout, part);
    Shape shape = Shape.of(positions.length, batch, setup.config().hidden());
    Torch torch = w.torch();
    DataParallel data = data(torch, layout, module);
    try (Graph graph = graph(torch, layout);
        Tensor x = Compute.spread(torch, "x", shape, setup.dtype());
        Tensor dy = Compute.spread(torch, "dy", shape, setup.dtype())) {
      if (hasValues(torch)) {
        x.copyInPlace(activations(positions, layout, 1));
        dy.copyInPlace(activations(positions, layout, 2));
      }
      Variable in = graph.input(x);
      Variable y = forward.of(graph, in);
      data.backward(graph, y, dy);
      note(w, graph);
      mostMoved = Math.max(mostMoved, moved(module, unread.get(), 3 * x.shape().elements()));
      if (hasValues(torch)) {
        int dp = layout.dp().rank();
        addRows(Kind.OUTPUT, "output", w.rank(), y.value(), positions, dp);
        in.grad().ifPresent(g -> addRows(Kind.INPUT_GRADIENT, "x", w.rank(), g, positions, dp));
        record.addGradients(w.rank(), data);
      }
    }
  }

  /** Tells a bound what the memory of a rank had to do. */
  void bound(StepBound step) {
    step.moves(mostMoved);
    step.changes(mostRead, mostWritten);
    summed.tell(step, bodies);
  }

  /**
   * Parameters and two inputs are read, a result of their size and gradients written.
   *
   * @param unread parameters of which only gradients are written, zeros
   */
  private long moved(Module module, List<Parameter> unread, long activations) {
    long bytes = activations * setup.dtype().sizeBytes();
    for (Parameter p : unread) {
      bytes -= p.shape().elements() * p.dtype().sizeBytes();
    }
    for (Parameter p : module.parameters()) {
      long each = p.dtype().sizeBytes() + p.gradType().sizeBytes();
      bytes += p.shape().elements() * each;
    }
    return bytes;
  }

  static boolean hasValues(Torch torch) {
    return torch.simulator().mode() != Mode.TIME;
  }

  /** Positions of the rows that the rank holds between tensor-parallel regions. */
  private static int[] positions(ParallelLayout layout, SequencePart part) {
    int[] own = part.own();
    if (!layout.sequenceParallel()) {
      return own;
    }
    int each = own.length / layout.tp().size();
    return Arrays.copyOfRange(own, layout.tp().rank() * each, (layout.tp().rank() + 1) * each);
  }

  /**
   * Records rows that go position by position, then sample by sample.
   *
   * @param dp the rank's number among those that divide the samples
   */
  private void addRows(Kind kind, String name, int rank, Tensor rows, int[] positions, int dp) {
    addRows(kind, name, rank, rows, positions, dp, setup.batch() / setup.dp());
  }

  /**
   * Records rows of a part of a rank's samples, position by position, then sample by sample.
   *
   * @param number of the part, counted over all ranks
   * @param batch samples of a part
   */
  void addRows(
      Kind kind, String name, int rank, Tensor rows, int[] positions, int number, int batch) {
    int all = setup.tokens() * setup.batch();
    double[] values = rows.toDoubles();
    int columns = values.length / (positions.length * batch);
    IntUnaryOperator at =
        i -> {
          int row = i / columns;
          int sample = number * batch + row % batch;
          return (positions[row / batch] * setup.batch() + sample) * columns + i % columns;
        };
    record.add(kind, name, rank, values, all * columns, at);
  }

  /**
   * Values that depend on position, sample and column only, whatever the layout, as the type of the
   * run holds them.
   */
  private double[] activations(int[] positions, ParallelLayout layout, int seed) {
    int batch = setup.batch() / setup.dp();
    int hidden = setup.config().hidden();
    double[] values = new double[positions.length * batch * hidden];
    int at = 0;
    for (int position : positions) {
      for (int b = 0; b < batch; b++) {
        long sample = (long) layout.dp().rank() * batch + b;
        Random random = new Random((position * 65537L + sample) * 31 + seed);
        for (int i = 0; i < hidden; i++) {
          values[at++] = setup.first().round(random.nextGaussian());
        }
      }
    }
    return values;
  }

  /** Tokens of some samples, {@code [own positions, batch]}, row-major. */
  static final class Samples {
    final int[] ids;
    final int[] targets;
    final double[] mask;

    private Samples(int size) {
      this.ids = new int[size];
      this.targets = new int[size];
      this.mask = new double[size];
    }

    /** How many count. */
    int tokens() {
      return (int) Arrays.stream(mask).filter(m -> m > 0).count();
    }
  }

  /**
   * Tokens of samples, whatever the layout.
   *
   * @param at positions of the rank
   * @param first number of the first sample
   */
  Samples samples(int[] at, int first, int batch) {
    Samples s = new Samples(at.length * batch);
    int[] ends = setup.documents().orElse(Documents.ofLengths(setup.tokens())).ends(at);
    for (int i = 0; i < s.ids.length; i++) {
      int position = at[i / batch];
      int sample = first + i % batch;
      s.ids[i] = id(position, sample);
      s.targets[i] = id(position + 1, sample);
      s.mask[i] = ends[i / batch] == position ? 0 : 1; // what follows is of another document
    }
    return s;
  }

  /** A mask in which samples that are left out do not count. */
  private double[] without(double[] mask, int batch) {
    if (setup.pipe().omitted().isEmpty()) {
      return mask;
    }
    double[] own = mask.clone();
    for (int i = 0; i < own.length; i++) {
      own[i] = setup.pipe().omitted().contains(i % batch) ? 0 : own[i];
    }
    return own;
  }

  /** Tells a bound what an optimizer had to do. */
  void changed(Optimizer optimizer) {
    mostRead = Math.max(mostRead, optimizer.bytesRead());
    mostWritten = Math.max(mostWritten, optimizer.bytesWritten());
  }

  private void step(Worker w, ParallelLayout layout, SequencePart part, Init init) {
    Transformer model = new Transformer(setup.config(), layout, init, setup.pipe().tied());
    model.recompute(setup.pipe().recompute());
    int batch = setup.batch() / setup.dp();
    int[] at = part.own();
    Samples samples = samples(at, replica(layout) * batch, batch);
    int[] ids = samples.ids;
    int[] targets = samples.targets;
    double[] mask = without(samples.mask, batch);
    Torch torch = w.torch();
    DataParallel data = data(torch, layout, model);
    if (setup.ranks() == 1 && hasValues(torch)) {
      record.keepFirst(w.rank(), data); // before the optimizer changes them
    }
    Graph graph = untilTheEnd(graph(torch, layout));
    Optimizer optimizer = untilTheEnd(new AdamW(torch, data.owned(), ADAM));
    Variable losses = model.forward(graph, ids, targets, batch, part);
    Variable sum = graph.weightedSum(losses, mask);
    data.backward(graph, setup.pipe().scaler().scaled(graph, sum));
    Tensor square = finish(data, samples.tokens(), optimizer);
    balance(w, model.experts());
    note(w, graph, data.work(), optimizer.work());
    noteExperts(model.experts());
    changed(optimizer);
    summed.add(w, List.of(data));
    if (hasValues(torch)) {
      record(w, layout, at, losses, sum);
      recordStep(w, data, square);
    }
  }

  /**
   * Keeps what a rank has made until all ranks are done. A rank that is to show its values comes to
   * its end later than one without; what it frees then, others might have taken, and addresses
   * would depend on the mode.
   */
  <T extends AutoCloseable> T untilTheEnd(T made) {
    open.add(made);
    return made;
  }

  private void record(Worker w, ParallelLayout layout, int[] at, Variable losses, Variable sum) {
    addRows(Kind.OUTPUT, "loss per token", w.rank(), losses.value(), at, layout.dp().rank());
    if (layout.tp().rank() == 0) {
      double own = sum.value().get(0); // other ranks go on meanwhile
      record.addToSum(Kind.LOSS, "loss", own);
    }
  }

  /**
   * From gradients to changed parameters, unless they overflow.
   *
   * @return the square of their norm
   */
  Tensor finish(DataParallel data, int tokens, Optimizer optimizer) {
    LossScaler scaler = setup.pipe().scaler();
    data.divideByTokens(tokens, scaler);
    boolean steps = scaler.scale() == 1 || data.areFinite();
    skipped |= !steps;
    Tensor square = untilTheEnd(data.clipAndKeepNorm(setup.pipe().norm()));
    if (steps) {
      optimizer.step();
      data.gather();
    }
    return square;
  }

  /** Makes experts equally busy, and records by what bias; after a step that was not skipped. */
  void balance(Worker w, List<MoELayer> layers) {
    for (MoELayer layer : layers) {
      if (!skipped) {
        layer.balance(w.torch());
      }
      layer
          .bias()
          .ifPresent(bias -> {
            double[] values = bias.value().toDoubles();
            record.add(Kind.OUTPUT, bias.name(), w.rank(), values, values.length, i -> i);
          });
    }
  }

  /** Whether the step was skipped, as gradients overflowed. */
  boolean isSkipped() {
    return skipped;
  }

  /** Records gradients, their norm and stepped parameters; a step that was skipped has none. */
  void recordStep(Worker w, DataParallel data, Tensor square) {
    if (!skipped) {
      record.addGradients(w.rank(), data);
      boolean gathers = readsGathered || setup.fault() == Fault.STALE_PARAMETER;
      if (gathers) {
        record.addParameters(w.rank(), data);
      } else {
        record.addOwnParameters(w.rank(), data);
      }
      record.addNorm(w.rank(), square);
    }
  }

  private int id(int position, int sample) {
    return Math.floorMod(
        (position + 1) * 2654435761L + sample * 40503L, setup.config().vocabulary());
  }
}
