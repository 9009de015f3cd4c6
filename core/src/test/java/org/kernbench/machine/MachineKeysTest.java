package org.kernbench.machine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.ConfigException;
import org.kernbench.config.Problem;
import org.kernbench.machine.spec.BufferKind;
import org.kernbench.machine.spec.DramSpec;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.machine.spec.MathRate;
import org.kernbench.sim.Rate;

/**
 * Every key of a machine, with a value that no other key has: it is found where it belongs. And the
 * limits of every whole number.
 */
final class MachineKeysTest {
  private static final long GB = 1_000_000_000L;

  private final Map<String, String> values = new LinkedHashMap<>();
  private final Map<String, Object> expected = new TreeMap<>();

  private void time(String path, int ns) {
    values.put(path, ns + " ns");
    expected.put(path, ns * 1000L);
  }

  private void rate(String path, int gigabytes) {
    values.put(path, gigabytes + " GB/s");
    expected.put(path, gigabytes * GB);
  }

  private void count(String path, int number) {
    values.put(path, String.valueOf(number));
    expected.put(path, number);
  }

  private void size(String path, String value, long bytes) {
    values.put(path, value);
    expected.put(path, bytes);
  }

  private Machine machine() {
    return Machines.load(
        "sip-2026", values.entrySet().stream().map(e -> e.getKey() + "=" + e.getValue()).toList());
  }

  @Test
  void dramKeys_allDifferent_areFoundByTheirNames() {
    String at = "cube.hbm.dram.";
    List<String> times =
        List.of(
            "tRCDRD", "tRCDWR", "tCL", "tCWL", "tBL", "tRP", "tRAS", "tRC", "tRRDS", "tRRDL",
            "tFAW", "tCCDS", "tCCDL", "tRTP", "tWR", "tWTRS", "tWTRL", "tRTW", "tRFCpb", "tRREFD");
    for (String name : times) {
      time(at + name, 11 + times.indexOf(name));
    }
    time(at + "tREFI", 9000);
    count(at + "stack_ids", 3);
    count(at + "bank_groups", 8);
    count(at + "banks_per_group", 5);
    size(at + "row", "2 KiB", 2048);
    size(at + "access", "64 B", 64);
    size(at + "window", "12 KiB", 12_288);
    DramSpec dram = machine().hbm().dram();
    Map<String, Object> found = new TreeMap<>();
    found.put("stack_ids", dram.stackIds());
    found.put("bank_groups", dram.bankGroups());
    found.put("banks_per_group", dram.banksPerGroup());
    found.put("row", dram.rowBytes());
    found.put("access", dram.accessBytes());
    found.put("window", dram.windowBytes());
    found.put("tRCDRD", dram.tRcdRd());
    found.put("tRCDWR", dram.tRcdWr());
    found.put("tCL", dram.tCl());
    found.put("tCWL", dram.tCwl());
    found.put("tBL", dram.tBl());
    found.put("tRP", dram.tRp());
    found.put("tRAS", dram.tRas());
    found.put("tRC", dram.tRc());
    found.put("tRRDS", dram.tRrdS());
    found.put("tRRDL", dram.tRrdL());
    found.put("tFAW", dram.tFaw());
    found.put("tCCDS", dram.tCcdS());
    found.put("tCCDL", dram.tCcdL());
    found.put("tRTP", dram.tRtp());
    found.put("tWR", dram.tWr());
    found.put("tWTRS", dram.tWtrS());
    found.put("tWTRL", dram.tWtrL());
    found.put("tRTW", dram.tRtw());
    found.put("tREFI", dram.tRefi());
    found.put("tRFCpb", dram.tRfcPb());
    found.put("tRREFD", dram.tRrefd());
    check(at, found);
    assertThat(dram.banks()).isEqualTo(3 * 8 * 5);
    assertThat(dram.refreshIntervalPs()).isEqualTo(9_000_000 / 120);
    assertThat(dram.rowHitPs()).isEqualTo((13 + 15) * 1000);
    assertThat(dram.rowClosedPs()).isEqualTo((11 + 13 + 15) * 1000);
    assertThat(dram.rowConflictPs()).isEqualTo((16 + 11 + 13 + 15) * 1000);
    assertThat(dram.interleave()).isEqualTo(2); // 23 / 22 rounded up
  }

