package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.Bench;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;

/**
 * Layouts, models, machines and options drawn at random: whatever is asked for runs, with the
 * values of one rank and no operation quicker than its bound, or is refused before anything runs.
 */
final class DrawnLayoutsTest {
  private static final List<List<String>> PLACES =
      List.of(
          List.of("sip-2026", "sip"),
          List.of("sip-2026", "cube"),
          List.of("sip-2026", "pe"),
          List.of("kb-compat", "cube"),
          List.of("sip-2026-compute", "sip"),
          List.of("sip-2026-compute", "cube"),
          List.of("../examples/machines/cubes-3x2.yaml", "sip"),
          List.of("dgx-a100", "pe"));

  /** What one seed asks for. */
  private static final class Drawn {
    private final List<String> params = new ArrayList<>();
    private final Random random;
    private final List<String> place;
    private final String bench;
    private final String model;
    private final String dtype;

    /** Small models if values are computed; else those whose tensors exceed a PE, too. */
    Drawn(int seed, Mode mode) {
      random = new Random(31L * seed + 7);
      place = PLACES.get(random.nextInt(PLACES.size()));
      bench = one("train-step", "train-step", "transformer-block", "tp-mlp");
      boolean experts = !bench.equals("tp-mlp");
      model =
          mode == Mode.TIME
              ? one("gpt2-small", "gpt2-small", "tiny-llama", experts ? "tiny-moe" : "gpt2-small")
              : one("tiny-gpt", "tiny-llama", experts ? "tiny-moe" : "tiny-gpt")
                  .replace("tiny-moe", one("tiny-moe", "tiny-deepseek"));
      dtype = one("bf16", "bf16", "f32", "f16");
      add("model", model);
      add("dtype", dtype);
      add("rank_level", place.get(1));
      add("tokens", one("12", "24", "48"));
      add("batch", "2");
      add("spread", one("all", "all", "lead"));
      add("tp", one("1", "1", "2", "3"));
      add("dp", one("1", "2"));
      if (experts) {
        add("cp", one("1", "1", "2"));
        add("context", one("ring", "all-gather", "ulysses"));
      }
      if (model.equals("tiny-moe") || model.equals("tiny-deepseek")) {
        add("experts", "4");
        add("topk", one("1", "2"));
        add("ep", one("1", "2"));
        add("routing", one("drawn", "even"));
      }
      if (bench.equals("train-step")) {
        step();
      }
    }

    private void step() {
      add("vocabulary", one("96", "510"));
      add("layers", "1");
      add("recompute", one("none", "full", "attention"));
      add("overlap", one("on", "off"));
      add("zero", one("0", "1", "2", "3"));
      add("dropout", one("0", "0", "0.1"));
      add("loss_scale", dtype.equals("f16") ? "64" : "none");
      if (dtype.equals("bf16")) {
        add("f8", one("off", "current"));
        add("grad_dtype", one("f32", "bf16"));
      }
    }

    private String one(String... of) {
      return of[random.nextInt(of.length)];
    }

    private void add(String name, String value) {
      params.add(name + "=" + value);
    }

    /** False if it was refused, which a run that has begun may not be. */
    private boolean runs(Mode mode) {
      Bench found = BenchRegistry.standard().find(bench);
      if (mode == Mode.TIME) {
        add("rows", "operations");
      }
      RunOptions options =
          RunOptions.DEFAULT
              .withTopology(place.getFirst())
              .withMode(mode)
              .withParams(params)
              .withOverrides(random.nextBoolean() ? List.of() : List.of("fabric.chunk=32KiB"));
      String what = bench + " on " + place + " " + params;
      RunResult result;
      try {
        result = Runner.of("test", Progress.SILENT).run(found, options);
      } catch (UsageException e) {
        assertThat(e).as(what).hasMessageContaining("expected");
        return false;
      }
      assertThat(result.problems()).as(what).isEmpty();
      if (mode == Mode.TIME) {
        result.rows().forEach(row -> assertBounded(what, row));
        assertBounded(
            what,
            Map.of(
                "time_ns", result.metrics().get("crit_ns"),
                "bound_ns", result.metrics().get("bound_ns")));
      }
      return true;
    }

