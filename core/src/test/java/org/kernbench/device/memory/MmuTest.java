package org.kernbench.device.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.Register;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.simulator.DeviceRig;
import org.kernbench.machine.Pe;
import org.kernbench.machine.PhysicalAddress;
import org.kernbench.machine.SimulationException;
import org.kernbench.machine.VirtualAddress;

/** Translation: what a virtual address means, and what it costs to find out. */
final class MmuTest {
  private static final long BASE = VirtualAddress.BASE;
  private static final int PAGE = 4096;
  private static final long MISS_PS = 100_000;

  private static DeviceRig rig(Mode mode, int entries, String fill, String... more) {
    List<String> overrides =
        new ArrayList<>(
            List.of(
                "pe.mmu.entries=" + entries,
                "pe.mmu.page_size=4 KiB",
                "pe.mmu.miss=100 ns",
                "pe.mmu.fill=" + fill));
    overrides.addAll(Arrays.asList(more));
    return DeviceRig.of(mode, "tiny", overrides.toArray(new String[0]));
  }

  private static VirtualAddress va(long offset) {
    return new VirtualAddress(BASE + offset);
  }

  private static Region at(long offset, int bytes) {
    return Region.of(va(offset), bytes);
  }

  /** Maps bytes of the virtual space to the HBM of a PE. */
  private static void map(DeviceRig rig, long offset, long bytes, int pe, long to) {
    PhysicalAddress place = rig.machine.addresses().hbm(rig.pe(pe), to);
    AddressMapping.Copy copy = new AddressMapping.Copy(rig.pe(pe), place);
    rig.sim.map(new AddressMapping("range " + offset, va(offset), bytes, List.of(copy)));
  }

  private static List<Long> translations(DeviceRig rig) {
    List<Long> all = new ArrayList<>();
    OpLog log = rig.sim.opLog();
    for (int id = 0; id < log.size(); id++) {
      all.add(log.translationPs(id));
    }
    return all;
  }

  // ---- the TLB ----

  /** Against the slow twin: a list in order of use. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 5, 8, 33, 256})
  void tlb_randomUse_agreesWithAListInOrderOfUse(int limit) {
    Tlb tlb = new Tlb(limit);
    List<Long> twin = new ArrayList<>();
    Random random = new Random(limit);
    for (int i = 0; i < 20_000; i++) {
      Long key = BASE + random.nextInt(limit * 2) * 4096L;
      boolean held = twin.remove(key);
      if (random.nextInt(20) == 0) {
        tlb.remove(key);
        continue;
      }
      twin.add(key);
      if (twin.size() > limit) {
        twin.removeFirst();
      }
      assertThat(tlb.use(key)).as("use %d of %x", i, key).isEqualTo(held);
    }
  }

  /**
   * Closed form: {@code pages} pages in turn, {@code rounds} times. They all fit, or least recently
   * used forgets each of them just before it is needed: then every access misses. One command at a
   * time, so the kernel takes what it takes on physical addresses, and a walk for every miss.
   */
  @ParameterizedTest
  @CsvSource({
    "4, 3, 4, 4",
    "4, 3, 3, 12",
    "4, 3, 1, 12",
    "1, 5, 1, 1",
    "6, 4, 8, 6",
    "9, 2, 8, 18"
  })
  void load_pagesInTurn_missesAsTheClosedFormSays(int pages, int rounds, int entries, int misses) {
    long[] endPs = new long[2];
    for (int virtual = 0; virtual < 2; virtual++) {
      try (DeviceRig rig = rig(Mode.TIME, entries, "at_miss", "pe.cpu.issue=serial")) {
        map(rig, 0, pages * PAGE, 0, 0);
        boolean physical = virtual == 0;
        Launch launch =
            rig.run(p -> {
              for (int i = 0; i < pages * rounds; i++) {
                long offset = i % pages * (long) PAGE + 64;
                p.load(physical ? rig.hbm(0, offset, 64) : at(offset, 64));
              }
            });
        endPs[virtual] = launch.criticalPs();
        MmuCounts expected = physical ? new MmuCounts(0, 0) : new MmuCounts(pages * rounds, misses);
        assertThat(rig.sim.mmuCounts()).isEqualTo(expected);
      }
    }
    assertThat(endPs[1] - endPs[0]).isEqualTo(misses * MISS_PS);
  }

