package org.kernbench.eval;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.machine.SimulationException;

/** How a run is judged, by benches that say what they like. */
final class RunnerTest {
  private static final RunOptions TIME = RunOptions.DEFAULT.withMode(Mode.TIME);

  /** A bench that says what a function does. */
  private record Says(Function<BenchContext, Outcome> body) implements Bench {
    @Override
    public String name() {
      return "says";
    }

    @Override
    public String description() {
      return "says what it likes";
    }

    @Override
    public List<Param<?>> params() {
      return List.of();
    }

    @Override
    public Outcome run(BenchContext context) {
      return body.apply(context);
    }
  }

  private static RunResult run(RunOptions options, Function<BenchContext, Outcome> body) {
    return Runner.of("test", Progress.SILENT).run(new Says(body), options);
  }

  private static RunResult run(Function<BenchContext, Outcome> body) {
    return run(RunOptions.DEFAULT, body);
  }

  /** On the smallest machine, with a simulation of so many events. */
  private static Outcome outcome(BenchContext context, long events) {
    return Outcome.on(context.machine("tiny", List.of())).simulated(events, "abc");
  }

  // ---- status ----

  @Test
  void time_atItsBound_isWhole_andOnePicosecondLessIsABug() {
    assertThat(run(c -> outcome(c, 1).time(2_000, 2_000, "latency")).status())
        .isEqualTo(RunResult.Status.OK);
    RunResult less = run(c -> outcome(c, 1).time(1_999, 2_000, "latency"));
    assertThat(less.status()).isEqualTo(RunResult.Status.BOUND_VIOLATED);
    assertThat(less.isOk()).isFalse();
    assertThat(less.problems())
        .singleElement()
        .asString()
        .startsWith("simulated time 1.999 ns is below its lower bound 2.000 ns (latency): ");
  }

  @Test
  void run_thatReturnsNothing_hasFailed() {
    assertThat(run(c -> null).problems())
        .containsExactly("bench says returned null; expected what came of its run");
  }

  @Test
  void run_withoutAnyEvent_hasFailed_whateverElseItSays() {
    RunResult none = run(c -> outcome(c, 0).time(2_000, 1, "x").values(one(1), one(1), 0));
    assertThat(none.status()).isEqualTo(RunResult.Status.FAILED);
    assertThat(none.problems())
        .containsExactly(
            "bench says submitted no work; a bench launches at least one kernel or collective");
    assertThat(run(c -> outcome(c, 1)).problems()).isEmpty();
  }

  @Test
  void wrongValues_areSaidWithPlaceNumberAndTolerance() {
    double[] got = {1, 2.5, 4, 1e15};
    double[] expected = {1, 2, 3, 1e15};
    RunResult wrong =
        run(c -> outcome(c, 1).values(got, expected, 0.25).time(1, 2, "said only of good values"));

    assertThat(wrong.status()).isEqualTo(RunResult.Status.WRONG_VALUES);
    assertThat(wrong.problems())
        .containsExactly(
            "wrong values: 2 of 4; the first at rank 0, index 1: got 2.5, expected 2 (allowed"
                + " difference 0.25)");
    assertThat(run(c -> outcome(c, 1).values(got, expected, 1)).status())
        .isEqualTo(RunResult.Status.OK);
    assertThatThrownBy(() -> outcomeOf(new double[2], new double[3]))
        .hasMessage("got 2 values; expected 3");
  }

  private static double[] one(double value) {
    return new double[] {value};
  }

  private static void outcomeOf(double[] got, double[] expected) {
    run(c -> outcome(c, 1).values(got, expected, 0));
  }

  /** As a whole number where it is one and has at most fifteen digits, else as a decimal. */
  @ParameterizedTest
  @CsvSource({
    "3, 3",
    "-3, -3",
    "0.5, 0.5",
    "999999999999999, 999999999999999",
    "1e15, 1.0E15",
    "NaN, NaN",
    "-Infinity, -Infinity"
  })
  void wrongValue_isWrittenAsShortAsItIs(double value, String text) {
    assertThat(run(c -> outcome(c, 1).values(one(value), one(value == 0 ? 1 : 0), 0)).problems())
        .singleElement()
        .asString()
        .endsWith("index 0: got " + text + ", expected 0 (allowed difference 0)");
  }