  private void check(String prefix, Map<String, Object> found) {
    Map<String, Object> named = new TreeMap<>();
    found.forEach((name, value) -> named.put(prefix + name, value));
    assertThat(named).isEqualTo(expected);
  }

  @Test
  void otherKeys_allDifferent_areFoundByTheirNames() {
    count("pe.cpu.command_window", 41);
    count("pe.cpu.contexts", 4);
    count("pe.dma.read_queues", 5);
    count("pe.dma.write_queues", 6);
    count("pe.dma.message_channels", 7);
    count("pe.gemm.rows", 33);
    count("pe.gemm.columns", 34);
    count("pe.gemm.tile_m", 35);
    count("pe.gemm.tile_k", 36);
    count("pe.gemm.tile_n", 37);
    count("pe.gemm.buffers", 38);
    count("pe.math.startup_cycles", 14);
    count("pe.math.slowdown.divide", 15);
    count("pe.math.slowdown.square_root", 16);
    count("pe.math.slowdown.transcendental", 17);
    count("pe.mmu.entries", 99);
    count("ipcq.slots", 9);
    count("ipcq.directions", 10);
    time("pe.cpu.dispatch", 3);
    time("pe.cpu.scheduler_dispatch", 4);
    time("pe.dma.setup", 51);
    time("pe.dma.message_overhead", 52);
    time("pe.tcm.latency", 53);
    time("pe.mmu.miss", 54);
    time("ipcq.credit_overhead", 55);
    time("ipcq.poll_interval", 56);
    time("system.launch.doorbell", 57);
    time("system.launch.io_cpu", 58);
    time("system.launch.m_cpu", 59);
    time("system.launch.pe_cpu", 60);
    time("cube.sram.latency", 61);
    time("cube.hbm.latency", 62);
    time("cube.noc.latency", 63);
    time("ipcq.serial_cost.tcm.setup", 64);
    time("ipcq.serial_cost.sram.setup", 65);
    time("ipcq.serial_cost.hbm.setup", 66);
    rate("pe.math.operand_bandwidth", 1001);
    rate("pe.tcm.bandwidth", 1002);
    rate("cube.sram.bandwidth", 1003);
    rate("cube.noc.bandwidth", 1004);
    rate("ipcq.serial_cost.tcm.bandwidth", 1005);
    rate("ipcq.serial_cost.sram.bandwidth", 1006);
    rate("ipcq.serial_cost.hbm.bandwidth", 1007);
    rate("ipcq.serial_cost.hbm.bank_bandwidth", 1008);
    size("ipcq.slot_size", "3 KiB", 3072);
    size("ipcq.credit_size", "24 B", 24);
    size("pe.mmu.page_size", "1 MiB", 1 << 20);
    size("pe.tcm.size", "4 MiB", 4 << 20);
    size("cube.sram.size", "8 MiB", 8 << 20);
    size("cube.hbm.burst", "512 B", 512);
    size("fabric.chunk", "2 KiB", 2048);
    size("fabric.flit", "64 B", 64);
    Map<String, String> links =
        Map.of(
            "system.links.sip_to_sip", "SIP_TO_SIP",
            "system.links.host_to_sip", "HOST_LINK",
            "sip.links.cube_to_cube", "CUBE_TO_CUBE",
            "sip.links.cube_to_io", "CUBE_TO_IO",
            "cube.links.pe_to_router", "PE_TO_ROUTER",
            "cube.links.hbm_to_router", "HBM_LINK",
            "cube.links.sram_to_router", "SRAM_LINK",
            "cube.links.m_cpu_to_router", "M_CPU_LINK");
    List<String> ofLinks = new ArrayList<>(new TreeMap<>(links).keySet());
    for (String link : ofLinks) {
      time(link + ".latency", 71 + ofLinks.indexOf(link));
      rate(link + ".bandwidth", 2001 + ofLinks.indexOf(link));
    }
    Machine m = machine();
    Map<String, Object> found = new TreeMap<>();
    for (String link : ofLinks) {
      LinkKind kind = LinkKind.valueOf(links.get(link));
      found.put(link + ".latency", m.spec(kind).latencyPs());
      found.put(link + ".bandwidth", m.spec(kind).rate().bytesPerSecond());
    }
    ofPe(m, found);
    ofQueues(m, found);
    found.put("system.launch.doorbell", m.launch().doorbellPs());
    found.put("system.launch.io_cpu", m.launch().ioCpuPs());
    found.put("system.launch.m_cpu", m.launch().mCpuPs());
    found.put("system.launch.pe_cpu", m.launch().peCpuPs());
    found.put("cube.sram.latency", m.spec(LinkKind.SRAM_PORT).latencyPs());
    found.put("cube.sram.bandwidth", m.sram().rate().bytesPerSecond());
    found.put("cube.sram.size", m.sram().sizeBytes());
    found.put("cube.hbm.latency", m.spec(LinkKind.HBM_PORT).latencyPs());
    found.put("cube.hbm.burst", m.hbm().burstBytes());
    found.put("cube.noc.latency", m.spec(LinkKind.NOC).latencyPs());
    found.put("cube.noc.bandwidth", m.spec(LinkKind.NOC).rate().bytesPerSecond());
    found.put("fabric.chunk", m.fabric().chunkBytes());
    found.put("fabric.flit", m.fabric().flitBytes());
    check("", found);
    // data for a PE are written to its TCM
    long out = (Long) expected.get("cube.links.pe_to_router.latency");
    assertThat(m.spec(LinkKind.ROUTER_TO_PE).latencyPs()).isEqualTo(out + 53_000);
    assertThat(m.spec(LinkKind.ROUTER_TO_PE).rate())
        .isEqualTo(m.spec(LinkKind.PE_TO_ROUTER).rate());
    assertThat(m.sram().latencyPs()).isEqualTo(61_000);
    assertThat(m.spec(LinkKind.SRAM_PORT).rate()).isEqualTo(m.sram().rate());
    assertThat(m.pe().gemm().peakFlops()).isEqualTo(2.0 * 33 * 34 * 2e9);
    assertThat(m.pe().gemm().hasDefaultTile()).isTrue();
    assertThat(m.ipcq().bytesPerPe()).isEqualTo(9 * 3072 * 10);
    assertThat(m.memoryBytes(m.hbmNode(new Pe(0, 0, 0)))).isEqualTo(6L << 30);
    assertThat(m.memoryBytes(m.sramNode(0, 0))).isEqualTo(8 << 20);
    assertThat(m.memoryBytes(m.tcmNode(new Pe(0, 0, 0)))).isEqualTo(4 << 20);
  }

