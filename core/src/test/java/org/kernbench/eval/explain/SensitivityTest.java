package org.kernbench.eval.explain;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Mode;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.report.Explanation;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.sim.Rate;

/** Sensitivities computed from the critical path, against closed forms and against simulation. */
final class SensitivityTest {
  private static final BenchRegistry BENCHES = BenchRegistry.standard();
  private static final Runner RUNNER = Runner.of("test", Progress.SILENT);

  private static RunOptions options(String machine, String... params) {
    return RunOptions.DEFAULT.withTopology(machine).withParams(List.of(params));
  }

  private static Explanation explain(String bench, RunOptions options) {
    return Explanation.of(RUNNER.run(BENCHES.find(bench), options));
  }

  private static Explanation verified(String bench, RunOptions options) {
    return explain(bench, options)
        .verified(RUNNER.simulationOf(BENCHES.find(bench), options), Progress.SILENT);
  }

  private static Sensitivity of(Explanation e, String path) {
    return e.sensitivities().stream()
        .filter(s -> s.parameter().path().equals(path))
        .findFirst()
        .orElseThrow();
  }

  private static long more(Explanation e, String path) {
    return of(e, path).more().orElseThrow().computedPs();
  }

  private static long less(Explanation e, String path) {
    return of(e, path).less().orElseThrow().computedPs();
  }

  // ---- against closed forms ----

  /** Costs of a path do not say when a buffer has room or a bank is open. */
  @Test
  void leftOut_ofMachinesWithFiniteBuffersOrBanks_isSaid() {
    assertThat(Sensitivity.leftOut(Machines.load("ring", List.of()))).isEmpty();
    assertThat(Sensitivity.leftOut(Machines.load("ring", List.of("fabric.buffer=4 KiB"))))
        .hasValueSatisfying(what -> assertThat(what).startsWith("waiting for room in finite"));
    assertThat(Sensitivity.leftOut(Machines.load("tiny", List.of("cube.hbm.fidelity=banked"))))
        .hasValueSatisfying(what -> assertThat(what).startsWith("what banks of HBM do"));
  }

  @Test
  void messageBetweenPackages_latencies_countWithTheirCrossings() {
    // sip0.cube0.pe0 -> sip1.cube0.pe0 of the ring preset, one PE per package: PE to router, router
    // to IO, package link, IO to router, router to PE
    Explanation e = explain("hello-send", options("ring", "to=sip1.cube0.pe0", "n_elem=4096"));

    assertThat(more(e, "system.links.sip_to_sip.latency")).isEqualTo(2_500);
    assertThat(less(e, "system.links.sip_to_sip.latency")).isEqualTo(-2_500);
    assertThat(more(e, "sip.links.cube_to_io.latency")).isEqualTo(2 * 120);
    assertThat(more(e, "pe.dma.message_overhead")).isEqualTo(80);
    assertThat(more(e, "pe.dma.setup")).isEqualTo(2 * 280); // of the load and of the store
    assertThat(more(e, "pe.cpu.dispatch")).isEqualTo(10); // the load; later commands wait for it
  }

  @Test
  void messageBetweenPackages_bandwidth_onlyTheNarrowestLinkCounts() {
    Explanation e = explain("hello-send", options("ring", "to=sip1.cube0.pe0", "n_elem=4096"));

    long chunk = 1024;
    long before = 8 * Rate.ofBytesPerSecond(200_000_000_000L).durationPs(chunk);
    long after = 8 * Rate.ofBytesPerSecond(202_000_000_000L).durationPs(chunk);
    assertThat(more(e, "system.links.sip_to_sip.bandwidth")).isEqualTo(after - before);
    assertThat(more(e, "sip.links.cube_to_io.bandwidth")).isZero();
  }

  @Test
  void twoEqualLinksInARow_aSlowerOneCosts_aFasterOneGainsNothing() {
    // 256 GB/s from the PE to its router and from router to router
    Explanation e = explain("hello-send", options("tiny", "to=sip0.cube0.pe1", "n_elem=8192"));

    long slower = less(e, "cube.noc.bandwidth");
    long chunk = Rate.ofBytesPerSecond(253_440_000_000L).durationPs(1024) - 4_000;
    assertThat(slower).isEqualTo(16 * chunk);
    assertThat(more(e, "cube.noc.bandwidth")).isZero();
  }

