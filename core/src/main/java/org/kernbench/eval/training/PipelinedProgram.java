package org.kernbench.eval.training;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.kernbench.eval.training.TrainingProgram.Samples;
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Recipe;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.compare.StepRecord.Kind;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.layers.TransformerStage;
import org.kernbench.nn.optim.AdamW;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.nn.optim.Optimizer;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.nn.pipeline.PipelineLayout;
import org.kernbench.nn.pipeline.PipelineModel;
import org.kernbench.nn.pipeline.PipelineSchedule;
import org.kernbench.nn.pipeline.PipelineStep;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.Worker;

/** A training step whose model is cut into stages, the program of every rank. */
final class PipelinedProgram {
  private final TrainingProgram program;
  private final Setup setup;
  private final PipelineSchedule schedule;

  PipelinedProgram(TrainingProgram program, Setup setup, PipelineSchedule schedule) {
    this.program = program;
    this.setup = setup;
    this.schedule = schedule;
  }

  /** A stage of the model, and the losses of what has gone through the last one. */
  private final class OneStage implements PipelineStep.Stage {
    private final TransformerStage stage;
    private final ParallelLayout layout;
    private final DataParallel data;
    private final SequencePart part;
    private final boolean forgets;
    private final boolean first;
    private final boolean last;
    private final Map<Integer, Tensor> losses;
    private final Map<Integer, Tensor> sums;

    OneStage(
        TransformerStage stage,
        ParallelLayout layout,
        DataParallel data,
        int number,
        Map<Integer, Tensor> losses,
        Map<Integer, Tensor> sums) {
      this.stage = stage;
      this.layout = layout;
      this.data = data;
      this.part = part(layout);
      this.first = schedule.isFirst(number);
      this.forgets = first && number == 0 && setup.fault() == Fault.LOSE_MICROBATCH;
      this.last = schedule.isLast(number);
      this.losses = losses;
      this.sums = sums;
    }

    @Override
    public Shape inputShape(int microbatch) {
      int rows = part.own().length / (layout.sequenceParallel() ? layout.tp().size() : 1);
      return Shape.of(rows, samples(), setup.config().hidden());
    }

    @Override
    public DType dtype() {
      return setup.dtype();
    }

    @Override
    public void hasBeenBackwards(int microbatch) {
      if (forgets && microbatch == 0) {
        stage.zeroGrad();
      }
      data.sumMicrobatch();
    }

    @Override
    public Variable forward(Graph graph, Optional<Variable> input, int microbatch) {
      Samples tokens = tokens(layout, part, microbatch);
      int apart = schedule.microbatches() * samples();
      SequencePart some = part.ofSamples(number(layout, microbatch) * samples(), apart);
      Variable x = first ? stage.embed(graph, tokens.ids, samples(), some) : input.orElseThrow();
      Variable y = stage.decode(graph, x, some);
      if (!last) {
        return y;
      }
      Variable perToken = stage.losses(graph, y, tokens.targets);
      Variable sum = graph.weightedSum(perToken, tokens.mask);
      // copies that outlive the graph; reading here would let the device run dry
      losses.put(microbatch, kept(graph.torch(), perToken));
      sums.put(microbatch, kept(graph.torch(), sum));
      return setup.pipe().scaler().scaled(graph, sum);
    }

    private Tensor kept(Torch torch, Variable v) {
      return new Compute(torch, program::untilTheEnd)
          .map("keep-loss", v.shape(), v.dtype(), List.of(v.value()), x -> x.get(0));
    }
  }

  private int samples() {
    return setup.batch() / setup.dp() / schedule.microbatches();
  }

  private SequencePart part(ParallelLayout layout) {
    return setup.part(layout.cp().rank());
  }

  private int number(ParallelLayout layout, int microbatch) {
    return program.replica(layout) * schedule.microbatches() + microbatch;
  }

  private Samples tokens(ParallelLayout layout, SequencePart part, int microbatch) {
    return program.samples(part.own(), number(layout, microbatch) * samples(), samples());
  }

  void body(Worker w) {
    Setup s = setup;
    Torch torch = w.torch();
    PipelineLayout made =
        PipelineLayout.create(
            w.distributed(), s.tp(), s.cp(), s.dp(), schedule, s.sp(), s.expertSizes());
    ParallelLayout stageLayout =
        made.stage().with(s.context()).sharingKeys(w.distributed(), s.config().keyHeads());
    PipelineLayout layout = made.with(stageLayout);
    PipelineModel model =
        new PipelineModel(
            s.config(),
            layout,
            schedule,
            s.fault() == Fault.SWAP_STAGES
                ? s.pipe().split().orElseThrow().exchanged(0)
                : s.pipe().split().orElseThrow(),
            s.pipe().tied(),
            program.init(torch));
    model.stages().values().forEach(stage -> stage.recompute(s.pipe().recompute()));
    Recipe recipe = model.recipe(s.masks().recipe(stageLayout, s.fault()));
    DataParallel data = new DataParallel(torch, stageLayout, model.parameters(), s.data(), recipe);
    Map<Integer, Tensor> losses = new TreeMap<>();
    Map<Integer, Tensor> sums = new TreeMap<>();
    Map<Integer, PipelineStep.Stage> stages = new LinkedHashMap<>();
    model
        .stages()
        .forEach((number, stage) ->
            stages.put(number, new OneStage(stage, stageLayout, data, number, losses, sums)));
    Optimizer optimizer = program.untilTheEnd(new AdamW(torch, data.owned(), TrainingProgram.ADAM));
    List<Graph> graphs = new ArrayList<>();
    PipelineStep step =
        new PipelineStep(
            torch,
            schedule,
            layout,
            () -> {
              Graph graph =
                  Graph.of(torch, recipe)
                      .withOverlap(s.data().overlap())
                      .withDropout(s.masks().dropout())
                      .withLossScale(setup.pipe().lossScale())
                      .withF8(s.f8(stageLayout));
              graphs.add(graph);
              return graph;
            },
            stages);
    step.run();
    data.sum();
    model.sumShared(torch);
    Tensor square = program.finish(data, tokens(stageLayout), optimizer);
    model.stages().values().forEach(stage -> program.balance(w, stage.experts()));
    program.changed(optimizer);
    graphs.forEach(graph -> program.noteWork(w, graph.compute().work()));
    program.noteWork(w, data.work());
    program.noteWork(w, optimizer.work());
    program.noteMemory(w);
    program.pipeline().add(layout.place(), step);
    model.stages().values().forEach(stage -> program.noteExperts(stage.experts()));
    if (TrainingProgram.hasValues(torch)) {
      record(w, stageLayout, losses, sums);
      program.recordStep(w, data, square);
    }
  }

  /** Tokens of the rank's samples that count, whichever stage it has. */
  private int tokens(ParallelLayout layout) {
    SequencePart part = part(layout);
    int all = 0;
    for (int k = 0; k < schedule.microbatches(); k++) {
      all += tokens(layout, part, k).tokens();
    }
    return all;
  }

  private void record(
      Worker w, ParallelLayout layout, Map<Integer, Tensor> losses, Map<Integer, Tensor> sums) {
    int[] positions = part(layout).own();
    losses.forEach((k, perToken) ->
        program.addRows(
            Kind.OUTPUT,
            "loss per token",
            w.rank(),
            perToken,
            positions,
            number(layout, k),
            samples()));
    if (layout.tp().rank() == 0) {
      sums.values().forEach(sum -> program.record().addToSum(Kind.LOSS, "loss", sum.get(0)));
    }
  }
}