  private static void ofPe(Machine m, Map<String, Object> found) {
    found.put("pe.cpu.command_window", m.pe().cpu().commandWindow());
    found.put("pe.cpu.contexts", m.pe().cpu().contexts());
    found.put("pe.cpu.dispatch", m.pe().cpu().dispatchPs());
    found.put("pe.cpu.scheduler_dispatch", m.pe().cpu().schedulerDispatchPs());
    found.put("pe.dma.read_queues", m.pe().dma().readQueues());
    found.put("pe.dma.write_queues", m.pe().dma().writeQueues());
    found.put("pe.dma.message_channels", m.pe().dma().messageChannels());
    found.put("pe.dma.setup", m.pe().dma().setupPs());
    found.put("pe.dma.message_overhead", m.pe().dma().messageOverheadPs());
    found.put("pe.gemm.rows", m.pe().gemm().rows());
    found.put("pe.gemm.columns", m.pe().gemm().columns());
    found.put("pe.gemm.tile_m", m.pe().gemm().tileM());
    found.put("pe.gemm.tile_k", m.pe().gemm().tileK());
    found.put("pe.gemm.tile_n", m.pe().gemm().tileN());
    found.put("pe.gemm.buffers", m.pe().gemm().buffers());
    found.put("pe.math.startup_cycles", m.pe().math().startupCycles());
    found.put("pe.math.slowdown.divide", m.pe().math().slowdown().get(MathRate.DIVIDE));
    found.put("pe.math.slowdown.square_root", m.pe().math().slowdown().get(MathRate.SQUARE_ROOT));
    found.put(
        "pe.math.slowdown.transcendental", m.pe().math().slowdown().get(MathRate.TRANSCENDENTAL));
    found.put(
        "pe.math.operand_bandwidth", m.pe().math().operandRate().orElseThrow().bytesPerSecond());
    found.put("pe.mmu.entries", m.pe().mmu().entries());
    found.put("pe.mmu.page_size", m.pe().mmu().pageBytes());
    found.put("pe.mmu.miss", m.pe().mmu().missPs());
    found.put("pe.tcm.size", m.pe().tcm().sizeBytes());
    found.put("pe.tcm.bandwidth", m.pe().tcm().rate().bytesPerSecond());
    found.put("pe.tcm.latency", m.pe().tcm().latencyPs());
  }