  @Test
  void problemThatTheBenchFound_failsTheRun() {
    RunResult result = run(c -> outcome(c, 1).problem("ranks differ").time(2_000, 1_000, "x"));

    assertThat(result.status()).isEqualTo(RunResult.Status.FAILED);
    assertThat(result.problems()).containsExactly("ranks differ");
    assertThat(result.metrics()).containsKey("crit_ns");
  }

  @Test
  void errorOfTheProgram_isAResult_andAnyOtherIsThrown() {
    RunResult failed =
        run(c -> {
          c.machine("tiny", List.of());
          throw new SimulationException("device is full");
        });
    assertThat(failed.status()).isEqualTo(RunResult.Status.FAILED);
    assertThat(failed.problems()).containsExactly("device is full");
    assertThat(failed.machineName()).isEqualTo("tiny");
    assertThat(failed.metrics()).isEmpty();

    assertThatThrownBy(() ->
            run(c -> {
              throw new IllegalStateException("a bug");
            }))
        .isInstanceOf(IllegalStateException.class);
    assertThatThrownBy(() ->
            run(c -> {
              throw new UsageException("not so");
            }))
        .isInstanceOf(UsageException.class);
  }

  // ---- metrics and conditions ----

  @Test
  void metrics_beginWithTimeAndBound_ifThereIsATime() {
    RunResult timed = run(c -> outcome(c, 1).time(2_000, 500, "links").metric("own", 7));
    assertThat(timed.metrics().keySet())
        .containsExactly("crit_ns", "observed_ns", "bound_ns", "bound_kind", "efficiency", "own");
    assertThat(timed.metrics().get("efficiency")).hasToString("0.250000");
    assertThat(timed.metrics().get("crit_ns")).hasToString("2.000");
    assertThat(timed.metrics().get("bound_kind")).isEqualTo("links");

    assertThat(run(c -> outcome(c, 1).time(0, 0, "").metric("own", 7)).metrics())
        .isEqualTo(Map.of("own", 7));
  }

  @Test
  void result_saysWhatWasRunAndHow() {
    RunResult result =
        run(
            TIME,
            c ->
                outcome(c, 12)
                    .condition("algorithm", "ring")
                    .row(Map.of("a", 1))
                    .formula(OptionalLong.of(3)));

    assertThat(result.version()).isEqualTo("test");
    assertThat(result.bench()).isEqualTo("says");
    assertThat(result.mode()).isEqualTo("time");
    assertThat(result.params()).isEqualTo(Map.of("algorithm", "ring"));
    assertThat(result.rows()).containsExactly(Map.of("a", 1));
    assertThat(result.sim().events()).isEqualTo(12);
    assertThat(result.sim().opLogHash()).isEqualTo("abc");
    assertThat(result.sim().numerics()).isEqualTo("none");
    assertThat(run(c -> outcome(c, 12)).sim().numerics()).isNotEqualTo("none");
    assertThat(result.sim().wallMs()).isPositive();
    assertThat(new RunResult.Sim(1000, 250, "", "", SimulatedScope.nothing()).eventsPerSecond())
        .isEqualTo(4000);
    assertThat(new RunResult.Sim(1000, 0, "", "", SimulatedScope.nothing()).eventsPerSecond())
        .isZero();
  }

  // ---- points ----

  /** Three points, of which the second and the third take longest. */
  private static Outcome points(BenchContext context, List<String> ran) {
    long[] ps = {1_000, 3_000, 3_000};
    String[] names = {"a n=1", "b n=2", "c n=3"};
    for (int i = 0; i < 3; i++) {
      if (context.runs(names[i])) {
        ran.add(names[i]);
        context.took(names[i], ps[i]);
      }
    }
    return outcome(context, 1);
  }

