package org.kernbench.eval.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.kernbench.device.Mode;
import org.kernbench.device.log.OpLog;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.explain.Segment;
import org.kernbench.eval.output.JsonObject;

/** What the page of a run is drawn from, against the run itself and closed forms. */
final class ReportDataTest {
  private static final int ELEMENTS = 1024;

  private static RunResult run(String bench, RunOptions options, String... params) {
    return Runner.of("test", Progress.SILENT)
        .run(BenchRegistry.standard().find(bench), options.withParams(List.of(params)));
  }

  /** An all-reduce of 2 KiB around two packages, one rank each. */
  private static RunResult ring() {
    return run(
        "ccl-allreduce",
        RunOptions.DEFAULT
            .withTopology("tiny")
            .withOverrides(List.of("system.sips.count=2", "system.sips.topology=ring_1d")),
        "algorithm=ring",
        "rank_level=sip",
        "n_elem=" + ELEMENTS);
  }

  private static final RunResult RING = ring();
  private static final JsonObject DATA = data(RING);

  private static JsonObject data(RunResult result) {
    return JsonObject.read(ReportData.of(result).getBytes(StandardCharsets.UTF_8));
  }

  private static List<?> at(Object list) {
    return (List<?>) list;
  }

  private static double number(Object value) {
    return Double.parseDouble(value.toString());
  }

  @Test
  void conditions_sayWhatWasRunWhereAndHow() {
    JsonObject conditions = DATA.object("conditions");

    assertThat(DATA.text("kind")).isEqualTo("run");
    assertThat(DATA.text("title")).isEqualTo("ccl-allreduce");
    assertThat(DATA.text("status")).isEqualTo("ok");
    assertThat(DATA.list("problems")).isEmpty();
    assertThat(conditions.names()).startsWith("bench", "machine", "mode");
    assertThat(conditions.names()).endsWith("op log hash", "simulated in", "simulated");
    assertThat(conditions.text("machine"))
        .isEqualTo("tiny (configuration " + RING.machineHash() + ")");
    assertThat(conditions.text("algorithm")).isEqualTo("ring");
    assertThat(conditions.text("kernbench")).isEqualTo("test");
    assertThat(conditions.text("op log hash")).isEqualTo(RING.sim().opLogHash());
    assertThat(conditions.text("simulated in")).matches("[\\d,]+ ms, [\\d,]+ events");
    assertThat(conditions.text("simulated in").replace(",", ""))
        .endsWith(" " + RING.sim().events() + " events");
    assertThat(conditions.text("simulated")).isEqualTo("everything");
    assertThat(DATA.object("metrics").number("crit_ns"))
        .isEqualTo(number(RING.metrics().get("crit_ns")));
  }

  /** Exact, within a tolerance, wrong, or not compared. */
  @Test
  void values_areSummedUpInWords() {
    assertThat(DATA.text("values")).matches("[\\d,]+ values compared, all .*");
    assertThat(data(run("hello-send", RunOptions.DEFAULT.withTopology("tiny"))).text("values"))
        .isEqualTo("128 values compared, all exact");
    assertThat(
            data(run("softmax", RunOptions.DEFAULT.withTopology("tiny"), "rows=4", "columns=8"))
                .text("values"))
        .matches("32 values compared, all within 0\\.\\d+");
    assertThat(
            data(run("hello-send", RunOptions.DEFAULT.withTopology("tiny").withMode(Mode.TIME)))
                .text("values"))
        .isEqualTo("no values were compared");
    RunResult wrong =
        run(
            "transformer-block",
            RunOptions.DEFAULT,
            "tp=2",
            "inject=skip-row-sum",
            "tokens=8",
            "batch=1");
    assertThat(wrong.isOk()).isFalse();
    assertThat(data(wrong).text("values")).matches("[\\d,]+ of [\\d,]+ values are wrong");
    assertThat(data(wrong).text("status")).isEqualTo("wrong_values");
    assertThat(data(wrong).texts("problems")).isEqualTo(wrong.problems());
  }

