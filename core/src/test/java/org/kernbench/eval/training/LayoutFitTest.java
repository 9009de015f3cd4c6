package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.withinPercentage;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.training.TrainingBench.Scope;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.layers.Recompute;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.layers.TransformerStage;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.nn.parallel.ExpertGroups;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.ParallelLayout.ContextExchange;
import org.kernbench.nn.pipeline.LayerSplit;
import org.kernbench.tensor.DType;
import org.kernbench.torch.placement.RankLevel;
import org.kernbench.torch.placement.Spread;

/** What a layout needs against the parameters that a model has, and what is told before a run. */
class LayoutFitTest {
  private static Setup setup(TransformerConfig config, int tp, int pp, boolean tied) {
    Pipe pipe =
        Pipe.of(new Pipe.Asked(pp, 2, "1f1b", 1, Pipe.EVEN), config.layers(), tied, Recompute.NONE);
    return new Setup(
        config,
        Scope.STEP,
        48,
        2,
        tp,
        1,
        1,
        true,
        DType.BF16,
        DType.BF16,
        ContextExchange.ALL_GATHER,
        DataParallel.DEFAULT,
        Fault.NONE,
        pipe,
        ExpertGroups.Sizes.NONE,
        Optional.empty(),
        Masks.NONE,
        false);
  }

  /** Elements that the ranks of the fullest stage have, from the parameters themselves. */
  private static long elements(Setup s) {
    long[] most = new long[1];
    Ranks.run(
        s.tp(),
        Mode.TIME,
        w -> {
          ParallelLayout layout =
              s.expertSizes()
                  .map(e -> ParallelLayout.create(w.distributed(), s.tp(), 1, 1, true, e))
                  .orElseGet(() -> ParallelLayout.create(w.distributed(), s.tp(), 1, 1, true));
          LayerSplit split = LayerSplit.even(s.config().layers(), s.pipe().pp());
          for (int stage = 0; stage < s.pipe().pp(); stage++) {
            long elements = 0;
            Init init = new Init(w.torch(), DType.BF16, 7, 0.1);
            for (Parameter p :
                new TransformerStage(s.config(), layout, init, split.range(stage, s.pipe().tied()))
                    .parameters()) {
              elements += p.isFrozen() ? 0 : p.shape().elements(); // but for the bias of experts
            }
            most[0] = Math.max(most[0], elements);
          }
        });
    return most[0];
  }

  /** To the element: weights in bf16, gradients, masters and two moments in f32. */
  @Test
  void need_isThatOfTheParameters() {
    for (String model : List.of("tiny-gpt", "tiny-llama", "tiny-moe", "tiny-deepseek")) {
      for (int tp = 1; tp <= 2; tp++) {
        for (int pp = 1; pp <= 3; pp++) {
          for (boolean tied : new boolean[] {false, true}) {
            Setup s = setup(TrainingBench.shape(model, 5), tp, pp, tied);
            long elements = elements(s);
            RankMemory.Need need = new RankMemory(s, LayoutGrid.of(s)).need();
            String what = model + " " + LayoutGrid.of(s) + " tied " + tied;
            assertThat(need.weights()).as(what).isEqualTo(2 * elements);
            assertThat(need.gradients()).as(what).isEqualTo(4 * elements);
            assertThat(need.optimizer()).as(what).isEqualTo(12 * elements);
          }
        }
      }
    }
  }

  /** States of experts are divided over the ranks that have the same experts, not over all. */
  @ParameterizedTest
  @CsvSource({
    "tp=4 dp=2 batch=2 zero=1, 8",
    "tp=1 dp=4 batch=4 ep=4 zero=1, 4",
    "tp=1 dp=4 batch=4 ep=4 zero=3, 4",
    "tp=2 dp=2 batch=2 ep=2 zero=2, 4",
    "tp=2 dp=2 batch=2 ep=2 etp=2 zero=3, 4",
  })
  void need_ofExperts_isWhatTheRunKeeps(String layout, int ranks) {
    List<String> params = new ArrayList<>(List.of(layout.split(" ")));
    params.add("model=tiny-moe");
    Map<String, Object> metrics = run(params.toArray(String[]::new));
    double needed = kib(String.valueOf(metrics.get("needs")), "optimizer ");
    double kept = kib(String.valueOf(metrics.get("memory")), "optimizer ");
    assertThat(needed).isCloseTo(kept / ranks, withinPercentage(1));
  }

