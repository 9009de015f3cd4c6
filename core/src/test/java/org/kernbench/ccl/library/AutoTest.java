package org.kernbench.ccl.library;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.ccl.AutoChoice;
import org.kernbench.ccl.Bed;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.cli.Golden;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/** What is taken call by call, from what, and why the others were not. */
final class AutoTest {
  private static CclConfig config(String... set) {
    return CclConfig.load(Optional.empty(), List.of(set));
  }

  private static CollectiveTrial auto(
      Machine machine, CclConfig config, RankLevel level, int ranks) {
    return CollectiveTrial.of(
        machine,
        CollectiveLibrary.algorithm(config, "auto"),
        config.of("auto"),
        level,
        Bed.leads(machine, level, ranks));
  }

  private static CollectiveTrial.Question question(CollectiveOp op, long elements) {
    return new CollectiveTrial.Question(
        op, ReduceKind.SUM, DType.F16, op.hasRoot() ? 1 : -1, elements);
  }

  private static String text(OptionalLong ps) {
    return ps.isPresent() ? String.valueOf(ps.getAsLong()) : "-";
  }

  /** The figures are those of trials, which other tests compare; here nothing changes unseen. */
  @ParameterizedTest
  @CsvSource({
    "torus, model-sips, torus_2d, sip, 6, 98304",
    "switch, dgx-h100, switch, sip, 4, 24576"
  })
  void choices_ofCalls_areTheReviewedOnes(
      String name, String preset, String topology, String level, int ranks, int most) {
    Machine machine =
        Machines.load(
            preset,
            List.of(
                "system.sips.topology=" + topology,
                "system.sips.count=" + (level.equals("sip") ? ranks : 1)));
    RankLevel of = RankLevel.valueOf(level.toUpperCase(Locale.ROOT));
    StringBuilder table = new StringBuilder();
    for (CollectiveOp op : Auto.all()) {
      CollectiveTrial auto = auto(machine, config(), of, ranks);
      for (int elements : op == CollectiveOp.BARRIER ? new int[] {0} : new int[] {24, most}) {
        auto.run(question(op, elements), Mode.TIME);
        auto.run(question(op, elements), Mode.TIME); // which is known now
      }
      auto.choices().forEach(choice -> line(table, choice));
    }
    Golden.check("ccl/choices-" + name + ".txt", table.toString());
  }

  private static void line(StringBuilder table, AutoChoice choice) {
    table.append(
        String.format(
            Locale.ROOT,
            "%s of %d B: %s, %s%n",
            choice.op().word(),
            choice.bytes(),
            choice.chosen(),
            choice.basis().word()));
    for (AutoChoice.Candidate c : choice.candidates()) {
      String line =
          String.format(
              Locale.ROOT,
              "  %-20s %12s ps, forecast %12s  %s",
              c.algorithm(),
              text(c.simulatedPs()),
              text(c.forecastPs()),
              c.note());
      table.append(line.stripTrailing()).append('\n');
    }
  }

  /** One-shot joins each PE with seven: two PEs of a cube share an SRAM, which holds eight ends. */
  @Test
  void table_namesWhatDoesNotFitTheMachine_isNotTaken(@TempDir Path directory) throws IOException {
    Machine machine =
        Machines.load(
            "tiny",
            List.of("ipcq.buffer_kind=sram", "ipcq.slot_size=256 KiB", "ipcq.directions=1"));
    TuningTable table = new TuningTable(machine, RankLevel.PE, 8);
    table.put(CollectiveOp.ALL_REDUCE, 4096, "one_shot");
    Path file = directory.resolve("table.yaml");
    Files.writeString(file, table.text());
    CollectiveTrial auto = auto(machine, config("defaults.table=" + file), RankLevel.PE, 8);
    auto.run(question(CollectiveOp.ALL_REDUCE, 512), Mode.TIME);
    AutoChoice choice = auto.choices().getFirst();
    assertThat(choice.chosen()).isNotEqualTo("one_shot");
    assertThat(choice.basis()).isEqualTo(AutoChoice.Basis.SIMULATION);
    assertThat(choice.candidates())
        .filteredOn(c -> c.algorithm().equals("one_shot"))
        .allMatch(c -> c.note().contains("do not fit the cube's SRAM of 16 MiB"))
        .hasSize(1);
  }

  /** A table, a choice and a question count bytes alike, also of an all-to-all of many ranks. */
  @ParameterizedTest
  @CsvSource({
    "ALL_REDUCE, exchange, ring",
    "ALL_TO_ALL, pairwise, direct",
    "BROADCAST, chain, grid_tree"
  })
  void table_isAskedForTheBytesOfTheQuestion(
      CollectiveOp op, String algorithm, String larger, @TempDir Path directory)
      throws IOException {
    Machine machine = Machines.load("dgx-h100", List.of());
    TuningTable table = new TuningTable(machine, RankLevel.SIP, 8);
    table.put(op, 2048, algorithm);
    table.put(op, 4096, larger);
    Path file = directory.resolve("table.yaml");
    Files.writeString(file, table.text());
    CollectiveTrial auto = auto(machine, config("defaults.table=" + file), RankLevel.SIP, 8);
    auto.run(question(op, 1024), Mode.TIME);
    AutoChoice choice = auto.choices().getFirst();
    assertThat(choice.basis()).isEqualTo(AutoChoice.Basis.TABLE);
    assertThat(choice.chosen()).isEqualTo(algorithm);
    assertThat(choice.bytes()).isEqualTo(2048);
  }

  @Test
  void call_thatNothingFits_isRefusedWithTheNames() {
    Machine machine = Machines.load("tiny", List.of());
    CclConfig config =
        config("defaults.slots=1000000", "defaults.slot_size=4 KiB", "defaults.buffer_kind=hbm");
    assertThatThrownBy(() ->
            auto(machine, config, RankLevel.CUBE, 4)
                .run(question(CollectiveOp.ALL_REDUCE, 512), Mode.TIME))
        .isInstanceOf(CollectiveException.class)
        .hasMessageContaining("auto: no algorithm can do all_reduce in this group of 4 ranks")
        .hasMessageContaining("those of the configuration are root_center, ");
  }
}
