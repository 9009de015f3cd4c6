package org.kernbench.nn.pipeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.layers.Recompute;
import org.kernbench.nn.layers.Transformer;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.layers.TransformerConfig.Style;
import org.kernbench.nn.layers.TransformerStage;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.Worker;

/**
 * Steps through pipelines against a plain loop over microbatches on one rank: the same losses and
 * gradients, to the bit where the order of sums is the same.
 */
class PipelineStepTest {
  private static final int SEQUENCE = 4;

  /** What a run gives: losses by microbatch, gradients by parameter. */
  private record Result(Map<Integer, Double> losses, Map<String, double[]> grads) {}

  private record Model(Style style, int layers, boolean tied, DType dtype, Recompute recompute) {
    Model(Style style, int layers, boolean tied, DType dtype) {
      this(style, layers, tied, dtype, Recompute.NONE);
    }

    TransformerConfig config() {
      int keyHeads = style == Style.LLAMA ? 1 : 2;
      return new TransformerConfig("small", 8, layers, 2, keyHeads, 4, 12, 12, 8, style);
    }
  }

  private static int[] ids(int microbatch, int shift) {
    int[] ids = new int[SEQUENCE];
    for (int i = 0; i < SEQUENCE; i++) {
      ids[i] = Math.floorMod((i + shift) * 7 + microbatch * 5, 12);
    }
    return ids;
  }

  private static double[] mask() {
    return new double[] {1, 1, 1, 0};
  }

  private static SequencePart part() {
    return new SequencePart(SEQUENCE, 1, 0);
  }

  private static Result oneRank(Model m, List<Integer> microbatches) {
    Result result = new Result(new TreeMap<>(), new TreeMap<>());
    Ranks.run(
        1,
        Mode.VALUES,
        w -> {
          ParallelLayout layout = ParallelLayout.create(w.distributed(), 1, 1, 1, false);
          Init init = new Init(w.torch(), m.dtype, 7, 0.3).withSpread();
          Transformer model = new Transformer(m.config(), layout, init, m.tied);
          for (int k : microbatches) {
            try (Graph graph = Graph.of(w.torch())) {
              Variable losses = model.forward(graph, ids(k, 0), ids(k, 1), 1, part());
              Variable sum = graph.weightedSum(losses, mask());
              graph.backward(sum);
              result.losses.put(k, sum.value().get(0));
            }
          }
          grads(model.parameters(), result);
        });
    return result;
  }

  private static void grads(List<Parameter> parameters, Result result) {
    for (Parameter p : parameters) {
      double[] before = result.grads.put(p.name(), p.grad().orElseThrow().toDoubles());
      if (before != null) {
        assertThat(result.grads.get(p.name())).as("both copies of %s", p.name()).isEqualTo(before);
      }
    }
  }

  /** A stage of the model. */
  private record OneStage(
      TransformerStage stage,
      PipelineSchedule schedule,
      int number,
      Model model,
      Map<Integer, Tensor> sums)
      implements PipelineStep.Stage {
    @Override
    public Shape inputShape(int microbatch) {
      return Shape.of(SEQUENCE, 1, model.config().hidden());
    }

    @Override
    public DType dtype() {
      return model.dtype;
    }

    @Override
    public Variable forward(Graph graph, Optional<Variable> input, int k) {
      Variable x =
          schedule.isFirst(number) ? stage.embed(graph, ids(k, 0), 1, part()) : input.orElseThrow();
      Variable y = stage.decode(graph, x, part());
      if (!schedule.isLast(number)) {
        return y;
      }
      Variable sum = graph.weightedSum(stage.losses(graph, y, ids(k, 1)), mask());
      sums.put(
          k,
          new Compute(graph.torch(), t -> t)
              .map("keep", sum.shape(), sum.dtype(), List.of(sum.value()), v -> v.get(0)));
      return sum;
    }
  }

  private static Result pipeline(Model m, PipelineSchedule schedule, LayerSplit split) {
    return pipeline(m, schedule, split, Mode.VALUES, (rank, step) -> {});
  }