  private static double kib(String text, String what) {
    Matcher found = Pattern.compile(what + "([0-9.]+) ([KM])iB").matcher(text);
    assertThat(found.find()).as(text).isTrue();
    return Double.parseDouble(found.group(1)) * (found.group(2).equals("M") ? 1024 : 1);
  }

  private static Map<String, Object> run(String... params) {
    return runBench("train-step", params);
  }

  private static Map<String, Object> runBench(String bench, String... params) {
    RunOptions options = RunOptions.DEFAULT.withMode(Mode.TIME).withParams(List.of(params));
    return Runner.of("test", Progress.SILENT)
        .run(BenchRegistry.standard().find(bench), options)
        .metrics();
  }

  /** The estimate is what is kept at least: no run holds less, and recomputation less than none. */
  @Test
  void activations_areAtMostWhatARunHolds() {
    List<Double> held = new ArrayList<>();
    List<Long> needed = new ArrayList<>();
    for (Recompute again : Recompute.values()) {
      Map<String, Object> metrics =
          run(
              "model=tiny-llama",
              "tp=1",
              "pp=2",
              "microbatches=2",
              "spread=lead",
              "recompute=" + again);
      double most =
          Arrays.stream(String.valueOf(metrics.get("held_by_rank")).split(" "))
              .mapToDouble(kib -> Double.parseDouble(kib.replace("KiB", "")))
              .max()
              .orElseThrow();
      Setup s = setup(TrainingBench.shape("tiny-llama", 2).with(2, 96), 1, 2, false);
      LayoutGrid grid = LayoutGrid.of(s);
      LayoutGrid other =
          new LayoutGrid(grid.tp(), grid.cp(), grid.dp(), grid.pp(), grid.zero(), again);
      long need = new RankMemory(s, other).need().activations();
      assertThat(need / 1024.0).isBetween(1.0, most);
      held.add(most);
      needed.add(need);
      assertThat(metrics.get("needs")).asString().contains(" of a rank: weights ");
      assertThat(metrics.get("memory")).asString().contains("at most on a PE");
    }
    assertThat(held.get(0)).isGreaterThan(held.get(1));
    assertThat(held.get(1)).isGreaterThan(held.get(2));
    assertThat(needed.get(0)).isGreaterThan(needed.get(1));
    assertThat(needed.get(1)).isGreaterThan(needed.get(2));
  }

  /** The nearest by doublings: 6/5 and 3/2; 5/4 and 3/2; 6/5 and 2. */
  @Test
  void severalThingsWrong_areToldAtOnceWithLayoutsThatCanBe() {
    assertThatThrownBy(() -> run("tp=5", "batch=3", "dp=2"))
        .isInstanceOf(UsageException.class)
        .hasMessage(
            "batch is 3, dp 2; expected a batch that dp divides, e.g. batch=4; tp is 5, which"
                + " does not divide 12"
                + " heads, 12 heads of keys, 96 inner features, 96 ids; expected a divisor of 12,"
                + " so that every rank has as many of 12 heads, 12 heads of keys, 96 inner features,"
                + " 96 ids; tokens is 48; expected a multiple of 5, so that every rank has as many;"
                + " expected one that fits, e.g. tp=6 cp=1 dp=3 pp=1; tp=4 cp=1 dp=3 pp=1;"
                + " tp=6 cp=1 dp=1 pp=1");
  }

  /** Eight billion parameters take 16 bytes each, 48 GiB are a cube's: a rank's part must fit. */
  @Test
  void tooLarge_isToldWhatFits() {
    String[] params = {
      "model=llama-3.1-8b",
      "layers=32",
      "vocabulary=128256",
      "tp=1",
      "dp=2",
      "rank_level=cube",
      "tokens=1024",
      "batch=4"
    };
    assertThatThrownBy(() -> run(params))
        .isInstanceOf(UsageException.class)
        .hasMessageStartingWith("layout tp=1 cp=1 dp=2 pp=1 needs at least 1")
        .hasMessageContaining("a cube has 48.00 GiB; expected one that fits, e.g. tp=2 ")
        .hasMessageContaining("zero=");
  }