  private static void ofQueues(Machine m, Map<String, Object> found) {
    found.put("ipcq.slots", m.ipcq().slots());
    found.put("ipcq.directions", m.ipcq().directions());
    found.put("ipcq.slot_size", m.ipcq().slotBytes());
    found.put("ipcq.credit_size", m.ipcq().creditBytes());
    found.put("ipcq.credit_overhead", m.ipcq().creditOverheadPs());
    found.put("ipcq.poll_interval", m.ipcq().pollIntervalPs());
    for (BufferKind kind : BufferKind.values()) {
      String at = "ipcq.serial_cost." + kind.name().toLowerCase(java.util.Locale.ROOT);
      var cost = m.ipcq().serialCost().get(kind);
      found.put(at + ".setup", cost.setupPs());
      found.put(at + ".bandwidth", cost.slotRate().bytesPerSecond());
      cost.bankRate()
          .ifPresent((Rate bank) -> found.put(at + ".bank_bandwidth", bank.bytesPerSecond()));
    }
  }

  /** The least and the greatest number that a key takes: one less, one more is refused there. */
  @ParameterizedTest
  @CsvSource({
    "system.sips.count, 1, 16777216",
    "system.sips.w, 1, 16777216",
    "system.sips.h, 1, 16777216",
    "sip.cube_mesh.w, 1, 256",
    "sip.cube_mesh.h, 1, 256",
    "cube.noc.w, 1, 256",
    "cube.noc.h, 1, 256",
    "cube.pe_layout.corners, 1, 4",
    "cube.pe_layout.pe_per_corner, 1, 65536",
    "cube.memory_map.hbm_total_gb_per_cube, 1, 1048576",
    "cube.memory_map.hbm_slices_per_cube, 1, 65536",
    "cube.hbm.channels, 1, 65536",
    "cube.hbm.dram.stack_ids, 1, 64",
    "cube.hbm.dram.bank_groups, 1, 64",
    "cube.hbm.dram.banks_per_group, 1, 64",
    "pe.cpu.command_window, 2, 1048576",
    "pe.cpu.contexts, 1, 8",
    "pe.dma.read_queues, 1, 1024",
    "pe.dma.write_queues, 1, 1024",
    "pe.dma.message_channels, 1, 1024",
    "pe.math.startup_cycles, 0, 1048576",
    "pe.math.slowdown.divide, 1, 1048576",
    "pe.math.slowdown.square_root, 1, 1048576",
    "pe.math.slowdown.transcendental, 1, 1048576",
    "pe.gemm.rows, 1, 65536",
    "pe.gemm.columns, 1, 65536",
    "pe.gemm.tile_m, 1, 65536",
    "pe.gemm.tile_k, 1, 65536",
    "pe.gemm.tile_n, 1, 65536",
    "pe.gemm.buffers, 1, 64",
    "pe.mmu.entries, 1, 1048576",
    "ipcq.slots, 1, 1048576",
    "ipcq.directions, 1, 65536",
    "fabric.virtual_channels, 1, 6"
  })
  void wholeNumber_atItsLimits_isTakenAndBeyondIsRefused(String path, int least, int greatest) {
    String range = "; expected a whole number from " + least + " to " + greatest;
    for (int taken : new int[] {least, greatest}) {
      assertThat(problems(path, taken)).noneMatch(p -> p.contains("expected a whole number"));
    }
    for (int refused : new int[] {least - 1, greatest + 1}) {
      assertThat(problems(path, refused))
          .anyMatch(p -> p.startsWith("got \"" + refused + "\"" + range));
    }
  }

