package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.function.BiConsumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.kernbench.device.DeadlockException;
import org.kernbench.device.Launch;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.PePort;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.QueueSet;
import org.kernbench.device.Register;
import org.kernbench.device.ReusableProgram;
import org.kernbench.device.Reused;
import org.kernbench.device.memory.Region;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;

/**
 * Random host programs whose launches send and receive, run with every launch simulated and with
 * what came of launches used again: all rows are the same (ADR 0334). They launch a few programs
 * that talk round a ring of four PEs again and again, on two streams that share message channels,
 * on some of the PEs of a set of queues, one right after the other, and local ones before and
 * beside them.
 */
final class TalkingLaunchesTest {
  private static final int PES = 4;
  private static final int KINDS = 3;

  @Test
  void rows_ofRandomLaunchesThatTalk_areThoseOfEachSimulated() {
    Map<String, Long> reasons = new HashMap<>();
    long reused = 0;
    for (int seed = 0; seed < 60; seed++) {
      reused += compare(seed, reasons);
    }
    assertThat(reused).as(reasons.toString()).isGreaterThan(300);
    assertThat(reasons)
        .containsKeys(
            "another launch called on its PEs",
            "another launch on its PEs",
            "messages beside another stream",
            "messages from elsewhere",
            "causes elsewhere");
  }

  /**
   * A channel that streams share serves first the one that it has served longest ago, also if that
   * was replayed: while it has a long message of a third, two come to wait for it.
   */
  @Test
  void rows_whereStreamsWaitForAChannelAfterOneWasReplayed_areThoseOfEachSimulated() {
    Machine machine =
        Machines.load(
            "sip-2026",
            List.of(
                "system.sips.count=2",
                "system.sips.topology=ring_1d",
                "pe.tcm.size=8 MiB",
                "pe.cpu.contexts=3",
                "pe.dma.message_channels=1",
                "ipcq.slot_size=32 KiB"));
    Reused counts =
        LaunchMemoTest.compare(
            machine,
            (m, sim) -> {
              Host host = new Host(m, sim, new Random(1), 8);
              for (int stream : new int[] {1, 1, 1, 0, 0, 1}) { // simulated last: stream 0
                sim.drive(host.bursts(stream, 2, 2048));
              }
              List<Launch> beside = new ArrayList<>();
              beside.add(host.bursts(2, 12, 8 * 32 << 10));
              for (int stream = 0; stream < 2; stream++) {
                beside.add(host.local(stream, 1, m.peAt(0)));
                beside.add(host.bursts(stream, 2, 2048));
              }
              beside.forEach(sim::drive);
            },
            "three streams");
    assertThat(counts.launches()).isEqualTo(2);
  }

  /**
   * A later fragment waits for a credit that the launch before has given: its message has another
   * cause, so that only the part of the transfer says so.
   */
  @Test
  void rows_whereAFragmentWaitsForACreditOfTheLaunchBefore_areThoseOfEachSimulated() {
    Machine machine =
        Machines.load(
            "sip-2026",
            List.of(
                "system.sips.count=2",
                "system.sips.topology=ring_1d",
                "ipcq.slots=2",
                "ipcq.slot_size=2 KiB"));
    Reused counts =
        LaunchMemoTest.compare(
            machine,
            (m, sim) -> {
              List<Pe> pes = List.of(new Pe(0, 0, 0), new Pe(1, 0, 0));
              QueuePlan.Connection wire =
                  new QueuePlan.Connection(pes.getFirst(), "E", pes.getLast(), "W");
              Optional<QueueSet> set =
                  Optional.of(sim.installApart(new QueuePlan(m.ipcq(), List.of(wire))));
              List<Launch> all = new ArrayList<>();
              for (int i = 0; i < 8; i++) {
                LaunchRequest request = new LaunchRequest("three", pes, 0, set, List.of());
                all.add(sim.launch(request, new Three()));
              }
              all.forEach(sim::drive);
            },
            "three fragments, two slots");
    assertThat(counts.reasons()).containsKey("causes elsewhere");
  }

  /** A message of three fragments. */
  private record Three() implements ReusableProgram {
    @Override
    public Runnable apply(PePort port) {
      return () -> {
        if (port.pe().sip() == 0) {
          Register v = SlotReuseTest.fill(port, 3 * 2048, 1);
          port.send(port.queue("E"), v, 0, 3 * 2048);
          port.release(v);
        } else {
          port.release(port.receive(port.queue("W"), 3 * 2048, true, false));
        }
      };
    }

    @Override
    public Optional<Key> key() {
      return Optional.of(new Key(List.of("three"), List.of()));
    }
  }