  /** Told with the layout and those that can be, not by the collectives that it would want. */
  @Test
  void moreRanksThanDevices_areRefusedWithLayoutsThatHaveFewer() {
    assertThatThrownBy(() -> run("rank_level=sip", "tp=2", "dp=4", "batch=4"))
        .isInstanceOf(UsageException.class)
        .hasMessage(
            """
            layout tp=2 cp=1 dp=4 pp=1 has 8 ranks of level sip; machine sip-2026 has 6 of \
            those; expected one that fits, e.g. tp=2 cp=1 dp=2 pp=1; tp=1 cp=1 dp=4 pp=1; tp=3 \
            cp=1 dp=2 pp=1\
            """);
    assertThatThrownBy(() -> runBench("mimo-train-step", "rank_level=sip"))
        .isInstanceOf(UsageException.class)
        .hasMessage(
            """
            the layouts tp=2,dp=4 -> tp=2,cp=2,dp=2 sp have 8 ranks of level sip; machine \
            sip-2026 has 6 of those; expected smaller layouts, a smaller rank_level, or a larger \
            machine\
            """);
  }

  /** A rank has the memory of the PEs that it computes on: of its level, or of its first alone. */
  @ParameterizedTest
  @CsvSource({
    "PE, LEAD, 1",
    "PE, ALL, 1",
    "CUBE, LEAD, 1",
    "CUBE, ALL, 8",
    "SIP, LEAD, 1",
    "SIP, ALL, 128"
  })
  void capacity_isThatOfThePesThatCompute(RankLevel level, Spread spread, int pes) {
    Machine machine = Machines.load("sip-2026", List.of());
    Setup step = setup(TrainingBench.shape("tiny-gpt", 2), 1, 1, false);

    assertThat(machine.pesPerCube()).isEqualTo(8);
    assertThat(machine.cubesPerSip()).isEqualTo(16);
    assertThat(new LayoutFit(step, machine, level, spread).capacity())
        .isEqualTo(pes * machine.hbm().sizeBytes());
    assertThat(new LayoutFit(step, machine, level, Spread.LEAD).on(spread).capacity())
        .isEqualTo(pes * machine.hbm().sizeBytes());
  }

  /** Layouts that are named keep to the rules of pipelines, too: each can be asked for. */
  @ParameterizedTest
  @CsvSource({
    "sip-2026, tp=5 dp=2 batch=4 tied=on pp=2 zero=1 layers=2",
    "tiny, tp=6 pp=2 schedule=dualpipe microbatches=4 batch=4 layers=4",
    "tiny, 'tp=6 pp=2 stage_layers=3,1 batch=2 layers=4'"
  })
  void layoutsThatAreNamed_canBe(String topology, String params) {
    List<String> asked = new ArrayList<>(List.of((params + " spread=lead").split(" ")));
    RunOptions options = RunOptions.DEFAULT.withMode(Mode.TIME).withTopology(topology);
    Runner runner = Runner.of("test", Progress.SILENT);
    UsageException refused =
        catchThrowableOfType(
            UsageException.class,
            () ->
                runner.run(BenchRegistry.standard().find("train-step"), options.withParams(asked)));
    assertThat(refused).hasMessageContaining("expected one that fits, e.g. ");
    String named = refused.getMessage().replaceAll("(?s).*expected one that fits, e.g. ", "");
    for (String layout : named.split("; ")) {
      List<String> tried = new ArrayList<>(asked);
      for (String param : (layout + (layout.contains("zero=") ? "" : " zero=0")).split(" ")) {
        String name = param.substring(0, param.indexOf('=') + 1);
        tried.removeIf(other -> other.startsWith(name));
        tried.add(param);
      }
      RunResult result =
          runner.run(BenchRegistry.standard().find("train-step"), options.withParams(tried));
      assertThat(result.isOk()).as("%s: %s", tried, result.problems()).isTrue();
    }
  }
}