  /** Segment by segment, without a gap, as long as the time that is reported. */
  @Test
  void path_isTheCriticalPath() {
    List<Segment> segments = RING.path().orElseThrow().segments();
    List<?> path = DATA.list("path");

    assertThat(path).hasSize(segments.size());
    double end = DATA.number("begin_ps");
    for (int i = 0; i < path.size(); i++) {
      List<?> one = at(path.get(i));
      assertThat(number(one.get(0))).isEqualTo(end);
      end = number(one.get(1));
      assertThat(one.subList(2, 5).toString())
          .isEqualTo(
              List.of(
                      segments.get(i).cause().text(),
                      segments.get(i).place(),
                      segments.get(i).line())
                  .toString());
    }
    assertThat((end - DATA.number("begin_ps")) / 1000)
        .isCloseTo(number(RING.metrics().get("crit_ns")), within(1e-9));
    double share = 0;
    double ns = 0;
    for (Object each : DATA.list("breakdown")) {
      ns += number(at(each).get(1));
      share += number(at(each).get(2));
    }
    assertThat(share).isCloseTo(1, within(1e-3));
    assertThat(ns).isCloseTo(number(RING.metrics().get("crit_ns")), within(1e-6));
  }

  /** Every operation of the log is a slice of its engine; engines of the path come first. */
  @Test
  void tracks_haveEveryOperationOnce() {
    OpLog log = RING.log().orElseThrow();
    List<String> expected = new ArrayList<>();
    long last = 0;
    for (int id = 0; id < log.size(); id++) {
      expected.add(log.startPs(id) + " " + log.endPs(id) + " " + log.bytes(id));
      last = Math.max(last, log.endPs(id));
    }
    Set<String> critical = new HashSet<>();
    RING.path().orElseThrow().segments().stream()
        .filter(s -> s.op() >= 0)
        .forEach(s -> critical.add(log.pe(s.op()).toString()));
    List<String> slices = new ArrayList<>();
    List<Boolean> onPath = new ArrayList<>();
    List<String> labels = DATA.texts("labels");
    for (Object track : DATA.list("tracks")) {
      String name = at(track).get(0).toString();
      onPath.add(critical.contains(name.substring(0, name.indexOf(' '))));
      for (Object each : at(at(track).get(1))) {
        List<?> slice = at(each);
        slices.add(slice.get(0) + " " + slice.get(1) + " " + slice.get(3));
        assertThat(labels.get((int) number(slice.get(2)))).isNotEmpty();
      }
    }
    assertThat(slices).containsExactlyInAnyOrderElementsOf(expected);
    assertThat(labels).doesNotHaveDuplicates();
    assertThat(onPath).startsWith(true);
    assertThat(onPath.subList(onPath.lastIndexOf(true) + 1, onPath.size())).doesNotContain(true);
    assertThat(onPath.subList(0, onPath.lastIndexOf(true))).doesNotContain(false);
    assertThat(DATA.whole("tracks_left_out")).isZero();
    assertThat(DATA.number("end_ps")).isEqualTo(last);
  }

  /** Around a ring of two every rank sends 2 (p - 1) / p of the vector: all of its bytes. */
  @Test
  void packageLinks_carryWhatTheRingSends() {
    List<String> ways = new ArrayList<>();
    for (Object each : DATA.list("package_links")) {
      List<?> row = at(each);
      ways.add(row.get(0) + " to " + row.get(1) + ": " + row.get(4) + " bytes");
      assertThat(row.get(2).toString()).startsWith("sip" + row.get(0) + ".");
      assertThat(number(row.get(3))).isBetween(0.01, 1.0);
      assertThat(number(row.get(5))).isNotNegative();
    }
    assertThat(ways).containsExactlyInAnyOrder("0 to 1: 2048 bytes", "1 to 0: 2048 bytes");
  }