  /** A launch whose messages another takes, which is on its way, must be simulated each time. */
  @Test
  void rows_whereAnotherLaunchTakesTheMessages_areThoseOfEachSimulated() {
    Machine machine = Machines.load("sip-2026", List.of("system.sips.count=2"));
    Reused counts =
        LaunchMemoTest.compare(
            machine,
            (m, sim) -> {
              Host host = new Host(m, sim, new Random(1), 8);
              for (int i = 0; i < 5; i++) {
                sim.drive(host.one("gives", 0, new Gives()));
                sim.drive(host.one("takes", 1, new Takes()));
              }
            },
            "one gives, one takes");
    assertThat(counts.launches()).isZero();
    assertThat(counts.reasons()).containsEntry("messages from elsewhere", 10L);
  }

  private record Gives() implements ReusableProgram {
    @Override
    public Runnable apply(PePort port) {
      return () -> {
        Register v = SlotReuseTest.fill(port, 2048, 1);
        port.send(port.queue("E"), v, 0, 2048);
        port.release(v);
      };
    }

    @Override
    public Optional<Key> key() {
      return Optional.of(new Key(List.of("gives"), List.of()));
    }
  }

  private record Takes() implements ReusableProgram {
    @Override
    public Runnable apply(PePort port) {
      return () -> port.release(port.receive(port.queue("W"), 2048, true, false));
    }

    @Override
    public Optional<Key> key() {
      return Optional.of(new Key(List.of("takes"), List.of()));
    }
  }

  @Tag("slow")
  @Test
  void rows_ofThousandsOfLaunchesThatTalk_areThoseOfEachSimulated() {
    for (int seed = 60; seed < 2000; seed++) {
      compare(seed, new HashMap<>());
    }
  }

  private static long compare(int seed, Map<String, Long> reasons) {
    Random drawn = new Random(seed);
    int slots = 3 + drawn.nextInt(6);
    List<String> settings =
        List.of(
            "system.sips.count=2",
            "system.sips.topology=ring_1d",
            "pe.tcm.size=1 MiB",
            "pe.dma.message_channels=" + (1 + drawn.nextInt(2)),
            "ipcq.slots=" + slots,
            "ipcq.slot_size=2 KiB",
            "ipcq.buffer_kind=" + List.of("tcm", "tcm", "sram", "hbm").get(drawn.nextInt(4)),
            "ipcq.slot_access=" + List.of("streamed", "serial").get(drawn.nextInt(2)),
            "ipcq.backpressure=" + List.of("sleep", "poll").get(drawn.nextInt(2)),
            "pe.cpu.command_window=" + (seed % 3 == 0 ? 8 : 64),
            "pe.accel_slot=" + (seed % 5 == 0 ? "separate" : "shared"));
    Machine machine = Machines.load("sip-2026", settings);
    BiConsumer<Machine, Simulator> host =
        (m, sim) -> new Host(m, sim, new Random(seed), slots).run();
    Reused counts;
    try {
      counts = LaunchMemoTest.compare(machine, host, "seed " + seed + ", " + settings);
    } catch (DeadlockException e) { // two streams that share a channel may wait for each other
      for (boolean reuse : new boolean[] {false, true}) {
        assertThatThrownBy(() -> LaunchMemoTest.run(machine, host, reuse))
            .as("seed %s, reuse %s", seed, reuse)
            .isInstanceOf(DeadlockException.class);
      }
      return 0;
    }
    counts.reasons().forEach((why, n) -> reasons.merge(why, n, Long::sum));
    return counts.launches();
  }

  /** A host program; what it decides does not depend on time. */
  private static final class Host {
    private final Machine machine;
    private final Simulator sim;
    private final Random random;
    private final int slots;
    private final List<Pe> pes = new ArrayList<>();
    private final List<QueueSet> rings = new ArrayList<>();
    private final List<QueueSet> pairs = new ArrayList<>();

    Host(Machine machine, Simulator sim, Random random, int slots) {
      this.machine = machine;
      this.sim = sim;
      this.random = random;
      this.slots = slots;
      for (int i = 0; i < PES; i++) {
        pes.add(new Pe(i / 2, i % 2, 0));
      }
      for (int stream = 0; stream < 3; stream++) {
        rings.add(queues(List.of(pes)));
        pairs.add(queues(List.of(pes.subList(0, 2), pes.subList(2, 4))));
      }
    }

    /** Each of some groups of PEs in a ring of its own. */
    private QueueSet queues(List<List<Pe>> groups) {
      List<QueuePlan.Connection> connections = new ArrayList<>();
      for (List<Pe> group : groups) {
        for (int i = 0; i < group.size(); i++) {
          Pe next = group.get((i + 1) % group.size());
          connections.add(new QueuePlan.Connection(group.get(i), "E", next, "W"));
        }
      }
      return sim.installApart(new QueuePlan(machine.ipcq(), connections));
    }

