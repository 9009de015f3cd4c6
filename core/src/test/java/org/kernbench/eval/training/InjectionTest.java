package org.kernbench.eval.training;

import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.ValueCheck;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.nn.autograd.Fault;

/**
 * Every mistake of the list, put into every bench that trains: its values are then wrong in the
 * default type, or the bench says why the mistake cannot show there. Without one they are right.
 */
final class InjectionTest {
  private static final Map<String, List<String>> LAYOUT =
      Map.of(
          "tp-mlp",
          List.of("tokens=24", "cp=2", "dp=2"),
          "transformer-block",
          List.of("tokens=24", "cp=2", "dp=2"),
          "train-step",
          List.of("tokens=24", "layers=1", "cp=2", "dp=2"),
          "mimo-train-step",
          List.of("tokens=24", "encoder_layers=1", "language_layers=1", "spread=lead"));

  private static RunResult run(String bench, List<String> params, Optional<Fault> fault) {
    List<String> all = new ArrayList<>(params);
    fault.ifPresent(f -> all.add("inject=" + f.id()));
    RunOptions options = RunOptions.DEFAULT.withMode(Mode.VALUES).withParams(all);
    return Runner.of("test", Progress.SILENT).run(BenchRegistry.standard().find(bench), options);
  }

  private static void show(String text) {
    if (Boolean.getBoolean("kernbench.tests.show")) {
      System.out.println(text);
    }
  }

  private static double worst(RunResult r) {
    return r.values().orElseThrow().compared().stream()
        .mapToDouble(ValueCheck.Compared::worst)
        .max()
        .orElseThrow();
  }

  // ---- right ones ----

  static Stream<List<String>> layouts() {
    List<List<String>> all = new ArrayList<>();
    for (String type : List.of("bf16", "f16", "f32", "f64")) {
      for (String model : List.of("tiny-gpt", "tiny-llama")) {
        for (String layout :
            List.of(
                "tp=1",
                "tp=2 sp=off",
                "tp=4 dp=2",
                "tp=2 cp=2 dp=2",
                "cp=4 tp=1",
                "tp=12 batch=1",
                "cp=3 context=ring tp=2",
                "tp=6 cp=2",
                "dp=8 batch=8 tp=1")) {
          for (String bench : List.of("tp-mlp", "transformer-block", "train-step")) {
            List<String> one = new ArrayList<>(List.of(bench, "tokens=24", "dtype=" + type));
            one.add("model=" + model);
            one.addAll(Arrays.asList(layout.split(" ")));
            if (bench.equals("tp-mlp")) {
              one.removeIf(p -> p.startsWith("context"));
            }
            all.add(one);
          }
        }
      }
    }
    return all.stream();
  }

  @Tag("slow")
  @ParameterizedTest
  @MethodSource("layouts")
  void rightLayout_isCorrect(List<String> setting) {
    RunResult result =
        run(setting.getFirst(), setting.subList(1, setting.size()), Optional.empty());
    show(
        "RIGHT %.3f %s %s"
            .formatted(worst(result), setting, result.values().orElseThrow().compared()));
    assertThat(result.problems()).isEmpty();
  }

  // ---- wrong ones ----

  /** A mistake, and what it takes beyond the layout of the bench. */
  record Case(String bench, Fault fault) {
    List<String> params() {
      List<String> params = new ArrayList<>(LAYOUT.getOrDefault(bench, List.of()));
      if (bench.equals("mimo-train-step")
          && (fault == Fault.ZERO_PAD || fault == Fault.CANONICAL_SLICES)) {
        params.addAll(List.of("encoder=tp=4,dp=2", "language=tp=1,cp=2,dp=4"));
      }
      if (bench.equals("train-step") && fault.isOfPipeline()) {
        params.removeIf(p -> p.startsWith("layers"));
        params.addAll(List.of("layers=2", "pp=2", "batch=4", "microbatches=2"));
      }
      if (bench.equals("mimo-train-step") && fault.isOfPipeline()) {
        params.removeIf(p -> p.contains("layers"));
        params.addAll(List.of("encoder=tp=1,pp=1,dp=2", "language=tp=2,pp=2,dp=1,offset=2"));
        params.addAll(List.of("encoder_layers=1", "language_layers=2", "microbatches=2"));
      }
      if (bench.equals("train-step") && fault.isOfExperts()) {
        params.add("model=tiny-moe");
      }
      if (bench.equals("train-step") && fault.isOfDividedParameters()) {
        params.add("zero=3");
      }
      if (fault.isOfDropout() && !bench.equals("tp-mlp")) {
        params.add("dropout=0.2");
      }
      if (fault == Fault.SPLIT_MASKS) {
        params.add("sp=off");
      }
      if (fault == Fault.REDRAW_MASKS && bench.equals("train-step")) {
        params.add("recompute=full");
      }
      return params;
    }
  }