  /** Stores walk as loads do, and the walk delays the transfer, not the issue. */
  @Test
  void store_firstTouchOfAPage_takesAWalkLonger() {
    try (DeviceRig rig = rig(Mode.TIME, 8, "at_miss", "pe.cpu.issue=serial")) {
      map(rig, 0, 1 << 20, 0, 0);
      rig.run(p -> {
        Register v = p.load(rig.hbm(0, 1 << 20, 512));
        for (int i = 0; i < 2; i++) {
          p.store(v, 0, at(0, 512));
        }
      });
      assertThat(rig.row(1).ps() - rig.row(2).ps()).isEqualTo(MISS_PS);
      assertThat(translations(rig)).containsExactly(0L, MISS_PS, 0L);
    }
  }

  /** A walk for each page that a command touches, whether rows fill the pages or hop over them. */
  @ParameterizedTest
  @CsvSource({
    "1, 4096, 4096, 0, 1",
    "1, 4096, 4096, 1, 2",
    "1, 12288, 12288, 0, 3",
    "8, 64, 4096, 0, 8",
    "8, 64, 2048, 0, 4",
    "4, 64, 8192, 4064, 8",
    "4, 64, 8192, 0, 4",
    "3, 4096, 4160, 0, 4",
    "2, 8192, 8192, 100, 5"
  })
  void load_rows_walksOncePerPage(int rows, int rowBytes, long stride, long offset, int walks) {
    try (DeviceRig rig = rig(Mode.TIME, 64, "at_miss")) {
      map(rig, 0, 1 << 20, 0, 0);
      rig.run(p -> p.load(new Region(va(offset), rows, rowBytes, stride)));
      assertThat(translations(rig)).containsExactly(walks * MISS_PS);
    }
  }

  // ---- many ranges ----

  /** Four ranges of odd sizes, two of them within one page, on four PEs. */
  private static final long[] CUTS = {0, 10_000, 10_007, 17_001, 40_000};

  private static void mapCuts(DeviceRig rig) {
    for (int i = 0; i + 1 < CUTS.length; i++) {
      map(rig, CUTS[i], CUTS[i + 1] - CUTS[i], i, 1000 * i);
    }
  }

  /**
   * Random loads and stores of any size, also across the ends of ranges. An independent reading of
   * the rule walks over all bytes of each command, one by one, and keeps the translations in a list
   * in order of use.
   */
  @ParameterizedTest
  @CsvSource({"1, 1", "2, 2", "3, 5", "4, 64"})
  void randomAccesses_overRangesWithinAPage_costWhatASlowTwinSays(long seed, int entries) {
    List<Region> regions = randomRegions(new Random(seed), 60);
    Consumer<PePort> program =
        p -> {
          for (Region region : regions) {
            Register v = p.load(region);
            p.store(v, 0, region);
            p.release(v);
          }
        };
    String hash;
    try (DeviceRig rig = rig(Mode.TIME, entries, "at_miss")) {
      mapCuts(rig);
      rig.run(program);
      assertThat(translations(rig)).isEqualTo(twin(regions, entries));
      hash = rig.sim.opLog().hash();
    }
    try (DeviceRig rig = rig(Mode.FULL, entries, "at_miss")) {
      mapCuts(rig);
      rig.run(program);
      assertThat(rig.sim.opLog().hash()).isEqualTo(hash);
    }
  }

  private static List<Region> randomRegions(Random random, int n) {
    List<Region> regions = new ArrayList<>();
    while (regions.size() < n) {
      int rows = 1 + random.nextInt(5);
      int rowBytes = 1 + random.nextInt(random.nextBoolean() ? 100 : 6000);
      long stride = rowBytes + random.nextInt(3) * 2500L;
      Region region = new Region(va(random.nextInt(40_000)), rows, rowBytes, stride);
      if (region.address().value() - BASE + region.extent() <= 40_000) {
        regions.add(region);
      }
    }
    return regions;
  }

  /**
   * What each command of the random program should cost; commands are cut at the ends of ranges.
   */
  private static List<Long> twin(List<Region> regions, int entries) {
    List<Long> held = new ArrayList<>();
    List<Long> costs = new ArrayList<>();
    for (Region region : regions) {
      for (int access = 0; access < 2; access++) { // a load, then a store
        for (List<Long> command : commands(region)) {
          costs.add(walks(command, held, entries) * MISS_PS);
        }
      }
    }
    return costs;
  }