  @ParameterizedTest
  @CsvSource({"1, a n=1", "3, c n=3", "b n=2, b n=2", "' B N=2 ', b n=2"})
  void point_isChosenByNumberOrName(String given, String name) {
    List<String> ran = new ArrayList<>();
    RunResult result = run(RunOptions.DEFAULT.withPoint(given), c -> points(c, ran));

    assertThat(ran).containsExactly(name);
    assertThat(result.point()).contains(name);
    assertThat(result.params()).isEqualTo(Map.of("point", name));
  }

  @Test
  void slowestPoint_isTheOneToExplain_theFirstOfThoseAlike() {
    List<String> ran = new ArrayList<>();
    RunResult all = run(c -> points(c, ran));
    assertThat(ran).hasSize(3);
    assertThat(all.point()).contains("b n=2");
    assertThat(all.params()).isEmpty();

    ran.clear();
    Runner runner = Runner.of("test", Progress.SILENT);
    runner.runToExplain(new Says(c -> points(c, ran)), RunOptions.DEFAULT);
    assertThat(ran).containsExactly("a n=1", "b n=2", "c n=3", "b n=2");
    ran.clear();
    runner.runToExplain(new Says(c -> points(c, ran)), RunOptions.DEFAULT.withPoint("3"));
    assertThat(ran).containsExactly("c n=3");
  }

  @ParameterizedTest
  @CsvSource({
    "4, 'expected 1 to 3 or a name, such as \"a n=1\"'",
    "0, 'expected 1 to 3 or a name, such as \"a n=1\"'",
    "b n=3, 'expected 1 to 3 or a name, such as \"a n=1\"; did you mean b n=2?'"
  })
  void point_thatThereIsNot_isRefusedWithThoseThatThereAre(String given, String message) {
    assertThatThrownBy(
            () -> run(RunOptions.DEFAULT.withPoint(given), c -> points(c, new ArrayList<>())))
        .isInstanceOf(UsageException.class)
        .hasMessage("--point " + given + ": " + message);
  }

  @Test
  void recording_keepsAllOfTheOnePointThatWasChosen_andNothingOfMany() {
    List<Integer> kept = new ArrayList<>();
    Function<BenchContext, Outcome> body =
        c -> {
          c.runs("one");
          kept.add(c.recordingOfPoint().opLogLimit());
          kept.add(c.recording(5).opLogLimit());
          return outcome(c, 1);
        };
    run(body);
    run(RunOptions.DEFAULT.withPoint("1"), body);
    Runner.of("test", Progress.SILENT).explaining().run(new Says(body), RunOptions.DEFAULT);

    assertThat(kept.subList(0, 2)).containsExactly(0, 5);
    assertThat(kept.get(2)).isGreaterThan(1000);
    assertThat(kept.get(3)).isEqualTo(5);
    assertThat(kept.get(5)).isEqualTo(10_000_000);
  }

  // ---- other runs beside ----

  private static Outcome hello(BenchContext context) {
    return BenchRegistry.standard().find("hello-send").run(context);
  }

  /** A bench with the parameters of another, of which some runs go wrong. */
  private static RunResult verified(RunOptions options, Function<BenchContext, Outcome> body) {
    Bench bench =
        new Bench() {
          @Override
          public String name() {
            return "verified";
          }

          @Override
          public String description() {
            return "runs another";
          }

          @Override
          public List<Param<?>> params() {
            return BenchRegistry.standard().find("hello-send").params();
          }

          @Override
          public Outcome run(BenchContext context) {
            return body.apply(context);
          }
        };
    return Runner.of("test", Progress.SILENT).run(bench, options.withTopology("tiny"));
  }

