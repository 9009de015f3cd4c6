package org.kernbench.device.simulator;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.Function;
import org.kernbench.device.Launch;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.PePort;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.QueueSet;
import org.kernbench.device.Register;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.memory.Region;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.Turn;

/**
 * A seeded machine whose packages are alike, and a seeded program that every package runs: loads,
 * stores, additions and messages, in its own package and over several hops, with PEs that crowd the
 * same links and memories. Packages know each other by how they lie to each other only.
 */
final class EquivariantCase {
  private static final String[] TOPOLOGIES = {
    "ring_1d", "torus_2d", "switch", "fully_connected", "network"
  };
  private static final String[] KINDS = {"ring", "fully_connected", "switch"};
  private static final int BLOCK = 4096;
  private static final int BLOCKS = 8;

  private enum Kind {
    LOAD,
    STORE,
    LOAD_FAR,
    STORE_FAR,
    ADD,
    MESSAGE,
    BACK,
    FENCE
  }

  /** What a PE of each package does, or all; {@code by} leads to the other package. */
  private record Move(Kind kind, int who, int by, int other, int block, int bytes, int wire) {}

  /** Queues from a PE of each package to one of the package {@code by} further on. */
  private record Wire(int from, int by, int to) {}

  final long seed;
  final String topology;
  final Machine machine;
  private final int width;
  private final int pes;
  private final boolean turns;
  private final List<Wire> wires = new ArrayList<>();
  private final List<Move> moves = new ArrayList<>();

  EquivariantCase(long seed) {
    this(seed, TOPOLOGIES[(int) (seed % TOPOLOGIES.length)], List.of());
  }

  EquivariantCase(long seed, String topology, List<String> more) {
    this.seed = seed;
    this.topology = topology;
    SplittableRandom random = new SplittableRandom(seed);
    boolean grid = topology.equals("torus_2d") || topology.equals("network");
    int w = 3 + random.nextInt(grid ? 2 : 6);
    int h = grid ? 3 + random.nextInt(2) : 1;
    List<String> overrides = overrides(random, topology, w, h);
    overrides.addAll(more);
    this.machine =
        topology.equals("network")
            ? network(random, w, h, overrides)
            : Machines.load("ring", overrides);
    this.width = grid ? w : machine.sips();
    this.pes = machine.pesPerCube() * machine.cubesPerSip();
    this.turns = random.nextBoolean();
    for (int i = 1 + random.nextInt(3); i > 0; i--) {
      wires.add(new Wire(random.nextInt(pes), 1 + random.nextInt(sips() - 1), random.nextInt(pes)));
    }
    for (int i = 4 + random.nextInt(20); i > 0; i--) {
      moves.add(move(random));
    }
  }

