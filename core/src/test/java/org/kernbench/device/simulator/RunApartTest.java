package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.kernbench.device.simulator.SlotReuseTest.fill;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.CopyDirection;
import org.kernbench.device.Launch;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.Steps;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;

/** Packages that run ahead of each other: nothing but the speed shows it. */
final class RunApartTest {
  private static final SimulatorOptions NO_ROWS = new SimulatorOptions(0, false);
  private static final int[] DISTANCES = {1, 2, 5};
  private static final ApartRun.Limits TOGETHER = ApartRun.Limits.NEVER;
  private static final ApartRun.Limits ONE_PARTITION = new ApartRun.Limits(2, 64, 1);
  private static final ApartRun.Limits ONE_THREAD = new ApartRun.Limits(2, 1, 1);
  private static final ApartRun.Limits TWO_THREADS = new ApartRun.Limits(2, 1, 2);
  private static final ApartRun.Limits FOUR_THREADS = new ApartRun.Limits(2, 1, 4);

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4, 5})
  void randomPrograms_packagesApart_sameOperationsAndTimes(int block) {
    int apart = 0;
    for (int i = 0; i < 40; i++) {
      RandomCase c = RandomCase.of(30_000 + block * 40 + i);
      String together;
      long events;
      try (DeviceRig rig = c.rig(NO_ROWS, TOGETHER)) {
        together = outcome(rig, c.run(rig));
        events = rig.sim.eventCount();
      }
      for (ApartRun.Limits limits : List.of(ONE_PARTITION, TWO_THREADS)) {
        try (DeviceRig rig = c.rig(NO_ROWS, limits)) {
          assertThat(outcome(rig, c.run(rig))).as("%s, %s", limits, c).isEqualTo(together);
          apart += rig.sim.eventCount() < events ? 1 : 0; // no event ends a program then
        }
      }
    }
    assertThat(apart).isGreaterThan(20); // the others issue serially
  }

  /** Only programs in steps have more than one thread. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4, 5})
  void randomPrograms_inSteps_sameOnTwoThreads(int block) {
    for (int i = 0; i < 40; i++) {
      RandomCase c = RandomCase.of(40_000 + block * 40 + i);
      String together;
      try (DeviceRig rig = c.rig(NO_ROWS, TOGETHER)) {
        together = outcome(rig, inSteps(rig, c));
      }
      for (ApartRun.Limits limits : List.of(ONE_THREAD, TWO_THREADS)) {
        try (DeviceRig rig = c.rig(NO_ROWS, limits)) {
          assertThat(outcome(rig, inSteps(rig, c))).as("%s, %s", limits, c).isEqualTo(together);
        }
      }
    }
  }

  private static Launch inSteps(DeviceRig rig, RandomCase c) {
    Launch launch =
        rig.launch(
            c.pes(), i -> port -> c.programs().get(i).begin(port, 1 + (i + (int) c.seed()) % 4));
    rig.sim.drive(launch);
    return launch;
  }

  /**
   * All PEs do the same at the same time, two in each package, over one and over several packages:
   * messages and remote accesses of one and of several chunks meet on links, often at one
   * picosecond.
   */
  @ParameterizedTest
  @ValueSource(strings = {"ring_1d", "torus_2d", "mesh_2d_no_wrap", "switch"})
  void trafficInStep_packagesApart_sameOperationsAndTimes(String topology) {
    for (int seed = 0; seed < 25; seed++) {
      List<Integer> moves = new SplittableRandom(seed).ints(25, 0, 6).boxed().toList();
      int slots = 1 + seed % 3;
      String together = outcome(topology, slots, moves, TOGETHER);
      for (ApartRun.Limits limits : List.of(ONE_PARTITION, ONE_THREAD, TWO_THREADS, FOUR_THREADS)) {
        assertThat(outcome(topology, slots, moves, limits))
            .as("%s, seed %d", limits, seed)
            .isEqualTo(together);
      }
    }
  }

  /** Threads meet in another order each time; nothing else changes. */
  @Test
  void trafficInStep_manyTimesOnFourThreads_isAlwaysTheSame() {
    List<Integer> moves = new SplittableRandom(4711).ints(40, 0, 6).boxed().toList();
    String first = outcome("torus_2d", 2, moves, FOUR_THREADS);
    for (int i = 0; i < 100; i++) {
      assertThat(outcome("torus_2d", 2, moves, FOUR_THREADS)).isEqualTo(first);
    }
  }

  /** A kernel that fails leaves one clock, and a machine that can be asked and closed. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void kernelThatFails_packagesApart_endsTheRun(int threads) {
    try (DeviceRig rig = traffic("ring_1d", 2, new ApartRun.Limits(2, 1, threads))) {
      Launch launch =
          rig.launch(
              rig.machine.peCount(),
              i ->
                  port -> {
                    Steps steps = inStep(rig, port, i, List.of(3, 4, 1, 5, 3));
                    return i != 7
                        ? steps
                        : (Steps)
                            () -> {
                              port.send(port.queue("+1"), fill(port, 256, 0), 0, 256);
                              port.receive(port.queue("-1"), 512, true, false); // others send 256
                              return false;
                            };
                  });
      assertThatThrownBy(() -> rig.sim.drive(launch))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("sent another size");
      long now = rig.sim.nowPs();
      assertThat(now).isPositive();
      assertThat(
              rig.sim.hostCopyPs(
                  rig.machine.addresses().hbm(rig.pe(0), 0), 64, CopyDirection.HOST_TO_DEVICE))
          .isPositive();
    }
  }

  /** Of kernels that fail, each at its time, the first is named whichever thread comes to it. */
  @Test
  void kernelsThatFail_onFourThreads_theSameIsNamedEachTime() {
    Set<String> messages = new HashSet<>();
    for (int i = 0; i < 40; i++) {
      try (DeviceRig rig = traffic("ring_1d", 2, i == 0 ? ONE_THREAD : FOUR_THREADS)) {
        Launch launch =
            rig.launch(
                rig.machine.peCount(),
                me ->
                    port -> {
                      Steps steps = inStep(rig, port, me, List.of(3, 4, 1, 5, 3, 4, 5, 3));
                      int[] step = {0};
                      return (Steps)
                          () -> {
                            if (step[0]++ == 3 + me % 5) {
                              throw new SimulationException("program " + me + " fails");
                            }
                            return steps.next();
                          };
                    });
        assertThatThrownBy(() -> rig.sim.drive(launch))
            .isInstanceOf(SimulationException.class)
            .satisfies(e -> messages.add(e.getMessage()));
      }
    }
    assertThat(messages).hasSize(1);
  }

  /** What one launch leaves behind (clocks, links, credits, ids) is what the next finds. */
  @Test
  void launchesOneAfterAnother_apartAndTogether_sameOperationsAndTimes() {
    List<Integer> moves = List.of(3, 0, 4, 1, 5, 2, 3);
    List<String> outcomes = new ArrayList<>();
    for (ApartRun.Limits limits : List.of(TOGETHER, TWO_THREADS)) {
      try (DeviceRig rig = traffic("ring_1d", 2, limits)) {
        StringBuilder all = new StringBuilder();
        for (int i = 0; i < 3; i++) {
          all.append(outcome(rig, run(rig, rig.machine.peCount(), moves))).append('\n');
          all.append(outcome(rig, run(rig, 1, List.of(0, 1, 2)))).append('\n');
        }
        outcomes.add(all.toString());
      }
    }
    assertThat(outcomes.get(1)).isEqualTo(outcomes.get(0));
  }

  /** PEs that end at the same time on several threads end their launch once. */
  @Test
  void endsAtOneTime_onFourThreads_endTheLaunchOnce() {
    try (DeviceRig rig = traffic("ring_1d", 2, FOUR_THREADS)) {
      for (int i = 0; i < 30; i++) {
        Launch launch =
            rig.sim.launch(
                LaunchRequest.of("ends", allPes(rig)).with(rig.queues),
                port -> inStep(rig, port, rig.machine.peIndex(port.pe()), List.of(3)));
        rig.sim.drive(launch);
        assertThat(rig.queues.isInUse()).isFalse();
      }
      rig.sim.uninstall(rig.queues);
    }
  }

  /** Whoever comes last hears of it, and nobody else. */
  @Test
  void partsOfALaunch_endOnManyThreads_oneIsTheLast() {
    List<Pe> pes = IntStream.range(0, 4).mapToObj(i -> new Pe(i, 0, 0)).toList();
    for (int i = 0; i < 2_000; i++) {
      LaunchState launch = new LaunchState(LaunchRequest.of("ends", pes), port -> () -> {}, 0, 0);
      long last =
          IntStream.range(0, pes.size())
              .parallel()
              .filter(pe -> launch.finished(pe, 10, -1, 10))
              .count();
      assertThat(last).isEqualTo(1);
    }
  }

  private static List<Pe> allPes(DeviceRig rig) {
    return IntStream.range(0, rig.machine.peCount()).mapToObj(rig::pe).toList();
  }

  private static String outcome(
      String topology, int slots, List<Integer> moves, ApartRun.Limits limits) {
    try (DeviceRig rig = traffic(topology, slots, limits)) {
      return outcome(rig, run(rig, rig.machine.peCount(), moves));
    }
  }

  private static Launch run(DeviceRig rig, int pes, List<Integer> moves) {
    Launch launch = rig.launch(pes, i -> port -> inStep(rig, port, i, moves));
    rig.sim.drive(launch);
    return launch;
  }

  private static DeviceRig traffic(String topology, int slots, ApartRun.Limits limits) {
    Machine machine =
        Machines.load(
            "ring",
            List.of(
                "system.sips.topology=" + topology,
                "system.sips.count=" + 9,
                "cube.noc.w=2",
                "cube.pe_layout.pe_per_corner=2",
                "fabric.chunk=256 B",
                "ipcq.slots=" + slots,
                "ipcq.slot_size=1 KiB"));
    DeviceRig rig =
        new DeviceRig(
            machine, Simulator.open(machine, Mode.TIME, NO_ROWS, CommandTape.SIZE, limits));
    int n = machine.peCount();
    List<QueuePlan.Connection> connections = new ArrayList<>();
    for (int distance : DISTANCES) {
      for (int i = 0; i < n; i++) {
        connections.add(
            new QueuePlan.Connection(
                rig.pe(i), "+" + distance, rig.pe((i + distance) % n), "-" + distance));
      }
    }
    return rig.connect(connections.toArray(QueuePlan.Connection[]::new));
  }

  private static Steps inStep(DeviceRig rig, PePort p, int me, List<Integer> moves) {
    int n = rig.machine.peCount();
    int[] next = {0};
    return () -> {
      int k = next[0]++;
      int distance = DISTANCES[moves.get(k) % DISTANCES.length];
      int other = (me + distance) % n;
      int bytes = 256 << (k % 3);
      switch (moves.get(k)) {
        case 0 -> p.release(p.load(rig.hbm(other, 0, bytes)));
        case 1 -> p.store(fill(p, bytes, 0), 0, rig.hbm(k * 5 % n, me * 1024L, bytes));
        case 2 -> p.release(p.load(rig.hbm(me, 0, bytes)));
        default -> {
          p.send(p.queue("+" + distance), fill(p, bytes, 0), 0, bytes);
          p.release(p.receive(p.queue("-" + distance), bytes, k % 2 == 0, false));
        }
      }
      return next[0] < moves.size();
    };
  }

  private static String outcome(DeviceRig rig, Launch launch) {
    return rig.sim.opLog().hash()
        + " "
        + launch.endPs()
        + " "
        + rig.sim.nowPs()
        + " "
        + rig.sim.peakSlots();
  }
}