  private static Result pipeline(
      Model m,
      PipelineSchedule schedule,
      LayerSplit split,
      Mode mode,
      BiConsumer<Integer, PipelineStep> afterwards) {
    Result result = new Result(new TreeMap<>(), new TreeMap<>());
    Ranks.run(schedule.ranks(), mode, w -> body(w, m, schedule, split, mode, afterwards, result));
    return result;
  }

  private static void body(
      Worker w,
      Model m,
      PipelineSchedule schedule,
      LayerSplit split,
      Mode mode,
      BiConsumer<Integer, PipelineStep> afterwards,
      Result result) {
    Torch torch = w.torch();
    PipelineLayout layout = PipelineLayout.create(w.distributed(), 1, 1, 1, schedule, false);
    Init init = new Init(torch, m.dtype, 7, 0.3).withSpread();
    PipelineModel model = new PipelineModel(m.config(), layout, schedule, split, m.tied, init);
    model.stages().values().forEach(stage -> stage.recompute(m.recompute));
    Map<Integer, Tensor> sums = new TreeMap<>();
    Map<Integer, PipelineStep.Stage> stages = new TreeMap<>();
    model.stages().forEach((s, stage) -> stages.put(s, new OneStage(stage, schedule, s, m, sums)));
    PipelineStep step = new PipelineStep(torch, schedule, layout, () -> Graph.of(torch), stages);
    step.run();
    model.sumShared(torch);
    torch.distributed().barrier();
    afterwards.accept(w.rank(), step);
    if (mode != Mode.TIME) {
      sums.forEach((k, sum) -> result.losses.put(k, sum.get(0)));
      grads(model.parameters(), result);
    }
  }

  private static List<Integer> upTo(int m) {
    List<Integer> all = new ArrayList<>();
    for (int k = 0; k < m; k++) {
      all.add(k);
    }
    return all;
  }

  private static void assertSameBits(Result got, Result expected, String what) {
    assertThat(got.losses).as("losses, %s", what).isEqualTo(expected.losses);
    assertThat(got.grads.keySet()).as("parameters, %s", what).isEqualTo(expected.grads.keySet());
    expected.grads.forEach((name, g) ->
        assertThat(got.grads.get(name)).as("gradient of %s, %s", name, what).isEqualTo(g));
  }

  private static void assertClose(Result got, Result expected, double tolerance, String what) {
    expected.losses.forEach((k, loss) ->
        assertThat(got.losses.get(k))
            .as("loss %s, %s", k, what)
            .isCloseTo(loss, within(tolerance)));
    assertThat(got.grads.keySet()).isEqualTo(expected.grads.keySet());
    expected.grads.forEach((name, g) -> {
      double[] own = got.grads.get(name);
      for (int i = 0; i < g.length; i++) {
        assertThat(own[i])
            .as("gradient of %s[%s], %s", name, i, what)
            .isCloseTo(g[i], within(tolerance));
      }
    });
  }

  private static LayerSplit split(Random random, int stages) {
    List<Integer> blocks = new ArrayList<>();
    for (int s = 0; s < stages; s++) {
      blocks.add(random.nextInt(3));
    }
    return new LayerSplit(blocks);
  }

  @ParameterizedTest
  @EnumSource(
      value = Schedules.class,
      names = {"GPIPE", "ONE_F_ONE_B", "INTERLEAVED", "ZB_H1", "ZB_V"})
  void everySchedule_keepsTheOrderOfMicrobatches_sameBitsAsOneRank(Schedules named) {
    Random random = new Random(named.ordinal());
    for (DType dtype : List.of(DType.BF16, DType.F32, DType.F64)) {
      int p = 2 + random.nextInt(2);
      int m = p * (1 + random.nextInt(2));
      PipelineSchedule schedule = named.of(p, m, named == Schedules.INTERLEAVED ? 2 : 1);
      LayerSplit split = split(random, schedule.depth());
      int layers = split.blocks().stream().mapToInt(Integer::intValue).sum();
      Style style = random.nextBoolean() ? Style.GPT : Style.LLAMA;
      Model model = new Model(style, layers, false, dtype);
      assertSameBits(
          pipeline(model, schedule, split),
          oneRank(model, upTo(m)),
          schedule + ", blocks " + split.blocks() + ", " + model);
    }
  }

