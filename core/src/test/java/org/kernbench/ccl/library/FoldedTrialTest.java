package org.kernbench.ccl.library;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.ccl.Bed;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.ccl.CollectiveTrial.Question;
import org.kernbench.device.Mode;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.machine.CannotFoldException;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/**
 * Collectives by dimension of which one package stands for all, beside the same with every package:
 * the hash is over the rows of all PEs, so one number says that they are equal.
 */
final class FoldedTrialTest {
  @TempDir private Path folder;

  private Machine machine(String network, String overrides) throws IOException {
    List<String> all = overrides == null ? List.of() : List.of(overrides.split("; "));
    if (network.endsWith("h100")) {
      return Machines.load(network, all);
    }
    if (!network.contains(" ")) {
      List<String> more = new ArrayList<>(all);
      more.add("system.sips.topology=" + network);
      return Machines.load("ring", more);
    }
    StringBuilder text = new StringBuilder("description: x\nextends: ring\nsystem:\n  network:\n");
    for (String dimension : network.split(", ")) {
      text.append(
          "    - {kind: %s, size: %s, bandwidth: 50 GB/s, latency: 250 ns}\n"
              .formatted((Object[]) dimension.split(" ")));
    }
    Path file = folder.resolve("m.yaml");
    Files.writeString(file, text);
    return Machines.load(file.toString(), all);
  }

  private static CollectiveTrial trial(Machine machine, String along, String... more) {
    List<String> config = new ArrayList<>(List.of(more));
    config.add("algorithms.by_dimension.along=" + along);
    CclConfig ccl = CclConfig.load(Optional.empty(), config);
    RankLevel level = machine.peCount() == machine.sips() ? RankLevel.SIP : RankLevel.PE;
    return CollectiveTrial.of(
        machine,
        CollectiveLibrary.algorithm(ccl, "by_dimension"),
        ccl.of("by_dimension"),
        level,
        Bed.leads(machine, level, machine.peCount()));
  }

  private static Question question(CollectiveOp op, long elements) {
    return new Question(op, ReduceKind.SUM, DType.F16, -1, elements);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      nullValues = "-",
      value = {
        "torus_2d | system.sips.count=20; system.sips.w=4; system.sips.h=5 | ring | ALL_REDUCE | 81920",
        "torus_2d | system.sips.count=20; system.sips.w=4; system.sips.h=5 | ring | ALL_TO_ALL | 8000",
        "torus_2d | system.sips.count=15; system.sips.w=3; system.sips.h=5 | direct | ALL_REDUCE | 15360",
        "torus_2d | system.sips.count=16; system.sips.w=4; system.sips.h=4 | direct | ALL_TO_ALL | 4096",
        "switch | system.sips.count=16 | direct | ALL_TO_ALL | 32768",
        "switch | system.sips.count=7 | direct | ALL_REDUCE | 7168",
        "switch | system.sips.count=16 | direct | REDUCE_SCATTER | 32768",
        "switch | system.sips.count=9 | direct | ALL_GATHER | 9216",
        "switch | system.sips.count=5 | ring | ALL_GATHER | 10240",
        "fully_connected | system.sips.count=6 | direct | ALL_TO_ALL | 6144",
        "ring_1d | system.sips.count=9 | ring | REDUCE_SCATTER | 92160",
        "ring 3, ring 4, ring 3 | - | ring | ALL_REDUCE | 36864",
        "ring 4, switch 3 | - | direct | ALL_REDUCE | 49152",
        "fully_connected 4, switch 4 | - | direct | ALL_TO_ALL | 8192",
        "2x-dgx-h100 | - | ring | ALL_REDUCE | 65536",
        "2x-dgx-h100 | - | direct | ALL_REDUCE | 65536",
        "ring 3, ring 3 | cube.noc.w=2; cube.pe_layout.pe_per_corner=2 | ring | ALL_REDUCE | 36864"
      })
  void oneOfAll_hasTheRowsOfAll(
      String network, String overrides, String along, CollectiveOp op, long elements)
      throws IOException {
    Machine machine = machine(network, overrides);
    CollectiveTrial trial = trial(machine, along);
    String[] hash = new String[2];
    SimulatorOptions noRows = SimulatorOptions.DEFAULT.withOpLogLimit(0);
    CollectiveTrial.Result all =
        trial.run(
            question(op, elements),
            Mode.TIME,
            noRows,
            (log, launch, queues) -> hash[0] = log.hash());
    CollectiveTrial.Folded one =
        trial.runFolded(
            question(op, elements), noRows, (log, launch, queues) -> hash[1] = log.hash());
    assertThat(hash[1]).isEqualTo(hash[0]);
    assertThat(one.result()).usingRecursiveComparison().ignoringFields("events").isEqualTo(all);
    assertThat(one.result().events()).isLessThan(all.events() / 2);
    assertThat(one.result().problems()).isEmpty();
    assertThat(one.note()).startsWith("folded " + machine.sips() + " packages in 1 orbit");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      nullValues = "-",
      value = {
        "switch | system.sips.count=8 | halving_doubling | ALL_REDUCE | 8192 | have other partners",
        "switch | system.sips.count=8 | double_binary_tree | ALL_REDUCE | 8192 | have other partners",
        "ring_1d | system.sips.count=8 | ring | ALL_REDUCE | 8193 | unequal segments",
        "torus_2d | system.sips.count=9; system.sips.w=3; system.sips.h=3 | ring | REDUCE_SCATTER | 9216 | expected the same with peers renamed",
        "ring 4, mesh 3 | - | ring | ALL_REDUCE | 12288 | use kind: ring",
        "ring_1d | system.sips.count=8; system.sips.links=2-3 250001 ps | ring | ALL_REDUCE | 8192 | makes links different"
      })
  void whatIsNotAlike_isRefusedByName(
      String network, String overrides, String along, CollectiveOp op, long elements, String why)
      throws IOException {
    CollectiveTrial trial = trial(machine(network, overrides), along);
    assertThatThrownBy(() ->
            trial.runFolded(
                question(op, elements), SimulatorOptions.DEFAULT, (log, launch, queues) -> {}))
        .isInstanceOf(CannotFoldException.class)
        .hasMessageContaining(why);
  }

  @Test
  void wholeVectorsOfSeveralDimensions_areRefused() throws IOException {
    CollectiveTrial trial =
        trial(machine("ring 3, ring 3", null), "ring", "algorithms.by_dimension.vectors=whole");
    assertThatThrownBy(() ->
            trial.runFolded(
                question(CollectiveOp.ALL_REDUCE, 9216),
                SimulatorOptions.DEFAULT,
                (log, launch, queues) -> {}))
        .isInstanceOf(CannotFoldException.class)
        .hasMessageContaining("use vectors: scattered");
  }
}
