package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Launch;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.Reused;
import org.kernbench.device.memory.AddressMapping;
import org.kernbench.device.simulator.LaunchMemoTest.Program;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.VirtualAddress;

/**
 * Packages that do the same, at one time or one after the other: what came of a launch, or is
 * coming of it, stands for those of the others, and all rows are those of each launch simulated.
 * Where something makes packages different, it does not.
 */
final class TwinPackagesTest {
  private static final int PACKAGES = 3;
  private static final long PAGE = 16 << 10;

  private static Machine machine(String... more) {
    List<String> all =
        new ArrayList<>(
            List.of(
                "system.sips.count=" + PACKAGES,
                "system.sips.topology=ring_1d",
                "pe.mmu.page_size=16 KiB",
                "pe.tcm.size=192 KiB",
                "ipcq.slots=2",
                "ipcq.slot_size=4 KiB"));
    all.addAll(List.of(more));
    return Machines.load("sip-2026", all);
  }

  /** What the host does for packages, each with a few ranges of memory on each of its PEs. */
  private static final class Host {
    private final Machine machine;
    private final Simulator sim;
    private final List<List<VirtualAddress>> mapped = new ArrayList<>();
    private final List<Launch> all = new ArrayList<>();
    private long next = VirtualAddress.BASE;
    private long offset;

    Host(Machine machine, Simulator sim) {
      this.machine = machine;
      this.sim = sim;
      for (int i = 0; i < PACKAGES * 3; i++) {
        mapped.add(new ArrayList<>());
      }
    }

    static Pe pe(int sip, int number) {
      return new Pe(sip, number / 2, number % 2);
    }

    VirtualAddress map(int sip, int number, long gap) {
      Pe holder = pe(sip, number);
      VirtualAddress at = new VirtualAddress(next + gap);
      next += 8 * PAGE;
      sim.map(
          new AddressMapping(
              "range",
              at,
              LaunchMemoTest.RANGE_BYTES,
              List.of(new AddressMapping.Copy(holder, machine.addresses().hbm(holder, offset)))));
      offset += LaunchMemoTest.RANGE_BYTES;
      mapped.get(sip * 3 + number).add(at);
      return at;
    }

    void mapAll(Random random) {
      for (int i = 0; i < 2 * 3; i++) {
        long gap = random.nextInt(3) << 12;
        for (int sip = 0; sip < PACKAGES; sip++) {
          map(sip, i % 3, random.nextInt(8) == 0 ? 4096 : gap);
        }
      }
    }

    Launch launch(
        int kind, List<Pe> pes, int stream, List<Launch> after, List<VirtualAddress> memory) {
      Launch launch =
          sim.launch(
              new LaunchRequest("kind " + kind, pes, stream, Optional.empty(), after),
              new Program(kind, memory));
      all.add(launch);
      return launch;
    }

    /** A launch of a layer, by place in the package. */
    private record Part(
        int kind, int first, int places, int stream, int memory, List<Integer> after) {
      static Part of(Random random, int number) {
        int first = random.nextInt(2);
        List<Integer> after = new ArrayList<>();
        for (int other = Math.max(0, number - 3); other < number; other++) {
          if (random.nextInt(2) == 0) {
            after.add(other);
          }
        }
        return new Part(
            random.nextInt(3),
            first,
            1 + random.nextInt(2),
            random.nextInt(2),
            random.nextInt(4),
            after);
      }
    }

    private Launch launch(int sip, Part part, List<Launch> made, List<Launch> before) {
      List<Pe> pes = new ArrayList<>();
      for (int i = 0; i < part.places; i++) {
        pes.add(pe(sip, part.first + i));
      }
      List<VirtualAddress> near = mapped.get(sip * 3 + part.first);
      List<VirtualAddress> far = mapped.get(sip * 3 + part.first + part.places - 1);
      List<Launch> after = new ArrayList<>();
      part.after.forEach(i -> after.add(made.get(i)));
      if (made.isEmpty() && !before.isEmpty()) {
        after.add(before.getLast());
      }
      return launch(
          part.kind,
          pes,
          part.stream,
          after,
          List.of(near.get(part.memory % near.size()), far.get(part.memory / 2 % far.size())));
    }