  /**
   * A switch that adds up at half the rate of its ports is what all but the first of 16 pieces wait
   * for: 16 KiB each, at a share e of 200 GB/s. What 1 % is worth follows, and another run says the
   * same.
   */
  @Test
  void switchThatAddsUpSlowly_shareOfItsRate_isWorthAllPiecesButOne() {
    String[] set = {
      "system.sips.count=4",
      "system.sips.topology=switch",
      "system.sips.reduces=true",
      "system.sips.reduction_efficiency=0.5"
    };
    String[] params = {"algorithm=in_switch", "rank_level=sip", "n_elem=131072"};
    RunOptions options =
        options("model-sips", params)
            .withOverrides(List.of(set))
            .withMode(Mode.TIME)
            .withCclOverrides(List.of("algorithms.in_switch.chunk=16 KiB"));
    Explanation e = verified("ccl-allreduce", options);

    long at50 = 15 * Rate.ofBytesPerSecond(100_000_000_000L).durationPs(16 << 10);
    long at49 = 15 * Rate.ofBytesPerSecond(99_000_000_000L).durationPs(16 << 10);
    Sensitivity.Effect less = of(e, "system.sips.reduction_efficiency").less().orElseThrow();
    assertThat(less.computedPs()).isEqualTo(at49 - at50);
    assertThat(less.simulatedPs()).hasValue(at49 - at50);
    assertThat(more(e, "system.links.sip_to_sip.latency"))
        .isEqualTo(2 * 2_500); // 1 % of 249,996 ps
  }

  // ---- against simulation ----

  /** What a library's protocol takes is a function of its numbers and of the link, not fixed. */
  @ParameterizedTest
  @CsvSource({
    "dgx-h100, all_reduce, ring, 2 MiB",
    "dgx-h100, reduce, chain, 512 KiB",
    "dgx-a100, all_gather, cycle, 64 KiB",
  })
  void sensitivities_toALibrarysProtocol_areWhatSimulationSays(
      String machine, String op, String algorithm, String bytes) {
    assertProtocol(machine, op, algorithm, bytes);
  }

  @Tag("slow")
  @ParameterizedTest
  @CsvSource({
    "dgx-h100, all_reduce, ring, 16 MiB",
    "dgx-h100, reduce, chain, 2 MiB",
    "dgx-h100, reduce, chain, 4 MiB",
    "2x-dgx-h100, all_reduce, hierarchical, 8 KiB",
    "2x-dgx-h100, all_reduce, hierarchical, 64 KiB",
  })
  void sensitivities_toALibrarysProtocol_ofLongVectors(
      String machine, String op, String algorithm, String bytes) {
    assertProtocol(machine, op, algorithm, bytes);
  }

  private static void assertProtocol(String machine, String op, String algorithm, String bytes) {
    Explanation e =
        verified(
            "collective",
            options(
                    machine,
                    "op=" + op,
                    "algorithm=" + algorithm,
                    "rank_level=sip",
                    "min_size=" + bytes,
                    "max_size=" + bytes)
                .withMode(Mode.TIME)
                .withPoint("1"));
    long time = e.breakdown().totalPs();

    long moved = 0;
    for (Sensitivity s : e.sensitivities()) {
      for (Sensitivity.Effect effect :
          Stream.of(s.more(), s.less()).flatMap(Optional::stream).toList()) {
        if (s.parameter().path().startsWith("software.collective.")
            || s.parameter().path().equals("system.links.sip_to_sip.bandwidth")) {
          assertThat(s.verdict(effect, time))
              .as("%s %s", s.parameter().path(), effect)
              .isNotEqualTo(Optional.of(Sensitivity.Verdict.DIFFERS));
          moved += Math.abs(effect.computedPs());
        }
      }
    }
    assertThat(moved).as("1 %% of all that the protocol is made of").isGreaterThan(time / 200);
  }

