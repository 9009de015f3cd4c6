package org.kernbench.device.check;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.Register;
import org.kernbench.device.memory.Region;
import org.kernbench.device.simulator.DeviceRig;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.device.simulator.SlotReuseTest;
import org.kernbench.machine.AddressMap;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.PhysicalAddress;

/** Where a finding says that bytes lie which belong to no tensor. */
final class CheckerTest {
  private static final Machine MACHINE = Machines.load("tiny", List.of());

  private static PhysicalAddress at(String memory) {
    AddressMap map = MACHINE.addresses();
    return switch (memory) {
      case "hbm" -> map.hbm(new Pe(0, 2, 1), 4096);
      case "sram" -> map.sram(0, 3, 4096);
      default -> map.tcm(new Pe(0, 1, 1), 4096);
    };
  }

  /** Two PEs store to the same bytes: the finding names the memory, and counts from its start. */
  @ParameterizedTest
  @CsvSource({"hbm, sip0.cube2.hbm1", "sram, sip0.cube3.sram", "tcm, sip0.cube1.pe1"})
  void race_onBytesOfNoTensor_namesTheMemory(String memory, String place) {
    Findings findings = new Findings();
    SimulatorOptions options = SimulatorOptions.DEFAULT.checkedBy(findings);
    try (DeviceRig rig = new DeviceRig(MACHINE, Mode.FULL, options)) {
      Region region = Region.of(at(memory), 64);
      rig.run(
          p -> p.store(SlotReuseTest.fill(p, 64, 1), 0, region),
          p -> p.store(SlotReuseTest.fill(p, 64, 2), 0, region));
    }
    assertThat(findings.list()).hasSize(1);
    Finding finding = findings.list().getFirst();
    assertThat(finding.kind()).isEqualTo(Finding.Kind.RACE);
    Finding.Bytes bytes = finding.bytes().orElseThrow();
    assertThat(bytes.tensor()).isEqualTo("(none)");
    assertThat(bytes.place()).isEqualTo(place);
    assertThat(bytes.first()).isEqualTo(4096);
    assertThat(bytes.end()).isEqualTo(4160);
  }

  /** A checked kernel finds the queues that it finds unchecked. */
  @Test
  void directions_areThoseOfTheQueues() {
    SimulatorOptions options = SimulatorOptions.DEFAULT.checkedBy(new Findings());
    List<List<String>> seen = new ArrayList<>();
    try (DeviceRig rig = new DeviceRig(MACHINE, Mode.FULL, options)) {
      rig.connect(
          new QueuePlan.Connection(rig.pe(0), "E", rig.pe(1), "W"),
          new QueuePlan.Connection(rig.pe(0), "N", rig.pe(1), "S"));
      rig.run(p -> seen.add(p.directions()));
    }
    assertThat(seen).containsExactly(List.of("E", "N"));
  }

  /** Bytes that nobody has written are told, with the first and the last of them. */
  @Test
  void load_ofWhatNobodyWrote_isFoundWithItsBytes() {
    Findings findings = new Findings();
    SimulatorOptions options = SimulatorOptions.DEFAULT.checkedBy(findings);
    try (DeviceRig rig = new DeviceRig(MACHINE, Mode.FULL, options)) {
      rig.write(at("hbm"), new byte[64]);
      rig.run(p -> p.load(Region.of(at("hbm"), 64)));
      assertThat(findings.list()).isEmpty();
      rig.run(p -> p.load(Region.of(at("hbm"), 96)));
    }
    assertThat(findings.list()).hasSize(1);
    Finding finding = findings.list().getFirst();
    assertThat(finding.kind()).isEqualTo(Finding.Kind.UNWRITTEN);
    assertThat(finding.bytes())
        .contains(new Finding.Bytes("(none)", "sip0.cube2.hbm1", 4160, 4192));
    assertThat(finding.by().who()).isEqualTo("sip0.cube0.pe0");
    assertThat(finding.other()).isEmpty();
  }

  /**
   * A message orders what comes before its send and after its receive, whichever of them the
   * simulator meets first; without it both stores race.
   */
  @ParameterizedTest
  @CsvSource({"true, 0, 0", "true, 20, 0", "true, 0, 20", "false, 0, 0", "false, 20, 0"})
  void message_betweenTwoStores_ordersThem(boolean message, int before, int after) {
    Findings findings = new Findings();
    SimulatorOptions options = SimulatorOptions.DEFAULT.checkedBy(findings);
    try (DeviceRig rig = new DeviceRig(MACHINE, Mode.FULL, options)) {
      rig.connect(new QueuePlan.Connection(rig.pe(0), "E", rig.pe(1), "W"));
      Region region = Region.of(at("hbm"), 64);
      rig.run(
          p -> {
            Register value = SlotReuseTest.fill(p, 64 + 64 * before, 1);
            p.fence(p.store(value, 0, region));
            if (message) {
              p.send(p.queue("E"), value, 0, 64);
            }
          },
          p -> {
            Register value = SlotReuseTest.fill(p, 64 + 64 * after, 2);
            if (message) {
              p.fence(p.receive(p.queue("W"), 64, true, false));
            }
            p.fence(p.store(value, 0, region));
          });
    }
    assertThat(findings.list()).hasSize(message ? 0 : 1);
  }
}