  @Test
  void dualPipe_sumsInTwoDirections_equalsOneRank() {
    PipelineSchedule schedule = Schedules.DUALPIPE.of(4, 8, 1);
    for (boolean tied : new boolean[] {false, true}) {
      Model model = new Model(Style.GPT, 5, tied, DType.F64);
      LayerSplit split = LayerSplit.parse("1,2,1,1", 5, 4);
      assertClose(pipeline(model, schedule, split), oneRank(model, upTo(8)), 1e-12, "tied " + tied);
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = Schedules.class,
      names = {"ONE_F_ONE_B", "INTERLEAVED", "ZB_H1", "ZB_V"})
  void tiedEmbeddings_onFirstAndLastStage_sumBothGradients(Schedules named) {
    PipelineSchedule schedule = named.of(2, 4, named == Schedules.INTERLEAVED ? 2 : 1);
    Model model = new Model(Style.LLAMA, 4, true, DType.F64);
    LayerSplit split = LayerSplit.even(4, schedule.depth());
    assertClose(pipeline(model, schedule, split), oneRank(model, upTo(4)), 1e-12, named.toString());
  }

  @Test
  void fileOfAUser_microbatchesInOtherOrdersOnEachStage_areNotMixedUp() {
    // stage 1 takes what stage 0 sends in the opposite order, and gives gradients back in a third
    String csv = "0F0,0F1,0F2,0B1,0B2,0B0\n1F2,1F1,1F0,1B2,1B0,1B1\n";
    PipelineSchedule schedule = ScheduleCsv.parse("turned.csv", csv);
    Model model = new Model(Style.GPT, 2, false, DType.F64);
    Result got = pipeline(model, schedule, LayerSplit.even(2, 2));
    assertClose(got, oneRank(model, upTo(3)), 1e-12, "turned");
    List<Integer> ofStage0 = List.of(1, 2, 0);
    Result inOrder = oneRank(model, ofStage0);
    assertThat(got.grads.get("layers.0.mlp.up.weight"))
        .as("to the bit in the order of stage 0")
        .isEqualTo(inOrder.grads.get("layers.0.mlp.up.weight"));
  }

  @Test
  void time_everySchedule_isNotBelowTheSameTimesWithoutTransfers() {
    for (Schedules named : Schedules.values()) {
      PipelineSchedule schedule = named.of(2, 4, named == Schedules.INTERLEAVED ? 2 : 1);
      List<PipelineStep> steps = timed(schedule, 4);
      assertThat(span(steps))
          .as("%s", schedule)
          .isGreaterThanOrEqualTo(longestPath(schedule, steps));
    }
  }

  /**
   * A device never waits for a host that waits for another device: what a step takes beyond its
   * longest chain are messages. They are more where a rank has several stages, and wait for each
   * other there, too: a PE has one stream for them.
   */
  @ParameterizedTest
  @CsvSource({
    "GPIPE, 1, 0.02",
    "ONE_F_ONE_B, 1, 0.03",
    "INTERLEAVED, 2, 0.09",
    "ZB_H1, 1, 0.03",
    "ZB_V, 1, 0.05",
    "DUALPIPE, 1, 0.02"
  })
  void time_everySchedule_takesItsLongestChainAndMessages(
      Schedules named, int chunks, double messages) {
    PipelineSchedule schedule = named.of(4, 8, chunks);
    List<PipelineStep> steps = timed(schedule, 8);
    double chain = longestPath(schedule, steps);
    assertThat(span(steps) / chain).isBetween(1.0, 1 + messages);
  }

  private static List<PipelineStep> timed(PipelineSchedule schedule, int layers) {
    Model model = new Model(Style.GPT, layers, false, DType.F32);
    List<PipelineStep> steps = Collections.synchronizedList(new ArrayList<>());
    pipeline(
        model,
        schedule,
        LayerSplit.even(layers, schedule.depth()),
        Mode.TIME,
        (rank, step) -> steps.add(step));
    return steps;
  }

  /** From the first action to the end of the last; no rank does two at once. */
  private static long span(List<PipelineStep> steps) {
    long first = Long.MAX_VALUE;
    long last = 0;
    for (PipelineStep step : steps) {
      long free = 0;
      for (PipelineStep.Span span : step.spans()) {
        assertThat(span.startPs()).as("%s", span).isGreaterThanOrEqualTo(free);
        free = span.endPs();
        first = Math.min(first, span.startPs());
        last = Math.max(last, span.endPs());
      }
    }
    return last - first;
  }

  /** The longest chain of actions that need each other, each as long as it was. */
  private static long longestPath(PipelineSchedule schedule, List<PipelineStep> steps) {
    Map<String, Long> length = new TreeMap<>();
    steps.forEach(step ->
        step.spans().forEach(s -> length.put(s.action().toString(), s.endPs() - s.startPs())));
    Map<String, Long> end = new TreeMap<>();
    boolean moved = true;
    while (moved) {
      moved = false;
      for (int r = 0; r < schedule.ranks(); r++) {
        long free = 0;
        for (Action a : schedule.actions(r)) {
          long ready = free;
          for (Action need : schedule.needs(a)) {
            ready = Math.max(ready, end.getOrDefault(need.toString(), 0L));
          }
          free = ready + length.getOrDefault(a.toString(), 0L);
          moved |= !Long.valueOf(free).equals(end.put(a.toString(), free));
        }
      }
    }
    return Collections.max(end.values());
  }

  @ParameterizedTest
  @EnumSource(
      value = Recompute.class,
      names = {"ATTENTION", "FULL"})
  void recompute_sameBits_lessMemoryMoreTime(Recompute what) {
    PipelineSchedule schedule = Schedules.ONE_F_ONE_B.of(2, 4, 1);
    LayerSplit split = LayerSplit.even(4, 2);
    for (Style style : List.of(Style.GPT, Style.LLAMA)) {
      Model plain = new Model(style, 4, false, DType.BF16);
      Model again = new Model(style, 4, false, DType.BF16, what);
      assertSameBits(
          pipeline(again, schedule, split), oneRank(plain, upTo(4)), what + ", " + style);
      long[] held = new long[2];
      long[] took = new long[2];
      for (int i = 0; i < 2; i++) {
        int which = i;
        pipeline(
            i == 0 ? plain : again,
            schedule,
            split,
            Mode.TIME,
            (rank, step) -> {
              held[which] = Math.max(held[which], step.mostBytesHeld());
              took[which] = Math.max(took[which], step.spans().getLast().endPs());
            });
      }
      assertThat(held[1]).as("bytes held, %s of %s", what, style).isLessThan(held[0] * 3 / 4);
      assertThat(took[1]).as("time, %s of %s", what, style).isGreaterThan(took[0]);
    }
  }

  @Test
  void memory_1F1BAgainstGPipe_holdsFewerMicrobatches() {
    long[][] held = new long[2][3];
    for (int i = 0; i < 2; i++) {
      long[] own = held[i];
      PipelineSchedule schedule = (i == 0 ? Schedules.GPIPE : Schedules.ONE_F_ONE_B).of(3, 9, 1);
      pipeline(
          new Model(Style.GPT, 3, false, DType.F32),
          schedule,
          LayerSplit.even(3, 3),
          Mode.TIME,
          (rank, step) -> own[rank] = step.mostBytesHeld());
    }
    // p - i of them instead of all nine; the last one held also has its gradients
    for (int rank = 0; rank < 3; rank++) {
      assertThat((double) held[0][rank] / held[1][rank])
          .as("rank %s: %s and %s", rank, held[0][rank], held[1][rank])
          .isBetween(9.0 / (3 - rank + 2), 9.0 / (3 - rank));
    }
  }

  /** A decision that is not passed on would be the standard one, and a mistake in it unseen. */
  @Test
  void recipeOfStages_takesEveryDecisionItself() {
    for (java.lang.reflect.Method decision : org.kernbench.nn.autograd.Recipe.class.getMethods()) {
      assertThat(PipelineRecipe.class.getDeclaredMethods())
          .as(decision.getName())
          .anyMatch(own -> own.getName().equals(decision.getName()));
    }
  }
}
