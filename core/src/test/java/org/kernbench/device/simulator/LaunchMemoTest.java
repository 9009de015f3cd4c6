package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.kernbench.device.simulator.SlotReuseTest.fill;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.function.BiConsumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Launch;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.Register;
import org.kernbench.device.ReusableProgram;
import org.kernbench.device.Reused;
import org.kernbench.device.log.LogDifference;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.memory.AddressMapping;
import org.kernbench.device.memory.MmuCounts;
import org.kernbench.device.memory.Region;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.VirtualAddress;

/**
 * Random host programs, run with every launch simulated and with what came of launches used again:
 * all rows are the same. They launch a few kernels again and again, on one or several PEs, on two
 * streams, near and far from their memory, at times when others are on their links or come in their
 * way, and map and unmap memory meanwhile.
 */
final class LaunchMemoTest {
  private static final int RANGES = 12;
  static final int RANGE_BYTES = 48 << 10;

  /** What a run leaves. */
  record Left(OpLog log, long nowPs, MmuCounts mmu, Optional<Reused> reused) {}

  @ParameterizedTest
  @ValueSource(strings = {"at_map", "at_miss"})
  void rows_ofRandomLaunches_areThoseOfEachSimulated(String fill) {
    Map<String, Long> reasons = new HashMap<>();
    long reused = 0;
    for (int seed = 0; seed < 30; seed++) {
      reused += compare(fill, seed, reasons);
    }
    assertThat(reused).isGreaterThan(150);
    assertThat(reasons)
        .containsKeys(
            "another launch called on its PEs",
            "another launch on its PEs",
            "others on its links",
            "links in use",
            "waited for others on links",
            "translations");
  }

  /** Layers of a few launches on two streams that overlap, now and then one that is another. */
  @ParameterizedTest
  @ValueSource(strings = {"at_map", "at_miss"})
  void rows_ofLayersWhoseLaunchesOverlap_areThoseOfEachSimulated(String fill) {
    Map<String, Long> reasons = new HashMap<>();
    long reused = 0;
    for (int seed = 0; seed < 25; seed++) {
      reused += compareLayers(fill, seed, reasons);
    }
    assertThat(reused).isGreaterThan(300);
    assertThat(reasons)
        .containsKeys("another launch than before beside them", "no launch beside them as before");
  }

  /**
   * Two launches of a PE, on two streams, wait for ends of one picosecond: they start in the order
   * in which they were called (ADR 0306), whichever end comes first.
   */
  @Test
  void rows_whereTwoEndsOfAPicosecondStartTwoStreams_areThoseOfEachSimulated() {
    compareLayers("at_miss", 1291, new HashMap<>());
  }

  /**
   * Memory is given back whose last launch ended by what came of another, beside one that has not
   * ended yet: both are simulated after all, the first with the memory that it had.
   */
  @Test
  void rows_whereMemoryOfAnEndedLaunchIsUnmapped_areThoseOfEachSimulated() {
    compare("at_miss", 11029, new HashMap<>());
  }

  /** They do something else at another time, whatever they say that they depend on. */
  @Test
  void rows_ofKernelsThatAskForTheTime_areThoseOfEachSimulated() {
    Machine machine = Machines.load("sip-2026", List.of("system.sips.count=1"));
    Reused counts =
        compare(
            machine,
            (m, sim) -> {
              Pe pe = new Pe(0, 0, 0);
              VirtualAddress at = new VirtualAddress(VirtualAddress.BASE);
              sim.map(
                  new AddressMapping(
                      "range",
                      at,
                      RANGE_BYTES,
                      List.of(new AddressMapping.Copy(pe, m.addresses().hbm(pe, 0)))));
              for (int i = 0; i < 6; i++) {
                sim.drive(sim.launch(LaunchRequest.of("clock", List.of(pe)), new Clock(at)));
              }
            },
            "clock");
    assertThat(counts.launches()).isZero();
    assertThat(counts.reasons()).containsKey("kernels that ask for the time");
  }

  /** As many loads as the clock says. */
  private record Clock(VirtualAddress memory) implements ReusableProgram {
    @Override
    public Runnable apply(PePort port) {
      return () -> {
        long loads = 1 + port.clockPs() / 1000 % 3;
        for (long i = 0; i < loads; i++) {
          port.release(port.load(Region.of(memory, 4096)));
        }
      };
    }

    @Override
    public Optional<Key> key() {
      return Optional.of(new Key(List.of("clock"), List.of(new Memory(memory, RANGE_BYTES))));
    }
  }

  /** Twenty thousand of each sort, five hundred at a time: a test has five minutes. */
  @Tag("slow")
  @ParameterizedTest
  @MethodSource("firstSeeds")
  void rows_ofThousandsOfRandomLaunches_areThoseOfEachSimulated(int first) {
    for (int seed = first; seed < first + 500; seed++) {
      String fill = seed % 2 == 0 ? "at_map" : "at_miss";
      compare(fill, seed, new HashMap<>());
      compareLayers(fill, seed, new HashMap<>());
    }
  }

