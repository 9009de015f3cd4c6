package org.kernbench.eval;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.eval.benches.AllReduceRun;
import org.kernbench.eval.benches.Pattern;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveOp;

/**
 * Modes are views of one program: full and time give the same op log, full and values the same
 * bytes.
 */
final class ModesAgreeTest {
  /** An algorithm on a machine, for a size. */
  record Setting(
      String algorithm, String preset, List<String> overrides, int elements, DType dtype) {}

  static Stream<Setting> settings() {
    List<Setting> all = new ArrayList<>();
    List<String> small = List.of("sip.cube_mesh.w=2", "sip.cube_mesh.h=3");
    for (String algorithm :
        CollectiveLibrary.builtIn(CollectiveOp.ALL_REDUCE).stream().sorted().toList()) {
      if (algorithm.equals("in_switch")) { // packages round one switch that adds up
        List<String> reduces = List.of("system.sips.topology=switch", "system.sips.reduces=true");
        for (int elements : List.of(1, 7, 1000, 20_000)) {
          all.add(new Setting(algorithm, "ring", reduces, elements, DType.F16));
        }
        all.add(new Setting(algorithm, "ring", reduces, 333, DType.BF16));
        all.add(new Setting(algorithm, "ring", reduces, 333, DType.I32));
        continue;
      }
      for (int elements : List.of(1, 7, 1000, 20_000)) {
        all.add(new Setting(algorithm, "sip-2026", small, elements, DType.F16));
      }
      all.add(new Setting(algorithm, "sip-2026", small, 333, DType.F32));
      all.add(new Setting(algorithm, "sip-2026", small, 333, DType.BF16));
      all.add(new Setting(algorithm, "sip-2026", small, 333, DType.I32));
      all.add(new Setting(algorithm, "kb-compat", small, 3000, DType.F16));
      List<String> oneSlot = new ArrayList<>(small);
      oneSlot.addAll(List.of("ipcq.buffer_kind=hbm", "ipcq.slot_size=1 KiB"));
      all.add(new Setting(algorithm, "sip-2026", oneSlot, 3000, DType.F16));
    }
    return all.stream();
  }

  @ParameterizedTest
  @MethodSource("settings")
  void allReduce_inEveryMode_isTheSame(Setting s) {
    Outcome full = run(s, Mode.FULL);
    Outcome time = run(s, Mode.TIME);
    Outcome values = run(s, Mode.VALUES);

    assertThat(full.values().orElseThrow().isCorrect()).as("%s", full.values()).isTrue();
    assertThat(full.problem()).isEmpty();
    assertThat(full.boundPs()).isLessThanOrEqualTo(full.critPs());
    assertThat(time.opLogHash()).isEqualTo(full.opLogHash());
    assertThat(time.critPs()).isEqualTo(full.critPs());
    assertThat(values.valuesHash()).isEqualTo(full.valuesHash());
    assertThat(full.breakdown().orElseThrow().totalPs()).isEqualTo(full.critPs());
  }

  private static Outcome run(Setting s, Mode mode) {
    Machine machine = Machines.load(s.preset, s.overrides);
    CclConfig config =
        CclConfig.load(Optional.empty(), List.of("defaults.algorithm=" + s.algorithm));
    return new AllReduceRun(
            machine, s.elements, s.dtype, Pattern.MIXED, mode, SimulatorOptions.DEFAULT)
        .run(CollectiveLibrary.open(machine, config));
  }
}