  /** Whichever of the two fails, with every launch simulated or used again, is the result. */
  @ParameterizedTest
  @CsvSource({"true", "false"})
  void verifyReuse_ofWhichOneRunFails_hasFailed(boolean reusing) {
    RunResult result =
        verified(
            TIME.withReuse(Reuse.VERIFY),
            c -> c.recording().reuse() == reusing ? hello(c).problem("odd") : hello(c));

    assertThat(result.status()).isEqualTo(RunResult.Status.FAILED);
    assertThat(result.problems()).containsExactly("odd");
    assertThat(result.verified()).isEmpty();
  }

  @Test
  void verifyReuse_ofTwoAlike_saysHowMuchWasCompared() {
    RunResult result = verified(TIME.withReuse(Reuse.VERIFY), RunnerTest::hello);

    assertThat(result.problems()).isEmpty();
    assertThat(result.verified().get("every launch simulated, and launches used again"))
        .matches("the same \\d+ operations, each with its chunks, and 1 launches");
  }

  @Test
  void verifyReuse_thatDiffers_isABug() {
    RunResult result =
        verified(
            TIME.withReuse(Reuse.VERIFY),
            c -> hello(c).metric("own", c.recording().reuse() ? 1 : 2));

    assertThat(result.status()).isEqualTo(RunResult.Status.MODES_DISAGREE);
    assertThat(result.problems())
        .containsExactly(
            "launches used again differ from simulated ones, a bug: metrics, rows or shares of the"
                + " critical path differ");
    assertThat(result.verified()).containsValue("differ");
    assertThat(
            verified(
                    TIME.withReuse(Reuse.VERIFY),
                    c -> hello(c).row(Map.of("own", c.recording().reuse() ? 1 : 2)))
                .isOk())
        .isFalse();
  }

  @Test
  void verifyReuse_isForTimeAlone() {
    for (RunOptions options :
        List.of(
            RunOptions.DEFAULT.withReuse(Reuse.VERIFY),
            TIME.withCheck(true).withReuse(Reuse.VERIFY))) {
      assertThatThrownBy(() -> verified(options, RunnerTest::hello))
          .isInstanceOf(UsageException.class)
          .hasMessage(
              "--verify-reuse: launches stand for others only in mode time, without --check; use"
                  + " --mode time");
    }
    assertThatThrownBy(() -> run(TIME.withReuse(Reuse.VERIFY), c -> outcome(c, 1)))
        .isInstanceOf(UsageException.class)
        .hasMessage("--verify-reuse: bench says keeps no op log to compare");
  }

  @Test
  void verify_comparesTheModes_andSaysWhichDisagree() {
    RunOptions verify =
        new RunOptions(
            Optional.empty(), List.of(), Optional.empty(), List.of(), List.of(), Mode.FULL, true);
    RunResult same = verified(verify, RunnerTest::hello);
    assertThat(same.problems()).isEmpty();
    assertThat(same.verified().keySet()).containsExactly("full and time", "full and values");
    assertThat(same.verified().get("full and time"))
        .isEqualTo("same op log " + same.sim().opLogHash());

    RunResult differs =
        verified(verify, c -> c.mode() == Mode.TIME ? hello(c).simulated(1, "other") : hello(c));
    assertThat(differs.status()).isEqualTo(RunResult.Status.MODES_DISAGREE);
    assertThat(differs.verified().get("full and time")).isEqualTo("differ");
    assertThat(differs.verified().get("full and values")).startsWith("same values ");
    assertThat(differs.problems())
        .containsExactly(
            "modes full and time disagree: op log hash "
                + differs.sim().opLogHash()
                + " and other; the program depends on the order of simulated time, or this is a"
                + " bug");

    RunResult fails =
        verified(
            verify,
            c -> {
              if (c.mode() == Mode.VALUES) {
                throw new SimulationException("not here");
              }
              return hello(c);
            });
    assertThat(fails.problems()).singleElement().asString().contains(" and none: not here; ");
    assertThatThrownBy(() ->
            verified(
                verify,
                c -> {
                  if (c.mode() == Mode.VALUES) {
                    throw new UsageException("no");
                  }
                  return hello(c);
                }))
        .hasMessage(
            "--verify also runs mode values, which bench verified does not have: it measures time;"
                + " leave --verify away");
  }