  /**
   * The addresses of a region, byte by byte: a command for whole rows of a range, else per part.
   */
  private static List<List<Long>> commands(Region region) {
    List<List<Long>> commands = new ArrayList<>();
    int openRange = -1; // of whole rows
    for (int row = 0; row < region.rows(); row++) {
      long first = region.address().value() + row * region.strideBytes();
      long last = first + region.rowBytes() - 1;
      boolean whole = range(first) == range(last);
      if (!whole || range(first) != openRange) {
        commands.add(new ArrayList<>());
      }
      for (long a = first; a <= last; a++) {
        if (a > first && range(a) != range(a - 1)) {
          commands.add(new ArrayList<>());
        }
        commands.getLast().add(a);
      }
      openRange = whole ? range(first) : -1;
    }
    return commands;
  }

  private static int range(long address) {
    int i = 0;
    while (address - BASE >= CUTS[i + 1]) {
      i++;
    }
    return i;
  }

  private static int walks(List<Long> addresses, List<Long> held, int entries) {
    Set<Long> translations = new LinkedHashSet<>();
    for (long a : addresses) {
      translations.add(range(a) * 1_000_000L + (a - BASE) / PAGE);
    }
    int walks = 0;
    for (Long t : translations) {
      if (!held.remove(t)) {
        walks++;
      }
      held.add(t);
      if (held.size() > entries) {
        held.removeFirst();
      }
    }
    return walks;
  }

  /** Bytes go where the map says, in every mode, also across the ends of ranges. */
  @ParameterizedTest
  @ValueSource(strings = {"FULL", "VALUES"})
  void randomAccesses_overRangesOfSeveralMemories_moveTheRightBytes(String mode) {
    try (DeviceRig rig = rig(Mode.valueOf(mode), 4, "at_miss")) {
      mapCuts(rig);
      byte[] expected = new byte[40_000];
      new Random(5).nextBytes(expected);
      rig.sim.write(va(0), expected, 0, expected.length);
      assertThat(rig.read(rig.hbm(1, 1000, 7)))
          .isEqualTo(Arrays.copyOfRange(expected, 10_000, 10_007));
      Random random = new Random(6);
      List<int[]> moves = new ArrayList<>();
      for (int i = 0; i < 40; i++) {
        int bytes = 1 + random.nextInt(9000);
        moves.add(
            new int[] {random.nextInt(40_000 - bytes), random.nextInt(40_000 - bytes), bytes});
      }
      rig.run(p -> {
        for (int[] m : moves) {
          Register v = p.load(at(m[0], m[2]));
          p.store(v, 0, at(m[1], m[2]));
          p.release(v);
        }
      });
      for (int[] m : moves) {
        System.arraycopy(expected.clone(), m[0], expected, m[1], m[2]);
      }
      byte[] got = new byte[40_000];
      rig.sim.read(va(0), got, 0, got.length);
      assertThat(got).isEqualTo(expected);
    }
  }

  /** A command of several parts is one value: what needs it starts after the last part. */
  @Test
  void load_acrossMemories_isReadyWithItsLastPart() {
    try (DeviceRig rig = rig(Mode.TIME, 8, "at_map")) {
      map(rig, 0, 4096, 0, 0);
      map(rig, 4096, 64, 7, 0);
      rig.run(p -> {
        Register v = p.load(at(0, 4160));
        p.store(v, 0, rig.hbm(0, 1 << 20, 4160));
      });
      assertThat(rig.rows()).hasSize(3);
      assertThat(rig.row(0).bytes() + rig.row(1).bytes()).isEqualTo(4160);
      assertThat(rig.row(2).startPs()).isEqualTo(Math.max(rig.row(0).endPs(), rig.row(1).endPs()));
    }
  }

  // ---- the host ----

  /** Whoever holds the memory has the translation from the start; others walk once. */
  @Test
  void map_fillsTheTlbOfTheHolderOnly() {
    try (DeviceRig rig = rig(Mode.TIME, 4, "at_map")) {
      map(rig, 0, 4 * PAGE, 0, 0);
      Consumer<PePort> program =
          p -> {
            for (int i = 0; i < 8; i++) {
              p.load(at(i % 4 * (long) PAGE, 64));
            }
          };
      rig.run(program, program);
      assertThat(rig.rows(0, OpKind.LOAD)).hasSize(8);
      assertThat(rig.sim.mmuCounts()).isEqualTo(new MmuCounts(16, 4));
    }
  }

