package org.kernbench.eval.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.output.JsonObject;

/** Two runs beside each other: what differs, and where the difference of their times went. */
final class RunDiffTest {
  private static final RunOptions TINY = RunOptions.DEFAULT.withTopology("tiny");

  private static RunResult run(RunOptions options) {
    return Runner.of("test", Progress.SILENT)
        .run(BenchRegistry.standard().find("hello-send"), options);
  }

  private static final RunResult PLAIN = run(TINY);
  private static final RunResult SLOW =
      run(TINY.withOverrides(List.of("cube.hbm.latency=60 ns", "ipcq.slots=7")));

  private static long ps(RunResult result) {
    return result.path().orElseThrow().totalPs();
  }

  @Test
  void conditions_areThoseThatDiffer_andNoOthers() {
    assertThat(RunDiff.of(PLAIN, SLOW).conditions())
        .extracting(RunDiff.Condition::name)
        .containsExactlyInAnyOrder("cube.hbm.latency", "ipcq.slots");
    assertThat(RunDiff.of(PLAIN, SLOW).conditions())
        .filteredOn(c -> c.name().equals("ipcq.slots"))
        .singleElement()
        .satisfies(c -> {
          assertThat(c.a()).isEqualTo("" + PLAIN.machine().orElseThrow().ipcq().slots());
          assertThat(c.b()).isEqualTo("7");
        });
    assertThat(RunDiff.of(PLAIN, PLAIN).conditions()).isEmpty();
  }

  @Test
  void conditions_ofOneRunAlone_areEmptyInTheOther() {
    RunResult other = run(TINY.withMode(Mode.TIME).withParams(List.of("n_elem=5")));
    List<RunDiff.Condition> found = RunDiff.of(PLAIN, other).conditions();

    assertThat(found)
        .containsExactly(
            new RunDiff.Condition("mode", "full", "time"),
            new RunDiff.Condition("n_elem", "128", "5"),
            new RunDiff.Condition("bytes", "256", "10"));
    RunResult more =
        Runner.of("test", Progress.SILENT)
            .run(BenchRegistry.standard().find("gelu"), TINY.withParams(List.of("elements=64")));
    assertThat(RunDiff.of(PLAIN, more).conditions())
        .contains(
            new RunDiff.Condition("bench", "hello-send", "gelu"),
            new RunDiff.Condition("elements", "", "64"),
            new RunDiff.Condition("n_elem", "128", ""));
  }

  /** The parts of either table sum to the difference; what differs most comes first. */
  @Test
  void parts_sumToTheDifference() {
    RunDiff diff = RunDiff.of(PLAIN, SLOW);

    assertThat(diff.differencePs()).isEqualTo(ps(SLOW) - ps(PLAIN)).isPositive();
    assertThat(RunDiff.of(SLOW, PLAIN).differencePs()).isEqualTo(-diff.differencePs());
    for (List<RunDiff.Part> parts : List.of(diff.resources(), diff.places())) {
      assertThat(parts.stream().mapToLong(RunDiff.Part::aPs).sum()).isEqualTo(ps(PLAIN));
      assertThat(parts.stream().mapToLong(RunDiff.Part::bPs).sum()).isEqualTo(ps(SLOW));
      assertThat(parts).allMatch(p -> p.differencePs() == p.bPs() - p.aPs());
      List<Long> sizes = parts.stream().map(p -> Math.abs(p.differencePs())).toList();
      List<Long> sorted = new ArrayList<>(sizes);
      sorted.sort((a, b) -> Long.compare(b, a));
      assertThat(sizes).isEqualTo(sorted);
      assertThat(parts).extracting(p -> p.what() + "|" + p.cause()).doesNotHaveDuplicates();
    }
    assertThat(diff.resources().getFirst().differencePs())
        .as("the latency that was changed is the resource that made the difference")
        .isEqualTo(diff.differencePs());
    assertThat(diff.places()).isNotEqualTo(diff.resources());
  }

  @Test
  void partsAlike_areInTheOrderOfTheirNames() {
    List<String> names =
        RunDiff.of(PLAIN, PLAIN).places().stream().map(p -> p.what() + "\0" + p.cause()).toList();
    assertThat(names).hasSizeGreaterThan(2).isSorted();
  }

  @Test
  void json_hasAllOfIt() {
    RunDiff diff = RunDiff.of(PLAIN, SLOW);
    JsonObject json = JsonObject.read(diff.toJson().getBytes(StandardCharsets.UTF_8));

    assertThat(json.names())
        .containsExactly("schema", "a", "b", "difference_ns", "conditions", "resources", "places");
    assertThat(json.whole("schema")).isEqualTo(1);
    assertThat(json.number("difference_ns")).isEqualTo(diff.differencePs() / 1e3);
    assertThat(json.object("a").text("bench")).isEqualTo("hello-send");
    assertThat(json.object("a").text("machine")).isEqualTo("tiny");
    assertThat(json.object("a").number("crit_ns")).isEqualTo(ps(PLAIN) / 1e3);
    assertThat(json.object("b").number("crit_ns")).isEqualTo(ps(SLOW) / 1e3);
    assertThat(json.objects("conditions")).hasSize(2);
    for (String table : List.of("resources", "places")) {
      List<RunDiff.Part> parts = table.equals("places") ? diff.places() : diff.resources();
      List<JsonObject> rows = json.objects(table);
      assertThat(rows).hasSize(parts.size());
      for (int i = 0; i < rows.size(); i++) {
        assertThat(rows.get(i).text("what")).isEqualTo(parts.get(i).what());
        assertThat(rows.get(i).text("cause")).isEqualTo(parts.get(i).cause());
        assertThat(rows.get(i).number("a_ns")).isEqualTo(parts.get(i).aPs() / 1e3);
        assertThat(rows.get(i).number("b_ns")).isEqualTo(parts.get(i).bPs() / 1e3);
        assertThat(rows.get(i).number("difference_ns"))
            .isEqualTo(parts.get(i).differencePs() / 1e3);
      }
    }
  }

  @Test
  void run_withoutACriticalPath_isRefusedWithTheReason() {
    RunResult values = run(TINY.withMode(Mode.VALUES));
    for (List<RunResult> pair : List.of(List.of(PLAIN, values), List.of(values, PLAIN))) {
      assertThatThrownBy(() -> RunDiff.of(pair.get(0), pair.get(1)))
          .isInstanceOf(UsageException.class)
          .hasMessage(
              "cannot explain hello-send: mode values has no time; run it in mode full or time");
    }
  }
}