  /** Two dimensions, of which a machine file alone can tell. */
  private static Machine network(SplittableRandom random, int w, int h, List<String> overrides) {
    String dimension = "    - {kind: %s, size: %s, bandwidth: %s GB/s, latency: %s ns}\n";
    String text =
        "description: x\nextends: ring\nsystem:\n  network:\n"
            + dimension.formatted(pick(random, KINDS), w, 10, 100)
            + dimension.formatted(pick(random, KINDS), h, 20, 50);
    try {
      Path file = Files.createTempFile("network", ".yaml");
      try {
        Files.writeString(file, text);
        return Machines.load(file.toString(), overrides);
      } finally {
        Files.delete(file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static List<String> overrides(SplittableRandom random, String topology, int w, int h) {
    List<String> o = new ArrayList<>();
    if (!topology.equals("network")) {
      o.add("system.sips.topology=" + topology);
      o.add("system.sips.count=" + w * h);
    }
    if (topology.equals("torus_2d")) {
      o.add("system.sips.w=" + w);
      o.add("system.sips.h=" + h);
    }
    o.add("sip.cube_mesh.w=" + (1 + random.nextInt(2)));
    o.add("cube.noc.w=2");
    o.add("cube.pe_layout.pe_per_corner=" + (1 + random.nextInt(2)));
    o.add("fabric.chunk=" + pick(random, "256 B", "1 KiB"));
    o.add("ipcq.slots=" + (1 + random.nextInt(3)));
    o.add("ipcq.slot_size=1 KiB");
    o.add("ipcq.buffer_kind=" + pick(random, "tcm", "tcm", "sram", "hbm"));
    o.add("ipcq.slot_access=" + pick(random, "streamed", "streamed", "serial"));
    o.add("ipcq.backpressure=" + pick(random, "sleep", "poll"));
    o.add("pe.cpu.issue=" + pick(random, "overlapped", "overlapped", "serial"));
    o.add("pe.cpu.dispatch=" + pick(random, "1 ns", "7 ns"));
    o.add("pe.cpu.command_window=" + pick(random, "2", "5", "64"));
    o.add("pe.dma.read_queues=" + pick(random, "1", "2"));
    o.add("pe.dma.message_channels=" + pick(random, "1", "2"));
    return o;
  }

  private static String pick(SplittableRandom random, String... of) {
    return of[random.nextInt(of.length)];
  }

  private Move move(SplittableRandom random) {
    Kind kind = Kind.values()[random.nextInt(Kind.values().length)];
    int who = random.nextInt(4) == 0 ? random.nextInt(pes) : -1;
    return new Move(
        kind,
        who,
        random.nextInt(sips()),
        random.nextInt(pes),
        random.nextInt(BLOCKS),
        256 << random.nextInt(3),
        random.nextInt(wires.size()));
  }

  int sips() {
    return machine.sips();
  }

  /** Moves that load or store. */
  long accesses() {
    return moves.stream()
        .filter(m ->
            m.kind == Kind.LOAD
                || m.kind == Kind.STORE
                || m.kind == Kind.LOAD_FAR
                || m.kind == Kind.STORE_FAR)
        .count();
  }

  int pesPerPackage() {
    return pes;
  }

  /** The package that lies to {@code sip} as {@code by} lies to package 0. */
  int shifted(int sip, int by) {
    int height = sips() / width;
    return (sip / width + by / width) % height * width + (sip % width + by % width) % width;
  }

  private Pe pe(int sip, int local) {
    return new Pe(sip, local / machine.pesPerCube(), local % machine.pesPerCube());
  }

  private int local(Pe pe) {
    return pe.cube() * machine.pesPerCube() + pe.pe();
  }

  /** Connections package by package, so that ends are installed in another order on each. */
  QueuePlan plan() {
    List<QueuePlan.Connection> connections = new ArrayList<>();
    for (int sip = 0; sip < sips(); sip++) {
      for (int k = 0; k < wires.size(); k++) {
        Wire wire = wires.get(k);
        connections.add(
            new QueuePlan.Connection(
                pe(sip, wire.from), "o" + k, pe(shifted(sip, wire.by), wire.to), "i" + k));
      }
    }
    return new QueuePlan(machine.ipcq(), connections);
  }

  List<Pe> allPes() {
    List<Pe> all = new ArrayList<>();
    for (int i = 0; i < machine.peCount(); i++) {
      all.add(machine.peAt(i));
    }
    return all;
  }

  /** How packages name their bytes. */
  Turn turn() {
    return turns ? new Turn(0, (long) BLOCKS * BLOCK, BLOCK, 1) : Turn.NONE;
  }

  Launch run(Simulator sim) {
    return run(sim, this::program);
  }

  Launch run(Simulator sim, Function<PePort, Runnable> program) {
    return run(sim, plan(), allPes(), program);
  }

  private Launch run(
      Simulator sim, QueuePlan plan, List<Pe> pes, Function<PePort, Runnable> program) {
    QueueSet queues = sim.install(plan);
    Launch launch = sim.launch(LaunchRequest.of("equivariant", pes).with(queues), program);
    sim.drive(launch);
    return launch;
  }

  Runnable program(PePort port) {
    return () -> program(port, port.pe().sip(), local(port.pe()));
  }

  /** Package 0 for all; checked first, unless the test wants to see what happens without. */
  Simulator folded(boolean checked, Function<PePort, Runnable> program) {
    Fold fold = Fold.of(machine);
    QueuePlan plan = fold.representatives(plan());
    List<Pe> pes = fold.representatives(allPes());
    if (checked) {
      fold.compare(pes, plan, program, List.of(turn()));
    }
    Simulator sim = fold.open(SimulatorOptions.DEFAULT);
    run(sim, plan, pes, program);
    return sim;
  }

  void program(PePort p, int sip, int me) {
    int from = turns ? 256 * (sip % 3) : 0; // from which byte of a value on, decides no time
    Register last = SlotReuseTest.fill(p, 2048, 1);
    for (Move m : moves) {
      boolean mine = m.who < 0 || m.who == me;
      switch (m.kind) {
        case LOAD -> {
          if (mine) {
            p.release(p.load(hbm(pe(sip, me), m, sip)));
          }
        }
        case STORE -> {
          if (mine) {
            p.store(last, from, hbm(pe(sip, me), m, sip));
          }
        }
        case LOAD_FAR -> {
          if (mine) {
            p.release(p.load(hbm(pe(shifted(sip, m.by), m.other), m, sip)));
          }
        }
        case STORE_FAR -> {
          if (mine) {
            p.store(last, from, hbm(pe(shifted(sip, m.by), m.other), m, sip));
          }
        }
        case ADD -> {
          if (mine) {
            Register sum = SlotReuseTest.fill(p, 2048, m.block);
            p.release(last);
            last = sum;
          }
        }
        case MESSAGE -> message(p, me, last, from, m, "o", "i", true);
        case BACK -> message(p, me, last, from, m, "i", "o", false);
        case FENCE -> {
          if (mine) {
            p.fenceAll();
          }
        }
      }
    }
    p.release(last);
  }

  private void message(
      PePort p, int me, Register last, int from, Move m, String out, String in, boolean forth) {
    Wire wire = wires.get(m.wire);
    if (me == (forth ? wire.from : wire.to)) {
      p.send(p.queue(out + m.wire), last, from, m.bytes);
    }
    if (me == (forth ? wire.to : wire.from)) {
      p.release(p.receive(p.queue(in + m.wire), m.bytes, m.block % 2 == 0, false));
    }
  }

  /** On half of the machines each package begins with another block of its memory. */
  private Region hbm(Pe of, Move m, int sip) {
    long block = (m.block + (turns ? sip : 0)) % BLOCKS;
    return Region.of(machine.addresses().hbm(of, block * BLOCK), m.bytes);
  }

  // ---- rows ----

  /**
   * By package its rows, as if it were package 0: PE by PE in the order of their commands, with
   * links and causes renamed.
   */
  static TreeMap<Integer, List<String>> rowsByPackage(Machine machine, OpLog log) {
    return rowsByPackage(machine, log, true);
  }

  /**
   * The same.
   *
   * @param whose whether to say in which package the operation was that ended a wait, which a
   *     folded log does not know
   */
  static TreeMap<Integer, List<String>> rowsByPackage(Machine machine, OpLog log, boolean whose) {
    int pes = machine.cubesPerSip() * machine.pesPerCube();
    int[] next = new int[machine.peCount()];
    int[] ordinal = new int[log.size()];
    for (int id = 0; id < log.size(); id++) {
      ordinal[id] = next[machine.peIndex(log.pe(id))]++;
    }
    TreeMap<Integer, List<String>> rows = new TreeMap<>();
    for (int id = 0; id < log.size(); id++) {
      int sip = log.pe(id).sip();
      int link = log.link(id);
      int cause = log.causeOp(id);
      String causedBy =
          cause < 0
              ? "-"
              : (whose ? machine.displacement(sip, log.pe(cause).sip()) : "")
                  + ":"
                  + machine.peIndex(log.pe(cause)) % pes
                  + ":"
                  + ordinal[cause];
      rows.computeIfAbsent(sip, s -> new ArrayList<>())
          .add(
              "%04d %06d %s %s %s %s B, link %s, %s %s %s, %s %s %s"
                  .formatted(
                      machine.peIndex(log.pe(id)) % pes,
                      ordinal[id],
                      log.kind(id),
                      log.cause(id),
                      causedBy,
                      log.bytes(id),
                      link < 0 ? -1 : machine.symmetry().orElseThrow().representative(link),
                      log.issuePs(id),
                      log.startPs(id),
                      log.endPs(id),
                      log.contentionPs(id),
                      log.serialisationPs(id),
                      log.translationPs(id)));
    }
    rows.values().forEach(list -> list.sort(Comparator.naturalOrder()));
    return rows;
  }

  @Override
  public String toString() {
    return "seed " + seed + ", " + topology + " of " + sips() + " packages of " + pes + " PEs";
  }
}