  private static List<String> problems(String path, int value) {
    // elsewhere the greatest numbers of all make a machine that is too large, or does not fit
    ConfigException e =
        catchThrowableOfType(
            ConfigException.class,
            () -> Machines.load("tiny", List.of("ipcq.slot_size=0 B", path + "=" + value)));
    return e.problems().stream().filter(p -> p.path().equals(path)).map(Problem::message).toList();
  }

  /** Times may be 0 unless a machine would stand still; rates, sizes and clocks never. */
  @ParameterizedTest
  @CsvSource({
    "system.links.sip_to_sip.latency, ns, 1",
    "system.links.host_to_sip.latency, ns, 1",
    "sip.links.cube_to_cube.latency, ns, 1",
    "cube.noc.latency, ns, 1",
    "cube.links.pe_to_router.latency, ns, 1",
    "cube.hbm.dram.tCL, ns, 1",
    "cube.hbm.dram.tCWL, ns, 1",
    "cube.hbm.dram.tBL, ns, 1",
    "cube.hbm.dram.tCCDS, ns, 1",
    "cube.hbm.dram.tCCDL, ns, 1",
    "ipcq.poll_interval, ns, 1",
    "pe.math.width, B, 1",
    "pe.math.clock, Hz, 1",
    "pe.gemm.clock, Hz, 1",
    "pe.tcm.size, B, 1",
    "cube.sram.size, B, 1",
    "ipcq.credit_size, B, 1",
    "ipcq.slot_size, B, 1",
    "cube.hbm.burst, B, 1",
    "cube.hbm.dram.row, B, 1",
    "cube.noc.bandwidth, B/s, 1",
    "pe.tcm.bandwidth, B/s, 1",
    "cube.hbm.channel_bandwidth, B/s, 1",
    "fabric.chunk, B, 1",
    "fabric.flit, B, 1",
    "system.launch.doorbell, ns, 0",
    "system.launch.io_cpu, ns, 0",
    "system.launch.m_cpu, ns, 0",
    "system.launch.pe_cpu, ns, 0",
    "pe.cpu.dispatch, ns, 0",
    "pe.dma.setup, ns, 0",
    "pe.dma.message_overhead, ns, 0",
    "pe.tcm.latency, ns, 0",
    "pe.mmu.miss, ns, 0",
    "cube.hbm.latency, ns, 0",
    "cube.sram.latency, ns, 0",
    "ipcq.credit_overhead, ns, 0",
    "ipcq.serial_cost.tcm.setup, ns, 0",
    "cube.hbm.dram.tRP, ns, 0",
    "cube.hbm.dram.tWTRL, ns, 0"
  })
  void quantity_ofNothing_isTakenWhereItCanBe(String path, String unit, int least) {
    String zero = "0 " + unit;
    ConfigException e =
        catchThrowableOfType(
            ConfigException.class, () -> Machines.load("sip-2026", List.of(path + "=" + zero)));
    if (least == 0) {
      assertThat(e).isNull();
    } else {
      assertThat(e.getMessage()).contains(path + ": got \"" + zero + "\"; expected ");
      assertThat(e.getMessage()).contains("above 0");
    }
  }