  static IntStream firstSeeds() {
    return IntStream.rangeClosed(2, 11).map(part -> 500 * part);
  }

  private static long compareLayers(String fill, int seed, Map<String, Long> reasons) {
    return compare(
        fill,
        seed,
        reasons,
        (machine, sim) -> new Host(machine, sim, new Random(seed)).runLayers());
  }

  private static long compare(String fill, int seed, Map<String, Long> reasons) {
    return compare(
        fill, seed, reasons, (machine, sim) -> new Host(machine, sim, new Random(seed)).run());
  }

  private static long compare(
      String fill, int seed, Map<String, Long> reasons, BiConsumer<Machine, Simulator> host) {
    Machine machine =
        Machines.load(
            "sip-2026",
            List.of(
                "system.sips.count=2",
                "system.sips.topology=ring_1d",
                "pe.mmu.entries=" + (seed % 4 == 0 ? 16 : 128),
                "pe.mmu.page_size=16 KiB",
                "pe.mmu.fill=" + fill,
                "pe.tcm.size=192 KiB",
                "ipcq.slots=2",
                "ipcq.slot_size=4 KiB",
                "pe.cpu.command_window=" + (seed % 3 == 0 ? 8 : 64),
                "pe.accel_slot=" + (seed % 5 == 0 ? "separate" : "shared")));
    Reused counts = compare(machine, host, "seed " + seed);
    counts.reasons().forEach((why, n) -> reasons.merge(why, n, Long::sum));
    return counts.launches();
  }

  /** Runs both ways and compares all that they leave; returns what became of launches. */
  static Reused compare(Machine machine, BiConsumer<Machine, Simulator> host, String what) {
    Left each = run(machine, host, false);
    Left again = run(machine, host, true);
    assertThat(each.log.isComplete()).isTrue();
    assertThat(again.log.transfers().isComplete())
        .as(what)
        .isEqualTo(each.log.transfers().isComplete());
    assertThat(LogDifference.between(each.log, again.log, machine)).as(what).isEmpty();
    assertThat(again.log.hash()).as(what).isEqualTo(each.log.hash());
    assertThat(again.nowPs).isEqualTo(each.nowPs);
    assertThat(again.mmu).isEqualTo(each.mmu);
    assertThat(each.reused).isEmpty();
    return again.reused.orElseThrow();
  }

  static Left run(Machine machine, BiConsumer<Machine, Simulator> host, boolean reuse) {
    try (Simulator sim =
        Simulator.open(machine, Mode.TIME, SimulatorOptions.DEFAULT.reusing(reuse))) {
      host.accept(machine, sim);
      return new Left(sim.opLog(), sim.nowPs(), sim.mmuCounts(), sim.reused());
    }
  }

  /** A host program; what it decides does not depend on time. */
  private static final class Host {
    private final Machine machine;
    private final Simulator sim;
    private final Random random;
    private final List<List<VirtualAddress>> mapped = new ArrayList<>();
    private final Map<VirtualAddress, List<Launch>> users = new HashMap<>();
    private final List<Pe> pes = new ArrayList<>();
    private long next = VirtualAddress.BASE;
    private long offset;

    Host(Machine machine, Simulator sim, Random random) {
      this.machine = machine;
      this.sim = sim;
      this.random = random;
      for (int i = 0; i < 3; i++) {
        pes.add(new Pe(0, i / 2, i % 2));
      }
      pes.add(new Pe(1, 0, 0));
      pes.forEach(pe -> mapped.add(new ArrayList<>()));
    }

    void run() {
      for (int i = 0; i < RANGES; i++) {
        map(i % pes.size());
      }
      List<Launch> all = new ArrayList<>();
      for (int i = 0; i < 80; i++) {
        all.add(launch(all));
        if (random.nextInt(2) == 0) {
          sim.drive(all.get(random.nextInt(all.size())));
        }
        if (random.nextInt(8) == 0) {
          map(random.nextInt(pes.size()));
        }
        if (random.nextInt(12) == 0) {
          unmap();
        }
      }
      all.forEach(sim::drive);
    }

    /** A launch of a layer: which kernel, where, on which memory, after which others of it. */
    private record Part(
        int kind, int first, int places, int stream, int memory, List<Integer> after) {}

    private Part part(int number) {
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
          random.nextInt(3),
          after);
    }