  private static Stream<Case> cases(List<String> benches) {
    return benches.stream()
        .flatMap(bench ->
            Arrays.stream(Fault.values())
                .filter(f -> f != Fault.NONE)
                .map(f -> new Case(bench, f)));
  }

  static Stream<Case> quick() {
    return cases(List.of("tp-mlp", "transformer-block"));
  }

  static Stream<Case> all() {
    return cases(List.of("tp-mlp", "transformer-block", "train-step", "mimo-train-step"));
  }

  /** What no layout of a bench shows, with the reason. */
  private static final Map<String, String> INVISIBLE =
      Map.ofEntries(
          entry("bridge", "it has no bridge; mimo-train-step has one"),
          entry("encoder", "it has no encoder; mimo-train-step has one"),
          entry("pipeline", "it has no pipeline; train-step has one"),
          entry("experts", "it has no experts; train-step may have some"),
          entry("layers", "its layer is none of a model; train-step has layers"),
          entry("tokens", "it divides no gradients by tokens; train-step does"),
          entry("dropout", "it drops nothing; transformer-block may"),
          entry("recompute", "it recomputes nothing; train-step may"),
          entry("parts", "it gathers no parameters; train-step may"),
          entry("attention", "it has no attention; transformer-block has"));

  private static Optional<String> invisible(Case c) {
    boolean one = !c.bench.equals("mimo-train-step");
    boolean step = c.bench.endsWith("train-step");
    return Optional.ofNullable(
        switch (c.fault) {
          case SKIP_CP_REDUCE, REDUCE_OVER_DP_CP, ZERO_PAD, SWAP_SLOTS, CANONICAL_SLICES ->
              one ? INVISIBLE.get("bridge") : null;
          case AVERAGE_ENCODER, SKIP_ENCODER_SUM -> one ? INVISIBLE.get("encoder") : null;
          case AVERAGE_LANGUAGE, TOKENS_OVER_DP, LOSS_TIMES_CP, TOKENS_OVER_TP ->
              step ? null : INVISIBLE.get("tokens");
          case SKIP_CONTEXT_SUM -> c.bench.equals("tp-mlp") ? INVISIBLE.get("attention") : null;
          case LOSE_MICROBATCH, SWAP_STAGES -> step ? null : INVISIBLE.get("pipeline");
          case WRONG_EXPERT, SKIP_ROUTER_GRADIENT ->
              step ? (one ? null : INVISIBLE.get("experts")) : INVISIBLE.get("layers");
          case REPEAT_MASKS, SPLIT_MASKS ->
              c.bench.equals("tp-mlp") ? INVISIBLE.get("dropout") : null;
          case REDRAW_MASKS -> c.bench.equals("train-step") ? null : INVISIBLE.get("recompute");
          case STALE_PARAMETER -> c.bench.equals("train-step") ? null : INVISIBLE.get("parts");
          default -> null;
        });
  }

  @ParameterizedTest
  @MethodSource("quick")
  void mistake_ofABlock_isSeenOrRefused(Case c) {
    isSeenOrRefused(c);
  }

  @Tag("slow")
  @ParameterizedTest
  @MethodSource("all")
  void mistake_ofAnyBench_isSeenOrRefused(Case c) {
    isSeenOrRefused(c);
  }

  private static void isSeenOrRefused(Case c) {
    Optional<String> reason = invisible(c);
    if (reason.isPresent()) {
      assertThatThrownBy(() -> run(c.bench, c.params(), Optional.of(c.fault)))
          .isInstanceOf(UsageException.class)
          .hasMessage(
              "--inject %s: bench %s cannot show it here: %s"
                  .formatted(c.fault.id(), c.bench, reason.get()));
      return;
    }
    RunResult result = run(c.bench, c.params(), Optional.of(c.fault));
    show(
        "WRONG %.3f %s %s"
            .formatted(result.values().isPresent() ? worst(result) : -1, c, result.problems()));
    if (c.fault == Fault.CANONICAL_SLICES) { // some ranks have rows of samples that are not theirs
      assertThat(result.status()).isEqualTo(RunResult.Status.FAILED);
      assertThat(result.problems().getFirst()).contains("merge of embeddings");
    } else {
      assertThat(result.status()).isEqualTo(RunResult.Status.WRONG_VALUES);
    }
  }
}
