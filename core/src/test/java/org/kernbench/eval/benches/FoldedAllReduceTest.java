package org.kernbench.eval.benches;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.eval.Folding;
import org.kernbench.eval.Outcome;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;

/** A ring of ranks folded to one takes the time and the rows of all, or says why it cannot. */
final class FoldedAllReduceTest {
  private static Outcome run(
      Folding folding, int ranks, int elements, List<String> ccl, String... overrides) {
    // whoever keeps rows keeps all of them, unless told to fold
    SimulatorOptions recording =
        folding == Folding.AUTO
            ? SimulatorOptions.DEFAULT.withOpLogLimit(0)
            : SimulatorOptions.DEFAULT;
    List<String> all = new ArrayList<>(List.of(overrides));
    all.add("system.sips.count=" + ranks);
    Machine machine = Machines.load("ring", all);
    List<String> config = new ArrayList<>(ccl);
    config.add("defaults.algorithm=ring");
    CollectiveLibrary library =
        CollectiveLibrary.open(machine, CclConfig.load(Optional.empty(), config));
    return new AllReduceRun(
            machine, elements, DType.F32, Pattern.RANK, Mode.TIME, recording, folding)
        .run(library);
  }

  /**
   * The folded run goes another way: no host program, no other ranks. The hash is over all rows.
   */
  @ParameterizedTest
  @CsvSource({
    "8, 262144, 1, ring_1d",
    "8, 96, 1, ring_1d",
    "9, 9216, 3, ring_1d",
    "64, 65536, 1, ring_1d",
    "60, 61440, 4, ring_1d",
    "255, 65280, 2, ring_1d",
    "7, 458752, 1, ring_1d",
    "16, 4194304, 1, ring_1d",
    "12, 49152, 2, switch",
    "2, 4096, 1, switch",
    "5, 40960, 1, fully_connected"
  })
  void folded_hasTheHashAndTheTimeOfAllRanks(int ranks, int elements, int pieces, String topology) {
    List<String> ccl = List.of("algorithms.ring.sub_chunks=" + pieces);
    String set = "system.sips.topology=" + topology;
    Outcome all = run(Folding.OFF, ranks, elements, ccl, set);
    Outcome one = run(Folding.ON, ranks, elements, ccl, set);
    assertThat(one.critPs()).isEqualTo(all.critPs());
    assertThat(one.opLogHash()).isEqualTo(all.opLogHash());
    assertThat(one.boundPs()).isEqualTo(all.boundPs());
    assertThat(one.events()).isLessThan(all.events());
    assertThat(one.conditions().get("fold")).asString().startsWith("folded " + ranks + " packages");
    assertThat(all.conditions()).doesNotContainKey("fold");
    if (one.breakdown().isPresent()) {
      assertThat(one.breakdown().orElseThrow().totalPs()).isEqualTo(one.critPs());
    }
  }

  @Test
  void folded_1024Ranks_hasTheHashOfAll() {
    Outcome one = run(Folding.ON, 1024, 262_144, List.of("algorithms.ring.sub_chunks=1"));
    assertThat(one.critPs()).isEqualTo(607_052_932);
    assertThat(one.opLogHash()).isEqualTo("a63b45df2e5af9cc"); // ring-scale --fold off says so
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "8|262145||cuts 262,145 elements in 16 unequal segments; use a multiple of 16",
        "9|262144||unequal segments",
        "8|4096|pe.mmu.entries=1|the TLB holds 1",
        "8|4096|pe.mmu.fill=at_miss|use pe.mmu.fill: at_map",
        "8|4096|system.sips.links=0-1 100 GB/s|system.sips.links makes links different",
        "8|4096|system.sips.slow=3 compute 0.5|system.sips.slow makes packages different",
        "8|4096|cube.hbm.fidelity=banked|cube.hbm.fidelity: flat",
        "9|4608|system.sips.topology=torus_2d|a queue leads from",
        "2|4096||an axis of 2",
        "8|4096|cube.noc.w=2; cube.pe_layout.pe_per_corner=2|a package has 2 PEs",
      })
  void whatIsNotAlike_isRefusedByName_andRunAsItIs(
      int ranks, int elements, String override, String why) {
    String[] overrides = override == null ? new String[0] : override.split("; ");
    assertThatThrownBy(() -> run(Folding.ON, ranks, elements, List.of(), overrides))
        .isInstanceOf(UsageException.class)
        .hasMessageStartingWith("cannot fold: ")
        .hasMessageContaining(why);
    Outcome all = run(Folding.OFF, ranks, elements, List.of(), overrides);
    Outcome auto = run(Folding.AUTO, ranks, elements, List.of(), overrides);
    assertThat(auto.opLogHash()).isEqualTo(all.opLogHash());
    assertThat(auto.conditions().get("fold")).asString().startsWith("no: ").contains(why);
  }

  @Test
  void ranksThatAreNotAllPackages_areRefused() {
    assertThatThrownBy(() -> run(Folding.ON, 8, 4096, List.of("algorithms.ring.world_size=4")))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("4 of 8 packages are ranks");
  }
}
