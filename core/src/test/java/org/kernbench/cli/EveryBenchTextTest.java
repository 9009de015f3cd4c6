package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.kernbench.eval.Bench;
import org.kernbench.eval.benches.BenchRegistry;

/** What a run of each bench prints, on small parameters and without values, as reviewed. */
final class EveryBenchTextTest {
  private static final Map<String, List<String>> SMALLER =
      Map.of(
          "ccl-allreduce", List.of("n_elem=512"),
          "collective", List.of("max_size=1 KiB"),
          "gpt3-qkv", List.of("hidden=1024"),
          "rank-scale", List.of("ranks=32", "calls=4"),
          "ring-scale", List.of("ranks=16"),
          "pe2pe", List.of("most=512 B"),
          "tp-mlp", List.of("tokens=32"),
          "transformer-block", List.of("tokens=32"));

  /** Many configurations each, which have goldens of their own. */
  private static final List<String> LONG =
      List.of("ccl-latency-sweep", "milestone-1h-ccl", "milestone-1h-gemm");

  @Test
  void text_ofEveryBench_isTheReviewedOne() {
    StringBuilder all = new StringBuilder();
    for (Bench bench : BenchRegistry.standard().all()) {
      if (LONG.contains(bench.name())) {
        continue;
      }
      List<String> words = new ArrayList<>(List.of("run", bench.name(), "--mode", "time"));
      SMALLER
          .getOrDefault(bench.name(), List.of())
          .forEach(p -> words.addAll(List.of("--param", p)));
      Session session = Session.of(words.toArray(String[]::new));
      assertThat(session.exitCode()).as(bench.name() + session.err()).isZero();
      String conditions = session.out().substring(0, session.out().indexOf("\n\n"));
      assertThat(conditions.lines().mapToInt(String::length).max().orElse(0))
          .as(conditions)
          .isLessThanOrEqualTo(120);
      all.append("$ kernbench ").append(String.join(" ", words)).append('\n');
      all.append(masked(session.out())).append('\n');
    }
    Golden.check("output/every-bench.txt", all.toString());
  }

  @Test
  void json_keepsTheWholeCondition_thatTextCutsShort() {
    String[] run = {"run", "transformer-block", "--mode", "time", "--param", "tokens=32"};
    String text = Session.of(run).out();
    List<String> asJson = new ArrayList<>(List.of(run));
    asJson.addAll(List.of("--format", "json"));
    String json = Session.of(asJson.toArray(String[]::new)).out();

    assertThat(text).containsPattern("reuse=[0-9,]+ of [0-9,]+ launches .*; \\.\\.\\.\n");
    assertThat(json)
        .containsPattern("\"reuse\": \"[0-9,]+ of .* simulated: .* first of their kind");
  }

  private static String masked(String text) {
    return text.replaceAll(", products by vector-\\d+", "")
        .replaceAll("\\.java:\\d+", ".java:LINE")
        .replaceAll(" events in [0-9,.]+ m?s", " events in MASKED ms");
  }
}