    /** All packages run the same layers; now and then one does something else. */
    void runLayers(Random random) {
      mapAll(random);
      List<Part> layer = new ArrayList<>();
      for (int i = 0; i < 2 + random.nextInt(4); i++) {
        layer.add(Part.of(random, i));
      }
      List<List<Launch>> before = new ArrayList<>();
      for (int sip = 0; sip < PACKAGES; sip++) {
        before.add(new ArrayList<>());
      }
      boolean ahead = random.nextBoolean();
      for (int n = 0; n < 6; n++) {
        for (int sip = 0; sip < PACKAGES; sip++) {
          if (!ahead) { // as a rank waits for its own
            before.get(sip).forEach(sim::drive);
          }
          List<Launch> made = new ArrayList<>();
          int other = random.nextInt(8) == 0 ? random.nextInt(layer.size()) : -1;
          for (int i = 0; i < layer.size(); i++) {
            Part part = i == other ? Part.of(random, i) : layer.get(i);
            made.add(launch(sip, part, made, before.get(sip)));
          }
          before.get(sip).addAll(made);
          if (random.nextInt(12) == 0) {
            fromNeighbour(sip, random);
          }
          if (random.nextInt(12) == 0) {
            map(sip, random.nextInt(3), 0);
          }
        }
      }
      all.forEach(sim::drive);
    }

    /** Reads what another package has, over its links. */
    private void fromNeighbour(int sip, Random random) {
      int number = random.nextInt(3);
      List<VirtualAddress> there = mapped.get((sip + 1) % PACKAGES * 3 + number);
      VirtualAddress from = there.get(random.nextInt(there.size()));
      launch(0, List.of(pe(sip, number)), 0, List.of(), List.of(from, from));
    }
  }

  @Test
  void rows_ofPackagesThatDoTheSame_areThoseOfEachSimulated() {
    Map<String, Long> reasons = new HashMap<>();
    long reused = 0;
    for (int seed = 0; seed < 40; seed++) {
      reused += compare(seed, reasons);
    }
    assertThat(reused).isGreaterThan(1000);
    assertThat(reasons)
        .containsKeys("followed one that stands for none", "others on its links", "translations");
  }

  @Test
  void rows_wherePackagesEndInOnePicosecond_areThoseOfEachSimulated() {
    compare(2092, new HashMap<>()); // launches of one package started in the other order (ADR 0306)
  }

  @Test
  @Tag("slow")
  void rows_ofThousandsOfPackagesThatDoTheSame_areThoseOfEachSimulated() {
    for (int seed = 1000; seed < 2200; seed++) {
      compare(seed, new HashMap<>());
    }
  }

  private static long compare(int seed, Map<String, Long> reasons) {
    Machine machine =
        machine(
            "pe.mmu.entries=" + (seed % 4 == 0 ? 16 : 128),
            "pe.mmu.fill=" + (seed % 2 == 0 ? "at_map" : "at_miss"),
            "pe.cpu.command_window=" + (seed % 3 == 0 ? 8 : 64));
    Reused counts =
        LaunchMemoTest.compare(
            machine, (m, sim) -> new Host(m, sim).runLayers(new Random(seed)), "seed " + seed);
    counts.reasons().forEach((why, n) -> reasons.merge(why, n, Long::sum));
    return counts.launches();
  }

  /** One launch on each package, all of them at once or one after the other. */
  private static Reused oneEach(Machine machine, boolean atOnce, int home, long gapOfLast) {
    return LaunchMemoTest.compare(
        machine,
        (m, sim) -> {
          Host host = new Host(m, sim);
          for (int sip = 0; sip < PACKAGES; sip++) {
            int holder = home < 0 ? sip : home;
            long gap = sip == PACKAGES - 1 ? gapOfLast : 0;
            List<VirtualAddress> memory =
                List.of(host.map(holder, 0, gap), host.map(holder, 1, gap));
            Launch launch =
                host.launch(2, List.of(Host.pe(sip, 0), Host.pe(sip, 1)), 0, List.of(), memory);
            if (!atOnce) {
              sim.drive(launch);
            }
          }
          host.all.forEach(sim::drive);
        },
        "one each");
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void alike_oneIsSimulated(boolean atOnce) {
    assertThat(oneEach(machine(), atOnce, -1, 0).launches()).isEqualTo(PACKAGES - 1);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void slowPackage_isSimulatedToo(boolean atOnce) {
    Machine slow = machine("system.sips.slow=1 links 0.5");
    assertThat(oneEach(slow, atOnce, -1, 0).launches()).isEqualTo(PACKAGES - 2);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void memoryOfOnePackage_isNoMemoryOfEach(boolean atOnce) {
    assertThat(oneEach(machine(), atOnce, 0, 0).launches()).isZero();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void pagesThatBeginElsewhere_missElsewhere(boolean atOnce) {
    Machine misses = machine("pe.mmu.fill=at_miss");
    assertThat(oneEach(misses, atOnce, -1, 0).launches()).isEqualTo(PACKAGES - 1);
    assertThat(oneEach(misses, atOnce, -1, 4096).launches()).isEqualTo(PACKAGES - 2);
  }
}
