package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Training steps on packed sequences, as the command line runs them. */
final class PackedStepTest {
  private static Session run(String mode, String params) {
    List<String> args =
        new ArrayList<>(
            List.of("run", "train-step", "--mode", mode, "--param", "dtype=f64", "--quiet"));
    for (String param : params.split(" ")) {
      args.addAll(List.of("--param", param));
    }
    Session session = Session.of(args.toArray(String[]::new));
    assertThat(session.exitCode()).as(session.out() + session.err()).isZero();
    return session;
  }

  /**
   * Loss, gradients and stepped parameters are those of one rank, which has the documents whole.
   */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "documents=9 tp=2 cp=2",
        "documents=9 tp=1 cp=2 context=ring dp=2",
        "documents=20:3 tp=1 pp=2 microbatches=2",
        "documents=9 model=tiny-llama tp=2 recompute=full"
      })
  void layouts_equalOneRank(String params) {
    assertThat(run("values", params).out())
        .contains("correct")
        .contains("documents_of_sample=")
        .contains("longest_document=");
  }

  /** Others than without them, and in less time: what is in no document is not computed. */
  @Test
  void documents_changeValuesAndTakeLessTime() {
    String layout = "tp=1 tokens=512 layers=1 batch=1";
    Session whole = run("time", layout);
    Session packed = run("time", layout + " documents=32");
    assertThat(ns(packed)).isLessThan(ns(whole));
    assertThat(run("values", "tp=2 documents=9").out())
        .isNotEqualTo(run("values", "tp=2 documents=9:8").out());
  }

  private static double ns(Session session) {
    String line =
        session.out().lines().filter(l -> l.startsWith("time ")).findFirst().orElseThrow();
    return Double.parseDouble(line.replaceAll("time *([0-9,.]+) ns.*", "$1").replace(",", ""));
  }
}
