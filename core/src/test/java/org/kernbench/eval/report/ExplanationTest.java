package org.kernbench.eval.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.device.log.OpLog;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;

/** What waited, for what and how long, against the log itself; and why some runs have no answer. */
final class ExplanationTest {
  private static RunResult run(String bench, RunOptions options) {
    return Runner.of("test", Progress.SILENT)
        .run(BenchRegistry.standard().find(bench), options.withTopology("tiny"));
  }

  private static final RunResult REDUCED =
      Runner.of("test", Progress.SILENT)
          .explaining()
          .run(
              BenchRegistry.standard().find("ccl-allreduce"),
              RunOptions.DEFAULT.withTopology("tiny").withParams(List.of("n_elem=700")));

  /** Every operation that started later than it was issued is in one group, and only there. */
  @Test
  void waits_areAllThatStartedLaterThanTheyWereIssued() {
    OpLog log = REDUCED.log().orElseThrow();
    List<Explanation.Wait> waits = Explanation.of(REDUCED).waits();
    Map<String, List<Integer>> expected = new TreeMap<>();
    for (int id = 0; id < log.size(); id++) {
      if (log.startPs(id) > log.issuePs(id)) {
        String who = (log.kind(id) + " " + log.line(id)).strip();
        int by = log.causeOp(id);
        String whom = by < 0 ? "" : (log.kind(by) + " " + log.line(by)).strip();
        expected
            .computeIfAbsent(
                who + "|" + log.cause(id).label() + "|" + whom, key -> new ArrayList<>())
            .add(id);
      }
    }
    assertThat(waits).hasSameSizeAs(expected.keySet()).hasSizeGreaterThan(3);
    long before = Long.MAX_VALUE;
    for (Explanation.Wait wait : waits) {
      List<Integer> own = expected.get(wait.who() + "|" + wait.cause() + "|" + wait.by());
      assertThat(own).as(wait.toString()).isNotNull().hasSize(wait.operations());
      List<Long> each = own.stream().map(id -> log.startPs(id) - log.issuePs(id)).toList();
      long longest = each.stream().max(Long::compare).orElseThrow();
      assertThat(wait.ps()).isEqualTo(each.stream().mapToLong(ps -> ps).sum());
      assertThat(wait.longestPs()).isEqualTo(longest);
      assertThat(wait.longestOp()).isEqualTo(own.get(each.indexOf(longest)));
      assertThat(wait.ps()).isLessThanOrEqualTo(before);
      before = wait.ps();
    }
  }

  @Test
  void run_thatCannotBeExplained_saysWhy() {
    assertThatThrownBy(
            () -> Explanation.of(run("hello-send", RunOptions.DEFAULT.withMode(Mode.VALUES))))
        .isInstanceOf(UsageException.class)
        .hasMessage(
            "cannot explain hello-send: mode values has no time; run it in mode full or time");
    assertThatThrownBy(() -> Explanation.of(run("pe-dma", RunOptions.DEFAULT.withMode(Mode.TIME))))
        .isInstanceOf(UsageException.class)
        .hasMessageStartingWith("cannot explain pe-dma: ");
  }

  /** Each number of the machine is simulated with its change; the path is as it was. */
  @Test
  void verified_simulatesEachNumber_andTellsHowFarItIs() {
    Explanation plain = Explanation.of(REDUCED);
    List<String> told = new ArrayList<>();
    List<String> asked = new ArrayList<>();
    Explanation verified =
        plain.verified(
            override -> {
              asked.add(override);
              return Optional.empty();
            },
            (done, total, what) -> told.add(done + "/" + total + " " + what));

    int all = plain.sensitivities().size();
    assertThat(told).hasSize(all + 1);
    assertThat(told.getFirst())
        .isEqualTo("0/" + all + " " + plain.sensitivities().getFirst().parameter().path());
    assertThat(told.getLast()).isEqualTo(all + "/" + all + " ");
    assertThat(asked).hasSizeGreaterThanOrEqualTo(all);
    assertThat(verified.breakdown()).isSameAs(plain.breakdown());
    assertThat(verified.waits()).isEqualTo(plain.waits());
  }
}