  // ---- options without an effect ----

  @Test
  void options_thatTheBenchDoesNotHeed_areRefused() {
    assertThatThrownBy(() -> run(TIME.withFolding(Folding.ON), c -> outcome(c, 1)))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("--fold on: bench says simulates every package");
    assertThatThrownBy(() ->
            run(
                RunOptions.DEFAULT.withCclOverrides(List.of("defaults.slots=4")),
                c -> outcome(c, 1)))
        .isInstanceOf(UsageException.class)
        .hasMessageStartingWith("--ccl-set defaults.slots=4: bench says runs no collective");
    assertThatThrownBy(() -> run(RunOptions.DEFAULT.withCheck(true), c -> outcome(c, 1)))
        .isInstanceOf(UsageException.class)
        .hasMessageStartingWith("bench says opens its machines without context.recording()");
    assertThatThrownBy(() -> run(RunOptions.DEFAULT.withPoint("1"), c -> outcome(c, 1)))
        .isInstanceOf(UsageException.class)
        .hasMessage("--point 1: the bench has no points; leave it out");

    Runner many = Runner.of("test", Progress.SILENT).ofMany();
    RunOptions slots = RunOptions.DEFAULT.withCclOverrides(List.of("defaults.slots=4"));
    assertThat(many.run(new Says(c -> outcome(c, 1)), slots).isOk()).isTrue();
  }

  @Test
  void machineOfTheBench_isItsOwn_unlessTheUserChoosesOne() {
    Function<BenchContext, Outcome> body =
        c -> Outcome.on(c.machine("tiny", List.of("ipcq.slots=3"))).simulated(1, "");
    assertThat(run(body).machineName()).isEqualTo("tiny");
    assertThat(run(body).machine().orElseThrow().ipcq().slots()).isEqualTo(3);
    assertThat(run(RunOptions.DEFAULT.withTopology("ring"), body).machineName()).isEqualTo("ring");
    assertThat(run(c -> Outcome.on(c.machine()).simulated(1, "")).machineName())
        .isEqualTo("sip-2026");
    assertThat(
            run(
                    RunOptions.DEFAULT.withTopology("tiny").withOverrides(List.of("ipcq.slots=5")),
                    c -> Outcome.on(c.machineWith("pe.dma.setup=7 ns")).simulated(1, ""))
                .machine()
                .orElseThrow()
                .ipcq()
                .slots())
        .isEqualTo(5);
    assertThatThrownBy(() -> run(RunOptions.DEFAULT.withOverrides(List.of("ipcq.slots=9")), body))
        .isInstanceOf(UsageException.class)
        .hasMessage("--set ipcq.slots=9: the bench sets ipcq.slots itself; leave this out");
    assertThat(run(RunOptions.DEFAULT.withOverrides(List.of("ipcq.slots=3")), body).isOk())
        .isTrue();
  }

  /** Packages may stand for others in mode time only, unchecked, and without an explanation. */
  @Test
  void folding_isOffWhereItMayNotBe() {
    List<Folding> seen = new ArrayList<>();
    Function<BenchContext, Outcome> body =
        c -> {
          seen.add(c.folding());
          return hello(c);
        };
    RunOptions may = TIME.withFolding(Folding.AUTO);
    verified(may, body);
    verified(TIME.withFolding(Folding.ON), body);
    verified(TIME.withFolding(Folding.OFF), body);
    verified(may.withMode(Mode.FULL), body);
    verified(may.withCheck(true), body);
    assertThat(seen)
        .containsExactly(Folding.AUTO, Folding.ON, Folding.OFF, Folding.OFF, Folding.OFF);
    assertThatThrownBy(() -> verified(RunOptions.DEFAULT.withFolding(Folding.ON), body))
        .isInstanceOf(UsageException.class)
        .hasMessageStartingWith("--fold on: one package stands for all only in mode time");
  }
}
