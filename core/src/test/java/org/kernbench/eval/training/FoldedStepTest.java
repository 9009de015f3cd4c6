package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.device.log.OpLog;
import org.kernbench.eval.Folding;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.machine.Machine;

/**
 * A training step of which one package is simulated for all has every row of every package, or says
 * why it cannot (ADR 0332).
 */
final class FoldedStepTest {
  private static final String ALIKE = " samples=alike";

  private static RunOptions options(
      String network, String params, Folding folding, String... more) {
    List<String> machine = new ArrayList<>(List.of(network.split(" ")));
    machine.add("pe.mmu.miss=0 ns");
    machine.addAll(List.of(more));
    return RunOptions.DEFAULT
        .withTopology("tiny")
        .withOverrides(machine)
        .withMode(Mode.TIME)
        .withParams(List.of(params.split(" ")))
        .withFolding(folding);
  }

  private static RunResult run(RunOptions options) {
    return Runner.of("", Progress.SILENT).run(new TrainingBench(TrainingBench.Scope.STEP), options);
  }

  /** By PE of a package, what each operation did when and why; not which others it waited for. */
  private static Map<String, List<String>> rows(RunResult result, int sip) {
    OpLog log = result.log().orElseThrow();
    assertThat(log.isComplete()).isTrue();
    Map<String, List<String>> rows = new TreeMap<>();
    for (int id = 0; id < log.size(); id++) {
      if (log.pe(id).sip() == sip) {
        String row =
            "%s %s %s-%s-%s %s B, %s, %s, %s, %s"
                .formatted(
                    log.launches().name(log.launch(id)),
                    log.kind(id),
                    log.issuePs(id),
                    log.startPs(id),
                    log.endPs(id),
                    log.bytes(id),
                    log.contentionPs(id),
                    log.serialisationPs(id),
                    log.translationPs(id),
                    log.cause(id));
        String place = "cube %s, PE %s".formatted(log.pe(id).cube(), log.pe(id).pe());
        rows.computeIfAbsent(place, p -> new ArrayList<>()).add(row);
      }
    }
    return rows;
  }