  @ParameterizedTest
  @CsvSource({
    "hello-send, tiny, to=sip0.cube0.pe1",
    "hello-send, ring, to=sip3.cube0.pe0;n_elem=50000",
    "hello-send, sip-2026, to=sip5.cube9.pe7;n_elem=1000",
  })
  void sensitivities_nobodyElseOnTheWay_areWhatSimulationSays(
      String bench, String machine, String params) {
    Explanation e = verified(bench, options(machine, params.split(";")));

    for (Sensitivity s : e.sensitivities()) {
      MachineParameter.Kind kind = s.parameter().kind();
      // another slot size is another number of fragments
      if (kind != MachineParameter.Kind.COUNT && kind != MachineParameter.Kind.SIZE) {
        for (Sensitivity.Effect x : effects(s)) {
          assertThat(x.simulatedPs()).as(x.step().override()).hasValue(x.computedPs());
        }
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "ccl-allreduce, tiny, n_elem=1000, 90",
    "ccl-allreduce, tiny, n_elem=1000;algorithm=tree, 85",
    "ccl-allreduce, tiny, n_elem=1000;algorithm=mesh, 85",
    "ccl-allreduce, tiny, n_elem=4000;algorithm=hello_send, 85",
    "ring-scale, ring, ranks=5;bytes=64 KiB, 90",
  })
  void sensitivities_ofCollectives_agreeWithSimulationOrThePathSwitches(
      String bench, String machine, String params, int percent) {
    assertAgree(bench, options(machine, params.split(";")), percent);
  }

  @Tag("slow")
  @ParameterizedTest
  @CsvSource({
    "ccl-allreduce, sip-2026, n_elem=8192, 90",
    "ccl-allreduce, sip-2026, n_elem=49152, 90",
    "ccl-allreduce, kb-compat, n_elem=8192, 90",
    "ccl-allreduce, sip-2026, n_elem=8192;algorithm=ring, 85",
    "ccl-allreduce, sip-2026, n_elem=16384;algorithm=root_center_pipelined, 80",
    "ring-scale, ring, ranks=32;bytes=256 KiB, 90",
    "gemm-single-pe, sip-2026, dtype=f16, 90",
    "softmax, sip-2026, dtype=f32, 90",
    "layernorm, sip-2026, dtype=f32, 90",
    "attention-decode, sip-2026, dtype=f16, 90",
    "moe-dispatch, sip-2026, dtype=f16, 90",
  })
  void sensitivities_ofLargeRuns_agreeWithSimulationOrThePathSwitches(
      String bench, String machine, String params, int percent) {
    assertAgree(bench, options(machine, params.split(";")), percent);
  }

  /** Where they do not agree, the simulated path is another one: never a wrong cost. */
  private static void assertAgree(String bench, RunOptions options, int percent) {
    Explanation e = verified(bench, options);
    long time = e.breakdown().totalPs();
    int all = 0;
    int agreeing = 0;
    for (Sensitivity s : e.sensitivities()) {
      for (Sensitivity.Effect x : effects(s)) {
        if (x.simulatedPs().isPresent() && s.parameter().kind() != MachineParameter.Kind.COUNT) {
          boolean cutOtherwise = s.parameter().kind() == MachineParameter.Kind.SIZE;
          assertThat(x.agrees(time) || cutOtherwise || !x.samePath())
              .as("%s: %s", x.step().override(), x)
              .isTrue();
          all++;
          agreeing += x.agrees(time) ? 1 : 0;
        }
      }
    }
    assertThat(all).isGreaterThan(80);
    assertThat(100.0 * agreeing / all).isGreaterThanOrEqualTo(percent);
  }

  private static List<Sensitivity.Effect> effects(Sensitivity s) {
    return Stream.of(s.more(), s.less()).flatMap(Optional::stream).toList();
  }

  // ---- the numbers of a machine ----

  @ParameterizedTest
  @ValueSource(strings = {"sip-2026", "kb-compat", "tiny", "ring", "sip-2026-compute"})
  void parameters_stepsOfAPreset_changeOneLineOfItsConfiguration(String preset) {
    Machine machine = Machines.load(preset, List.of());
    List<String> before = Arrays.asList(machine.configText().split("\n"));
    List<MachineParameter> all = MachineParameter.of(machine);

    assertThat(all).extracting(MachineParameter::path).doesNotHaveDuplicates();
    for (MachineParameter p : all) {
      p.more().ifPresent(step -> assertThat(step.change()).isNotNegative());
      p.less().ifPresent(step -> assertThat(step.change()).isNegative());
      for (MachineParameter.Step step :
          Stream.of(p.more(), p.less()).flatMap(Optional::stream).toList()) {
        List<String> after = Arrays.asList(step.machine().configText().split("\n"));
        assertThat(after).hasSameSizeAs(before);
        List<String> changed = after.stream().filter(line -> !before.contains(line)).toList();
        assertThat(changed).containsExactly(step.override());
      }
    }
  }

  @Test
  void parameters_everyQuantityOfTheDefaultMachine_hasSteps() {
    Machine machine = Machines.load("sip-2026", List.of());
    List<MachineParameter> all = MachineParameter.of(machine);

    for (String line : machine.configText().split("\n")) {
      if (line.matches(".*=[0-9.]+ ?(ps|ns|us|B|KiB|MiB|GB/s|GHz)")) {
        assertThat(all)
            .as(line)
            .anyMatch(p ->
                line.startsWith(p.path() + "=") && (p.more().isPresent() || p.less().isPresent()));
      }
    }
    assertThat(all)
        .extracting(MachineParameter::path)
        .contains("ipcq.slots", "cube.hbm.efficiency");
    assertThat(all).extracting(MachineParameter::path).doesNotContain("system.sips.count");
  }
}