  /** What is mapped where something else was before has translations of its own. */
  @Test
  void unmap_sameAddressesMappedAgain_noOldTranslationServes() {
    try (DeviceRig rig = rig(Mode.FULL, 4, "at_miss")) {
      map(rig, 0, 128, 0, 0);
      rig.write(rig.machine.addresses().hbm(rig.pe(0), 0), new byte[] {1});
      rig.write(rig.machine.addresses().hbm(rig.pe(0), 512), new byte[] {2});
      Consumer<PePort> copy = p -> p.store(p.load(at(0, 1)), 0, rig.hbm(0, 1 << 20, 1));
      rig.run(copy);
      assertThat(rig.read(rig.hbm(0, 1 << 20, 1))).containsExactly(1);
      assertThat(rig.sim.unmap(va(0)).copies().getFirst().pe()).isEqualTo(rig.pe(0));
      map(rig, 0, 128, 0, 512);
      rig.run(copy);
      assertThat(rig.read(rig.hbm(0, 1 << 20, 1))).containsExactly(2);
      assertThat(rig.sim.mmuCounts()).isEqualTo(new MmuCounts(2, 2));
    }
  }

  /** Each PE sees its own copy, others the nearest; the host writes all of them. */
  @Test
  void map_copies_ownElseInTheCubeElseNearest() {
    try (DeviceRig rig = rig(Mode.FULL, 4, "at_map")) {
      List<AddressMapping.Copy> copies = new ArrayList<>();
      for (int i : new int[] {1, 3, 4}) { // cubes have two PEs: cube 0, 1 and 2
        copies.add(
            new AddressMapping.Copy(rig.pe(i), rig.machine.addresses().hbm(rig.pe(i), 64 * i)));
      }
      rig.sim.map(new AddressMapping("w", va(0), 8, copies));
      int[] sees = {1, 1, 3, 3, 4, 4, 3, 3}; // cube 3 is next to cubes 1 and 2, not to cube 0
      for (int i = 0; i < sees.length; i++) {
        Pe holder = rig.pe(sees[i]);
        assertThat(rig.sim.translate(rig.pe(i), va(5)))
            .isEqualTo(rig.machine.addresses().hbm(holder, 64 * sees[i] + 5));
      }
      rig.sim.write(va(0), new byte[] {1, 2, 3, 4, 5, 6, 7, 8}, 0, 8);
      for (int i : new int[] {1, 3, 4}) {
        assertThat(rig.read(rig.hbm(i, 64 * i, 3))).containsExactly(1, 2, 3);
      }
    }
  }

  @Test
  void map_overlapping_isRefused() {
    try (DeviceRig rig = rig(Mode.TIME, 4, "at_map")) {
      map(rig, 100, 50, 0, 0);
      assertThatThrownBy(() -> map(rig, 149, 10, 0, 64)).hasMessageContaining("overlaps range 100");
      assertThatThrownBy(() -> map(rig, 90, 11, 0, 64)).hasMessageContaining("overlaps range 100");
      map(rig, 150, 10, 0, 64);
      map(rig, 90, 10, 0, 128);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"TIME", "VALUES"})
  void load_nothingMapped_isAPageFaultThatNamesTheNeighbours(String mode) {
    try (DeviceRig rig = rig(Mode.valueOf(mode), 4, "at_map")) {
      map(rig, 0, 100, 0, 0);
      map(rig, 4096, 100, 0, 128);
      assertThatThrownBy(() -> rig.run(p -> p.load(at(90, 20))))
          .isInstanceOf(SimulationException.class)
          .hasMessage(
              "sip0.cube0.pe0: page fault: nothing is mapped at va:0x2000000000000064; below lies"
                  + " range 0 [va:0x2000000000000000, va:0x2000000000000064); above lies range 4096"
                  + " [va:0x2000000000001000, va:0x2000000000001064); expected an address inside a"
                  + " tensor that is not closed");
    }
  }

  /** A hit costs nothing and changes nothing: the same times as on physical addresses. */
  @Test
  void hits_anyProgram_sameTimesAsPhysicalAddresses() {
    String[] hashes = new String[2];
    for (int virtual = 0; virtual < 2; virtual++) {
      try (DeviceRig rig = rig(Mode.TIME, 64, "at_map")) {
        map(rig, 0, 1 << 17, 0, 0);
        boolean physical = virtual == 0;
        Random random = new Random(11);
        rig.run(p -> {
          for (int i = 0; i < 50; i++) {
            long from = random.nextInt(1 << 16);
            long to = random.nextInt(1 << 16);
            int bytes = 1 + random.nextInt(5000);
            Register v = p.load(physical ? rig.hbm(0, from, bytes) : at(from, bytes));
            p.store(v, 0, physical ? rig.hbm(0, to, bytes) : at(to, bytes));
            p.release(v);
          }
        });
        hashes[virtual] = rig.sim.opLog().hash();
      }
    }
    assertThat(hashes[1]).isEqualTo(hashes[0]);
  }
}