  private static void assertSame(String network, String params) {
    RunResult all = run(options(network, params + ALIKE, Folding.OFF));
    RunResult one = run(options(network, params + ALIKE, Folding.ON));
    Machine machine = all.machine().orElseThrow();
    assertThat(one.params().get("fold").toString())
        .startsWith("folded " + machine.sips() + " packages in 1 orbit");
    Map<String, List<String>> expected = rows(one, 0);
    assertThat(expected).isNotEmpty();
    for (int sip = 0; sip < machine.sips(); sip++) {
      Map<String, List<String>> own = rows(all, sip);
      assertThat(own.keySet()).isEqualTo(expected.keySet());
      for (String place : own.keySet()) {
        List<String> here = own.get(place);
        List<String> first = expected.get(place);
        for (int i = 0; i < Math.min(here.size(), first.size()); i++) {
          assertThat(here.get(i))
              .as("package %s, %s, row %s", sip, place, i)
              .isEqualTo(first.get(i));
        }
        assertThat(here).as("package %s, %s", sip, place).hasSameSizeAs(first);
      }
    }
    assertThat(one.sim().opLogHash()).isEqualTo(all.sim().opLogHash());
    assertThat(one.sim().events()).isLessThan(all.sim().events());
    assertThat(one.rows()).isEqualTo(all.rows());
    Map<String, Object> metrics = new TreeMap<>(all.metrics());
    metrics.put("memory", one.metrics().get("memory")); // all ranks are at their end at once
    assertThat(one.metrics()).isEqualTo(metrics);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "ring_1d|4|rank_level=sip tp=1 sp=off dp=4 batch=4 algorithm=ring",
        "ring_1d|3|rank_level=sip tp=1 sp=off dp=3 batch=3 layers=3 overlap=off algorithm=ring",
        "switch|4|rank_level=sip tp=1 sp=off dp=4 batch=8 microbatches=2 algorithm=by_dimension",
        "ring_1d|3|rank_level=cube tp=4 dp=3 batch=3 layers=1",
        "ring_1d|3|rank_level=cube tp=4 sp=off dp=3 batch=3 model=tiny-llama algorithm=ring",
      })
  void rows_ofEveryPackage_areThoseOfTheFirst(String topology, int packages, String params) {
    assertSame(network(topology, packages), params);
  }

  @Tag("slow")
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "ring_1d|3|rank_level=cube tp=2 cp=2 dp=3 batch=3 overlap=off spread=all algorithm=by_dimension",
        "switch|3|rank_level=cube tp=4 dp=3 batch=3 overlap=off spread=all",
        "ring_1d|3|rank_level=pe tp=4 cp=2 dp=3 batch=3",
        "ring_1d|3|rank_level=pe tp=2 dp=12 batch=12",
        "torus_2d|9|rank_level=cube tp=4 dp=9 batch=9 spread=lead",
        "ring_1d|3|rank_level=cube tp=2 cp=2 dp=3 batch=3 context=ulysses spread=lead",
        "torus_2d|9|rank_level=sip tp=1 sp=off dp=9 batch=9 algorithm=by_dimension",
        "torus_2d|12|rank_level=cube tp=4 dp=12 batch=12 tokens=96 algorithm=by_dimension",
        "ring_1d|5|rank_level=sip tp=1 sp=off dp=5 batch=5 layers=4 recompute=full algorithm=ring",
        "ring_1d|4|rank_level=sip tp=1 sp=off dp=4 batch=4 grad_dtype=bf16 bucket=16",
        "fully_connected|5|rank_level=sip tp=1 sp=off dp=5 batch=5 model=tiny-llama tied=on",
        "switch|8|rank_level=sip tp=1 sp=off dp=8 batch=8 dropout=0.1 loss_scale=16",
      })
  void rows_ofEveryPackage_inMoreSteps(String topology, int packages, String params) {
    assertSame(network(topology, packages), params);
  }

  private static String network(String topology, int packages) {
    return "system.sips.topology=%s system.sips.count=%s".formatted(topology, packages);
  }

  // ---- what is not alike ----

  private static final String FOUR = "rank_level=sip tp=1 sp=off dp=4 batch=4 algorithm=ring";

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "samples=own||replicas have samples of their own; use samples=alike",
        "samples=alike zero=1||of the host programs of packages 0 and 1 step",
        "samples=alike|system.sips.slow=1 compute 0.5|system.sips.slow makes packages different",
        "samples=alike|pe.mmu.miss=80 ns|use more pe.mmu.entries",
        "samples=alike|pe.mmu.fill=at_miss pe.mmu.miss=80 ns|use pe.mmu.fill: at_map",
        "samples=alike algorithm=packed_trees||use an algorithm whose ranks all have the same neighbours",
        "samples=alike dp=2 pp=2 microbatches=2||messages between packages are not folded",
        "samples=alike dp=3 batch=3||let all packages take part alike",
      })
  void whatIsNotAlike_isRefusedByName(String params, String machine, String why) {
    List<String> own = new ArrayList<>(Arrays.asList(FOUR.split(" ")));
    List<String> names = Arrays.stream(params.split(" ")).map(p -> p.split("=")[0]).toList();
    own.removeIf(p -> names.contains(p.split("=")[0]));
    own.addAll(Arrays.asList(params.split(" ")));
    String[] changes = machine == null ? new String[0] : machine.split(" (?=[a-z]+\\.)");
    RunOptions options = options(network("ring_1d", 4), String.join(" ", own), Folding.ON, changes);
    assertThatThrownBy(() -> run(options))
        .isInstanceOf(UsageException.class)
        .hasMessageStartingWith("cannot fold: ")
        .hasMessageContaining(why);
  }

  @Test
  void unlessAskedFor_whatCannotBeFolded_isSimulatedWhole() {
    RunOptions options =
        options("system.sips.topology=torus_2d system.sips.count=4", FOUR, Folding.AUTO);
    RunResult result = run(options.withParams(List.of((FOUR + ALIKE).split(" "))));
    assertThat(result.status()).isEqualTo(RunResult.Status.OK);
    assertThat(result.params().get("fold").toString()).startsWith("no: on an axis of 2 packages");
  }

  @Test
  void samplesAlike_withValues_areRefused() {
    RunOptions options = options(network("ring_1d", 4), FOUR + ALIKE, Folding.AUTO);
    assertThatThrownBy(() -> run(options.withMode(Mode.FULL)))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("expected --mode time");
  }
}