    void run() {
      List<Launch> all = new ArrayList<>();
      int streams = 1 + random.nextInt(2);
      for (int i = 0; i < 60; i++) {
        int stream = random.nextInt(4) == 0 ? random.nextInt(streams) : 0;
        all.add(
            switch (random.nextInt(8)) {
              case 0, 1 -> local(stream);
              case 2 -> pair(stream, pes.subList(0, 2));
              case 3 -> pair(stream, pes.subList(2, 4));
              case 4 -> random.nextBoolean() ? half(stream) : halves(stream, all);
              default -> ring(stream);
            });
        if (random.nextInt(3) == 0) {
          sim.drive(all.get(random.nextInt(all.size())));
        }
      }
      all.forEach(sim::drive);
    }

    private Launch launch(
        String name, List<Pe> on, int stream, Optional<QueueSet> queues, ReusableProgram program) {
      return sim.launch(new LaunchRequest(name, on, stream, queues, List.of()), program);
    }

    Launch one(String name, int place, ReusableProgram program) {
      return launch(name, List.of(pes.get(place)), 0, Optional.of(rings.getFirst()), program);
    }

    /** Messages one after the other. */
    Launch bursts(int stream, int messages, int bytes) {
      return launch(
          "bursts", pes, stream, Optional.of(rings.get(stream)), new Bursts(messages, bytes));
    }

    private Launch ring(int stream) {
      int kind = random.nextInt(KINDS);
      return launch("ring", pes, stream, Optional.of(rings.get(stream)), talk(kind, pes));
    }

    /** Of two pairs that share a set of queues, one. */
    private Launch pair(int stream, List<Pe> pair) {
      int kind = random.nextInt(KINDS);
      return launch("pair", pair, stream, Optional.of(pairs.get(stream)), talk(kind, pair));
    }

    /** On two of the four PEs of the ring, which say nothing. */
    private Launch half(int stream) {
      Local program = new Local(random.nextInt(KINDS));
      return launch("half", pes.subList(0, 2), stream, Optional.of(rings.get(stream)), program);
    }

    /** Two launches that talk to each other. */
    private Launch halves(int stream, List<Launch> all) {
      ReusableProgram program = talk(random.nextInt(KINDS), pes);
      Optional<QueueSet> ring = Optional.of(rings.get(stream));
      all.add(launch("first half", pes.subList(0, 2), stream, ring, program));
      return launch("second half", pes.subList(2, 4), stream, ring, program);
    }

    private Launch local(int stream) {
      Pe on = pes.get(random.nextInt(PES));
      return local(stream, random.nextInt(KINDS), on);
    }

    Launch local(int stream, int kind, Pe on) {
      return launch("local", List.of(on), stream, Optional.empty(), new Local(kind));
    }

    private Talk talk(int kind, List<Pe> group) {
      int rounds = 1 + kind;
      int bytes = Math.toIntExact(machine.ipcq().slotBytes());
      return new Talk(
          kind, group, RandomProgram.ring(100L + kind, group.size(), rounds, slots, bytes, false));
    }
  }

  /** Each PE sends some messages, and takes as many. */
  private record Bursts(int messages, int bytes) implements ReusableProgram {
    @Override
    public Runnable apply(PePort port) {
      return () -> {
        Register v = SlotReuseTest.fill(port, bytes, 1);
        for (int i = 0; i < messages; i++) {
          port.send(port.queue("E"), v, 0, bytes);
          port.release(port.receive(port.queue("W"), bytes, true, false));
        }
        port.release(v);
      };
    }

    @Override
    public Optional<Key> key() {
      return Optional.of(new Key(List.of("bursts", messages, bytes), List.of()));
    }
  }

  /** One of a few programs that talk. */
  private record Talk(int kind, List<Pe> group, List<RandomProgram> programs)
      implements ReusableProgram {
    @Override
    public Runnable apply(PePort port) {
      return () -> programs.get(group.indexOf(port.pe())).run(port, false);
    }

    @Override
    public Optional<Key> key() {
      return Optional.of(new Key(List.of("talk", kind, group.size()), List.of()));
    }
  }

  /** One of a few that load and store. */
  private record Local(int kind) implements ReusableProgram {
    @Override
    public Runnable apply(PePort port) {
      return () -> {
        for (int i = 0; i < 4 + 8 * kind; i++) {
          Register v = port.load(at(port, i));
          port.store(v, 0, at(port, i + 1));
          port.release(v);
        }
      };
    }

    private static Region at(PePort port, int i) {
      return Region.of(port.machine().addresses().hbm(port.pe(), i * 8192L), 8192);
    }

    @Override
    public Optional<Key> key() {
      return Optional.of(new Key(List.of("local", kind), List.of()));
    }
  }
}