  @Test
  void mathWidth_atMostOneMebibyte() {
    String key = "pe.math.width=";
    assertThat(Machines.load("sip-2026", List.of(key + "1 MiB")).pe().math().lanesBytesPerCycle())
        .isEqualTo(1 << 20);
    assertThat(Machines.load("sip-2026", List.of(key + "1 B")).pe().math().lanesBytesPerCycle())
        .isEqualTo(1);
    assertThat(
            catchThrowableOfType(
                ConfigException.class, () -> Machines.load("sip-2026", List.of(key + "1048577 B"))))
        .hasMessageContaining("got 1048577 B per cycle; expected at most 1 MiB");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "row=1000 B | row: got 1000 B; expected a power of two, e.g. 512 B",
        "access=48 B | access: got 48 B; expected a power of two, e.g. 32 B",
        "access=512 B; tCCDS=16 ns; tCCDL=16 ns | access: got 512 B; expected at most the stripe,"
            + " cube.hbm.burst: 256 B",
        "bank_groups=3 | bank_groups: got 3 bank groups; expected a multiple of tCCDL / tCCDS = 2",
        "row=64 B | row: got 64 B; expected rows that hold a stripe, cube.hbm.burst: 256 B over 2"
            + " bank groups",
        "tCCDS=0.9 ns | tCCDS: got 900 ps: a burst of 32 B every tCCDS is more than"
            + " cube.hbm.channel_bandwidth; expected at least 1 ns",
        "tBL=20 ns | tBL: got 20 ns: the data of a burst are longer than tCCDS, 1 ns, after which the next may follow; expected at most that",
        "tREFI=384 ns | tREFI: got 384 ns for 48 banks; expected more than tRREFD for each",
        "tRFCpb=3900 ns | tRFCpb: got 3900 ns; expected less than tREFI",
      })
  void dram_valuesThatContradictEachOther_areRefused(String overrides, String message) {
    List<String> all =
        List.of(overrides.split("; ")).stream().map(s -> "cube.hbm.dram." + s).toList();
    ConfigException e =
        catchThrowableOfType(ConfigException.class, () -> Machines.load("sip-2026", all));
    assertThat(e).isNotNull();
    assertThat(e.problems()).as(e.getMessage()).hasSize(1);
    assertThat(e.getMessage()).contains("cube.hbm.dram." + message);
  }

  /** One step inside what the last test refuses. */
  @ParameterizedTest
  @CsvSource({
    "row=128 B",
    "access=256 B; tCCDS=8 ns; tCCDL=8 ns",
    "bank_groups=4",
    "tCCDS=1 ns",
    "tREFI=385 ns; tRFCpb=200 ns",
    "tRFCpb=3899 ns"
  })
  void dram_valuesThatJustFit_areTaken(String overrides) {
    List<String> all =
        List.of(overrides.split("; ")).stream().map(s -> "cube.hbm.dram." + s).toList();
    assertThat(Machines.load("sip-2026", all).hbm().dram()).isNotNull();
  }

  /** Banks give the peak, and the first data of an open row; else efficiency and latency count. */
  @ParameterizedTest
  @CsvSource({"flat, 217600000000, 30500", "banked, 256000000000, 6000"})
  void hbmPort_isThatOfItsFidelity(String fidelity, long rate, long latencyPs) {
    Machine m = Machines.load("sip-2026", List.of("cube.hbm.fidelity=" + fidelity));
    assertThat(m.hbm().rate().bytesPerSecond()).isEqualTo(rate);
    assertThat(m.hbm().peakRate().bytesPerSecond()).isEqualTo(256 * GB);
    assertThat(m.hbm().latencyPs()).isEqualTo(latencyPs);
    assertThat(m.spec(LinkKind.HBM_PORT).latencyPs()).isEqualTo(latencyPs);
    assertThat(m.hbm().channels()).isEqualTo(8);
    assertThat(m.hbm().isBanked()).isEqualTo(fidelity.equals("banked"));
  }
}