    /**
     * The same few launches in each layer, called ahead or in step; now and then one is another.
     */
    void runLayers() {
      for (int i = 0; i < RANGES; i++) {
        map(i % pes.size());
      }
      List<Part> layer = new ArrayList<>();
      for (int i = 0; i < 3 + random.nextInt(5); i++) {
        layer.add(part(i));
      }
      boolean ahead = random.nextInt(3) > 0;
      List<Launch> all = new ArrayList<>();
      for (int n = 0; n < 8; n++) {
        List<Launch> made = new ArrayList<>();
        int other = random.nextInt(4) == 0 ? random.nextInt(layer.size()) : -1;
        for (int i = 0; i < layer.size(); i++) {
          made.add(launch(i == other ? part(i) : layer.get(i), made, all));
        }
        all.addAll(made);
        if (!ahead) {
          sim.drive(all.get(random.nextInt(all.size())));
        }
        if (random.nextInt(8) == 0) {
          map(random.nextInt(pes.size()));
        }
      }
      all.forEach(sim::drive);
    }

    private Launch launch(Part part, List<Launch> made, List<Launch> before) {
      List<Pe> places = pes.subList(part.first, part.first + part.places);
      List<VirtualAddress> near = mapped.get(part.first);
      List<VirtualAddress> far = mapped.get(part.first + part.places - 1);
      List<VirtualAddress> memory =
          List.of(near.get(part.memory % near.size()), far.get(part.memory / 2 % far.size()));
      List<Launch> after = new ArrayList<>();
      part.after.forEach(i -> after.add(made.get(i)));
      if (made.isEmpty() && !before.isEmpty()) {
        after.add(before.getLast());
      }
      LaunchRequest request =
          new LaunchRequest("kind " + part.kind, places, part.stream, Optional.empty(), after);
      return sim.launch(request, new Program(part.kind, memory));
    }

    private VirtualAddress of(int place) {
      List<VirtualAddress> there = mapped.get(place);
      return there.get(random.nextInt(there.size()));
    }

    private void map(int place) {
      Pe holder = pes.get(place);
      VirtualAddress at = new VirtualAddress(next);
      next += RANGE_BYTES + (random.nextInt(3) << 12);
      sim.map(
          new AddressMapping(
              "range",
              at,
              RANGE_BYTES,
              List.of(new AddressMapping.Copy(holder, machine.addresses().hbm(holder, offset)))));
      offset += RANGE_BYTES;
      mapped.get(place).add(at);
      users.put(at, new ArrayList<>());
    }

    private void unmap() {
      List<VirtualAddress> there = mapped.get(random.nextInt(pes.size()));
      if (there.size() == 1) {
        return;
      }
      VirtualAddress at = there.remove(random.nextInt(there.size()));
      users.get(at).forEach(sim::drive);
      sim.unmap(at);
    }

    private Launch launch(List<Launch> before) {
      int kind = random.nextInt(3);
      int first = random.nextInt(pes.size());
      int second = (first + 1) % pes.size();
      List<Pe> places =
          kind == 2 ? List.of(pes.get(first), pes.get(second)) : List.of(pes.get(first));
      List<VirtualAddress> memory = List.of(of(first), of(kind == 0 ? first : second));
      List<Launch> after = new ArrayList<>();
      if (!before.isEmpty() && random.nextBoolean()) {
        after.add(before.get(random.nextInt(before.size())));
      }
      LaunchRequest request =
          new LaunchRequest(
              "kind " + kind, places, random.nextInt(6) == 0 ? 1 : 0, Optional.empty(), after);
      Launch launch = sim.launch(request, new Program(kind, memory));
      memory.forEach(at -> users.get(at).add(launch));
      return launch;
    }
  }

  /** One of a few kernels: loads, sums and stores at random places of two ranges. */
  record Program(int kind, List<VirtualAddress> memory) implements ReusableProgram {
    @Override
    public Runnable apply(PePort port) {
      return () -> run(port);
    }

    @Override
    public Optional<Key> key() {
      return Optional.of(
          new Key(List.of(kind), memory.stream().map(at -> new Memory(at, RANGE_BYTES)).toList()));
    }

    private void run(PePort p) {
      Random random = new Random(kind);
      List<Register> values = new ArrayList<>();
      int commands = 8 + 24 * kind;
      for (int i = 0; i < commands; i++) {
        int what = random.nextInt(8);
        if (what < 3 || values.isEmpty()) {
          values.add(p.load(region(random)));
        } else if (what < 5) {
          p.store(values.get(random.nextInt(values.size())), 0, region(random));
        } else if (what < 7) {
          values.add(fill(p, 4096 + (random.nextInt(4) << 12), i));
        } else {
          p.fenceAll();
        }
        while (values.size() > 4) {
          p.release(values.remove(random.nextInt(values.size())));
        }
      }
      values.forEach(p::release);
    }

    private Region region(Random random) {
      int bytes = 4096;
      long at = random.nextInt((RANGE_BYTES - bytes) >> 6) << 6;
      return random.nextInt(4) == 0
          ? new Region(memory.get(random.nextInt(2)).plus(0), 4, 1024, 10 << 10)
          : Region.of(memory.get(random.nextInt(2)).plus(at), bytes);
    }
  }
}
