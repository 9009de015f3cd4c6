package org.kernbench.machine.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.report.MachineDifference.Row;

/** What differs is what was changed, wherever it is said, and what one of the two does not say. */
final class MachineDifferenceTest {
  @Test
  void rows_areTheValuesThatWereChanged_byPath() {
    Machine tiny = Machines.load("tiny", List.of());
    Machine other =
        Machines.load("tiny", List.of("pe.dma.setup=31 ns", "ipcq.slots=4", "cube.noc.w=2"));

    assertThat(MachineDifference.of(tiny, other))
        .containsExactly(
            new Row("ipcq.slots", "8", "4"), new Row("pe.dma.setup", "28 ns", "31 ns"));
    assertThat(MachineDifference.of(tiny, tiny)).isEmpty();
  }

  @Test
  void valuesOfLists_thatOneHasNot_haveTheirPlace() {
    Machine ring = Machines.load("ring", List.of());
    Machine torus = Machines.load("torus-4x4x4", List.of());
    List<Row> rows = MachineDifference.of(ring, torus);

    assertThat(rows).hasSize(12).allMatch(row -> row.first().equals(MachineDifference.NOTHING));
    assertThat(rows).contains(new Row("system.network[2].size", "-", "4"));
    assertThat(MachineDifference.of(torus, ring))
        .extracting(Row::second)
        .containsOnly(MachineDifference.NOTHING);
  }
}