    private static void assertBounded(String what, Map<String, Object> row) {
      if (row.get("bound_ns") instanceof Number bound) {
        double time = ((Number) row.get("time_ns")).doubleValue();
        assertThat(time).as("%s%n%s", what, row).isGreaterThanOrEqualTo(bound.doubleValue());
      }
    }
  }

  private static void run(int from, int count, Mode mode) {
    int ran = 0;
    for (int seed = from; seed < from + count; seed++) {
      ran += new Drawn(seed, mode).runs(mode) ? 1 : 0;
    }
    assertThat(ran).isGreaterThan(count / 3);
  }

  @Test
  void drawnLayouts_haveTheValuesOfOneRank() {
    run(0, 12, Mode.FULL);
  }

  @Test
  void drawnLayouts_takeNoLessThanTheirBounds() {
    run(0, 10, Mode.TIME);
  }

  @ParameterizedTest
  @Tag("slow")
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
  void manyDrawnLayouts_runOrAreRefused(int block) {
    run(block * 1000, 60, Mode.FULL);
    run(block * 1000, 40, Mode.TIME);
  }

  /** A program's choice of PEs does not change what its ranks could do. */
  @Test
  void bound_ofAStep_isThatOfAllPesOfItsRanks_whicheverCompute() {
    Map<String, Object> lead = block("lead");
    Map<String, Object> cube = block("cube");
    Map<String, Object> all = block("all");

    assertThat(List.of(lead.get("bound_ns"), cube.get("bound_ns")))
        .containsOnly(all.get("bound_ns"));
    double mfu = ((Number) lead.get("mfu_pct")).doubleValue();
    double time = ((Number) lead.get("crit_ns")).doubleValue();
    for (Map<String, Object> other : List.of(cube, all)) {
      double ratio = time / ((Number) other.get("crit_ns")).doubleValue();
      assertThat(((Number) other.get("mfu_pct")).doubleValue() / mfu)
          .isCloseTo(ratio, within(0.01 * ratio));
    }
  }

  private static Map<String, Object> block(String spread) {
    return result(
            "transformer-block",
            Mode.TIME,
            List.of(
                "model=gpt2-small",
                "tokens=64",
                "batch=1",
                "tp=2",
                "rank_level=sip",
                "spread=" + spread))
        .metrics();
  }

  private static RunResult result(String bench, Mode mode, List<String> params) {
    return Runner.of("test", Progress.SILENT)
        .run(
            BenchRegistry.standard().find(bench),
            RunOptions.DEFAULT.withMode(mode).withParams(params));
  }

  /** Values of a head narrower than its keys, round a ring, in a type that sums in a wider one. */
  @ParameterizedTest
  @ValueSource(strings = {"ring", "all-gather", "ulysses"})
  void narrowValues_inAnyExchange_haveTheValuesOfOneRank(String context) {
    List<String> params =
        List.of("model=tiny-deepseek", "tp=1", "cp=2", "sp=off", "context=" + context);
    assertThat(result("transformer-block", Mode.FULL, params).isOk()).isTrue();
  }

  /** Gradients of a rank's piece are one row, longer than the TCM of its only PE. */
  @ParameterizedTest
  @ValueSource(strings = {"1", "2", "3"})
  void dividedGradients_onOnePe_areScaledInBlocks(String zero) {
    List<String> params =
        List.of(
            "model=gpt2-small",
            "layers=1",
            "tokens=16",
            "vocabulary=64",
            "tp=1",
            "sp=off",
            "dp=2",
            "zero=" + zero);
    assertThat(result("train-step", Mode.TIME, params).isOk()).isTrue();
  }
}