  @Test
  void busiestLinks_areSorted_andOfTheKindsThatThereAre() {
    List<?> links = DATA.list("busiest_links");
    double before = 1;
    assertThat(links.size()).isBetween(3, 30);
    for (Object each : links) {
      List<?> row = at(each);
      assertThat(row.get(0).toString()).matches("[a-z ]+");
      assertThat(number(row.get(2))).isBetween(0.0, before);
      before = number(row.get(2));
    }
    assertThat(links.toString()).contains("sip to sip");
    assertThat(DATA.list("cube_links")).allMatch(each -> at(each).size() == 7);
  }

  /** Shares of eighty stretches of the time; their mean is what all of it is. */
  @Test
  void useOverTime_isInEightyStretches() {
    JsonObject engines = DATA.object("engines_over_time");
    JsonObject links = DATA.object("links_over_time");
    for (JsonObject each : List.of(engines, links)) {
      assertThat(each.names()).isNotEmpty();
      for (String kind : each.names()) {
        assertThat(each.list(kind)).hasSize(80).allMatch(v -> number(v) >= 0 && number(v) <= 1);
      }
    }
    assertThat(links.names()).contains("sip_to_sip");
    double mean =
        links.list("sip_to_sip").stream().mapToDouble(ReportDataTest::number).average().orElse(0);
    double busy =
        DATA.list("package_links").stream().mapToDouble(row -> number(at(row).get(3))).sum();
    assertThat(mean).isPositive().isLessThanOrEqualTo(busy);
  }

  @Test
  void cubeInside_isADrawingOfTheBusiestCube() {
    JsonObject inside = DATA.object("cube_inside");
    List<?> nodes = inside.list("nodes");

    assertThat(inside.text("name")).matches("sip[01]\\.cube\\d+");
    assertThat(nodes).extracting(n -> at(n).get(0).toString()).doesNotHaveDuplicates();
    assertThat(nodes).extracting(n -> at(n).get(0).toString()).contains("pe0", "pe1");
    assertThat(inside.list("links")).isNotEmpty();
    for (Object each : inside.list("links")) {
      List<?> row = at(each);
      assertThat(row.get(2).toString()).contains(inside.text("name"));
      assertThat(List.of((int) number(row.get(0)), (int) number(row.get(1))))
          .doesNotHaveDuplicates()
          .allMatch(n -> n >= 0 && n < nodes.size());
    }
  }

  @Test
  void machine_andWhatItsNumbersAreWorth() {
    JsonObject machine = DATA.object("machine");
    assertThat(machine.whole("sips")).isEqualTo(2);
    assertThat(machine.whole("cube_width") * machine.whole("cube_height")).isEqualTo(4);
    assertThat(machine.whole("pes")).isEqualTo(2);

    List<?> worth = DATA.list("sensitivities");
    assertThat(worth.size()).isBetween(3, 20);
    for (Object each : worth) {
      List<?> row = at(each);
      assertThat(row).hasSize(5);
      assertThat(row.get(0).toString()).contains(".");
      assertThat(row.get(2).toString()).matches("1 %|to .+");
      assertThat(row.subList(3, 5).stream().filter(v -> !v.equals("")).mapToDouble(v -> number(v)))
          .anyMatch(ns -> ns != 0);
    }
    assertThat(DATA.texts("why")).isNotEmpty();
  }

  @Test
  void run_withoutTime_hasNoTimeline() {
    JsonObject values =
        data(run("hello-send", RunOptions.DEFAULT.withTopology("tiny").withMode(Mode.VALUES)));

    assertThat(values.has("tracks")).isFalse();
    assertThat(values.list("breakdown")).isEmpty();
    assertThat(values.list("why")).isEmpty();
    assertThat(values.object("machine").whole("sips")).isEqualTo(1);
  }
}
