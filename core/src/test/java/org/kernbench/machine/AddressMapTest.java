package org.kernbench.machine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.machine.spec.BufferKind;

class AddressMapTest {
  private static final long GIB = 1L << 30;

  @ParameterizedTest
  @CsvSource({
    "sip-2026, system.sips.count=6, 4, 5, 42",
    "sip-2026, system.sips.count=16, 4, 5, 42",
    "sip-2026, system.sips.count=18, 5, 5, 41",
    "ring, system.sips.count=4096, 12, 3, 36",
    "sip-2026, sip.cube_mesh.w=8, 3, 6, 42",
    // 2 TiB of HBM with SRAM and TCMs behind it just fit 42 bits, 4 TiB need one more
    "sip-2026, cube.memory_map.hbm_total_gb_per_cube=2048, 4, 5, 42",
    "sip-2026, cube.memory_map.hbm_total_gb_per_cube=4096, 3, 5, 43",
    "sip-2026, system.sips.count=1, 4, 5, 42",
    "sip-2026, system.sips.count=17, 5, 5, 41",
    "sip-2026, sip.cube_mesh.w=7, 4, 5, 42",
  })
  void bits_ofAMachine_holdItsSipsAndDies(
      String preset, String override, int sip, int die, int offset) {
    AddressMap map = Machines.load(preset, List.of(override)).addresses();
    assertThat(List.of(map.sipBits(), map.dieBits(), map.offsetBits()))
        .containsExactly(sip, die, offset);
  }

  @Test
  void decode_firstAndLastByteOfEveryMemory_comesBackAndNothingOverlaps() {
    for (String preset : Machines.presets().keySet()) {
      Machine machine = Machines.load(preset, List.of());
      TreeMap<Long, Long> ranges = new TreeMap<>();
      for (int i = 0; i < machine.peCount(); i++) {
        Pe pe = machine.peAt(i);
        AddressMap map = machine.addresses();
        long hbm = machine.hbm().sizeBytes();
        long tcm = machine.pe().tcm().sizeBytes();
        check(
            machine,
            ranges,
            map.hbm(pe, 0),
            map.hbm(pe, hbm - 1),
            machine.hbmNode(pe),
            BufferKind.HBM);
        check(
            machine,
            ranges,
            map.tcm(pe, 0),
            map.tcm(pe, tcm - 1),
            machine.tcmNode(pe),
            BufferKind.TCM);
        if (pe.pe() == 0) {
          long sram = machine.sram().sizeBytes();
          check(
              machine,
              ranges,
              map.sram(pe.sip(), pe.cube(), 0),
              map.sram(pe.sip(), pe.cube(), sram - 1),
              machine.sramNode(pe.sip(), pe.cube()),
              BufferKind.SRAM);
        }
      }
      long end = -1;
      for (var range : ranges.entrySet()) {
        assertThat(range.getKey()).as("%s: no overlap", preset).isGreaterThan(end);
        end = range.getValue();
      }
      assertThat(end).isLessThan(1L << 51);
    }
  }

  private static void check(
      Machine machine,
      TreeMap<Long, Long> ranges,
      PhysicalAddress first,
      PhysicalAddress last,
      int node,
      BufferKind kind) {
    long size = last.value() - first.value();
    assertThat(machine.addresses().decode(first)).isEqualTo(new Place(node, kind, 0));
    assertThat(machine.addresses().decode(last)).isEqualTo(new Place(node, kind, size));
    assertThat(ranges.put(first.value(), last.value())).isNull();
  }

  @Test
  void decode_addressOfNothing_isRefusedWithTheReason() {
    Machine machine = Machines.load("sip-2026", List.of());
    List<PhysicalAddress> holes = new ArrayList<>();
    holes.add(new PhysicalAddress(6L << 47)); // no sip 6
    holes.add(new PhysicalAddress(16L << 42)); // die 16 is an IO chiplet
    holes.add(new PhysicalAddress(63 * GIB)); // behind the memories of cube 0
    holes.add(new PhysicalAddress(-1));
    holes.add(machine.addresses().tcm(new Pe(0, 0, 7), 0).plus(2 << 20));
    for (PhysicalAddress hole : holes) {
      assertThatThrownBy(() -> machine.addresses().decode(hole))
          .isInstanceOf(MachineException.class)
          .hasMessageContaining("nothing is mapped at " + hole);
    }
  }

  @Test
  void hbm_offsetOrPeOutside_isRefused() {
    AddressMap map = Machines.load("tiny", List.of()).addresses();
    assertThatThrownBy(() -> map.hbm(new Pe(0, 0, 0), GIB))
        .hasMessageContaining(
            "HBM slice of sip0.cube0.pe0: offset 1073741824 outside its 1073741824");
    assertThatThrownBy(() -> map.tcm(new Pe(0, 4, 0), 0)).hasMessageContaining("no such place");
    assertThatThrownBy(() -> map.sram(0, 0, -1)).hasMessageContaining("offset -1");
  }
}
