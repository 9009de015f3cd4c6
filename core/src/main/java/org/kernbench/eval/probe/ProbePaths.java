package org.kernbench.eval.probe;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;
import java.util.function.UnaryOperator;
import org.kernbench.device.CopyDirection;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.Register;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.log.TransferLog;
import org.kernbench.device.memory.Region;
import org.kernbench.device.simulator.Simulator;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.PhysicalAddress;
import org.kernbench.machine.Route;
import org.kernbench.machine.spec.Dimension;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.sim.Rate;
import org.kernbench.tensor.DType;

/**
 * Single transfers and crowds of them on an idle machine, each measured on a simulator of its own,
 * and what closed forms say of them. Used by {@link Probe} and the benches {@code pe-dma} and
 * {@code pe2pe}.
 */
public final class ProbePaths {
  /** A memory and how a report calls where it is. */
  public record Place(String name, int node, PhysicalAddress address) {}

  /** A PE that loads or stores bytes of a memory. */
  public record Access(Pe pe, Place place, long bytes, OpKind kind) {}

  /** A chunk on one link: times since the operation started. */
  record Hop(
      String link, long bytesPerSecond, long latencyPs, long headPs, long enteredPs, long tailPs) {}

  /**
   * What a simulator said.
   *
   * @param fromPs when the first access started
   * @param lastOp the access that ended last
   */
  public record Measured(
      long ps, List<Hop> hops, long events, OpLog log, long fromPs, int lastOp) {}

  private static final int STORED = 1;

  /** Of a longer dimension only some places are looked at. */
  private static final int MOST_ALONG = 256;

  final Machine machine;
  private final SimulatorOptions recording;

  public ProbePaths(Machine machine) {
    this(machine, SimulatorOptions.DEFAULT);
  }

  public ProbePaths(Machine machine, SimulatorOptions recording) {
    this.machine = machine;
    this.recording = recording;
  }

  // ---- places ----

  Place slice(String name, Pe pe) {
    return new Place(name, machine.hbmNode(pe), machine.addresses().hbm(pe, 0));
  }

  /** Places at growing distance from a PE, as far as the machine has them. */
  public List<Place> places(Pe me) {
    List<Place> places = new ArrayList<>();
    places.add(slice("own slice", me));
    Pe near = extreme(me, p -> p.sip() == me.sip() && p.cube() == me.cube(), true);
    Pe far = extreme(me, p -> p.sip() == me.sip() && p.cube() == me.cube(), false);
    addPair(places, me, near, far, "same cube, nearest", "same cube, farthest");
    near = extreme(me, p -> p.sip() == me.sip() && p.cube() != me.cube(), true);
    far = extreme(me, p -> p.sip() == me.sip() && p.cube() != me.cube(), false);
    addPair(places, me, near, far, "other cube, nearest", "other cube, farthest");
    near = extreme(me, p -> p.sip() != me.sip(), true);
    far = extreme(me, p -> p.sip() != me.sip(), false);
    addPair(places, me, near, far, "other package, nearest", "other package, farthest");
    return places;
  }

  /**
   * Where a machine's network has several dimensions, for each of them the nearest and the farthest
   * package that differs from a PE's own in its place along it only.
   */
  List<Place> alongDimensions(Pe me) {
    List<Place> places = new ArrayList<>();
    List<Dimension> dimensions = machine.dimensions();
    int stride = 1;
    for (int d = 0; d < dimensions.size() && dimensions.size() > 1; d++) {
      Dimension dimension = dimensions.get(d);
      if (dimension.size() > 1) {
        List<Pe> others = along(me, stride, machine.place(me.sip(), d), dimension.size());
        ToLongFunction<Pe> ps = p -> wayPs(machine.peNode(me), machine.hbmNode(p));
        Pe near = Collections.min(others, Comparator.comparingLong(ps));
        Pe far = Collections.max(others, Comparator.comparingLong(ps));
        String kind = dimension.kind().name().toLowerCase(Locale.ROOT).replace('_', ' ');
        String name = "dimension %s, %s of %s".formatted(d, kind, dimension.size());
        addPair(places, me, near, far, name + ", nearest", name + ", farthest");
      }
      stride *= dimension.size();
    }
    return places;
  }

  /** PEs that differ from one in the place of their package along a dimension only. */
  private static List<Pe> along(Pe me, int stride, int place, int size) {
    List<Pe> others = new ArrayList<>();
    for (int k = 1; k < size; k += Math.max(1, size / MOST_ALONG)) {
      others.add(new Pe(me.sip() + ((place + k) % size - place) * stride, me.cube(), me.pe()));
    }
    return others;
  }

  private void addPair(
      List<Place> places, Pe me, Pe near, Pe far, String nearName, String farName) {
    if (!near.equals(me)) {
      places.add(slice(nearName, near));
      if (!far.equals(near)) {
        places.add(slice(farName, far));
      }
    }
  }

  /**
   * The PE among some whose slice is the fewest or the most picoseconds away; {@code me} if none.
   */
  private Pe extreme(Pe me, Predicate<Pe> among, boolean nearest) {
    Pe found = me;
    long best = nearest ? Long.MAX_VALUE : Long.MIN_VALUE;
    int step = Math.max(1, machine.peCount() / 4096); // enough to see every kind of distance
    for (int i = 0; i < machine.peCount(); i += step) {
      Pe p = machine.peAt(i);
      if (!p.equals(me) && among.test(p)) {
        long ps = wayPs(machine.peNode(me), machine.hbmNode(p));
        if (nearest ? ps < best : ps > best) {
          best = ps;
          found = p;
        }
      }
    }
    return found;
  }

  private long wayPs(int from, int memory) {
    return machine.route(from, memory).latencyPs() + machine.route(memory, from).latencyPs();
  }

  // ---- closed forms ----

  /** Time of an access that meets nobody: set-up, way there, memory, bytes, way back. */
  public long formulaPs(Access a) {
    return machine.pe().dma().setupPs()
        + wayAndBytesPs(machine.peNode(a.pe), a.place.node, a.bytes, a.kind == OpKind.STORE);
  }

  /** As {@link #formulaPs}, of a copy of the host, which needs no set-up. */
  long hostFormulaPs(Place place, long bytes, CopyDirection direction) {
    boolean write = direction == CopyDirection.HOST_TO_DEVICE;
    return wayAndBytesPs(machine.hostNode(), place.node, bytes, write);
  }

  private long wayAndBytesPs(int from, int memory, long bytes, boolean write) {
    Route there = machine.route(from, memory);
    Route back = machine.route(memory, from);
    boolean oneChunkIn = write && bytes <= machine.fabric().chunkBytes();
    return there.requestPs()
        + accessPs(there.last(), oneChunkIn, write)
        + back.replyPs()
        + serialPs(write ? there : back, bytes)
        + (write ? there : back).storedPs(bytes);
  }

  /**
   * What a memory takes until its first byte is out, or its last one in: its latency; with banks a
   * closed row, but the last of many chunks that are written finds it open.
   */
  private long accessPs(int port, boolean oneChunkIn, boolean write) {
    boolean banked = machine.hbm().isBanked() && machine.linkKind(port) == LinkKind.HBM_PORT;
    if (!banked) {
      return machine.link(port).latencyPs();
    }
    var dram = machine.hbm().dram();
    if (!write) {
      return dram.rowClosedPs();
    }
    return (oneChunkIn ? dram.tRcdWr() : 0) + dram.tCwl() + dram.tBl();
  }

  /** On the narrowest link, each piece rounded up to a picosecond as links do it. */
  private long serialPs(Route route, long bytes) {
    var fabric = machine.fabric();
    long piece = fabric.isBuffered() ? fabric.flitBytes() : fabric.chunkBytes();
    Rate rate = route.narrowest();
    return bytes / piece * rate.durationPs(piece) + rate.durationPs(bytes % piece);
  }

  /** Bytes per second of the narrowest link that the data of an access crosses. */
  public long peak(Access a) {
    return dataRoute(a).narrowest().bytesPerSecond();
  }

  Route dataRoute(Access a) {
    int pe = machine.peNode(a.pe);
    return a.kind == OpKind.STORE
        ? machine.route(pe, a.place.node)
        : machine.route(a.place.node, pe);
  }

  Route hostRoute(Place place, CopyDirection direction) {
    return direction == CopyDirection.HOST_TO_DEVICE
        ? machine.route(machine.hostNode(), place.node)
        : machine.route(place.node, machine.hostNode());
  }

  /**
   * What a crowd can never be faster than: all its bytes over the link that most of them share, and
   * each access alone.
   */
  public long crowdBoundPs(List<Access> crowd) {
    Map<Integer, Long> bytesOn = new HashMap<>();
    long bound = 0;
    for (Access a : crowd) {
      bound = Math.max(bound, formulaPs(a));
      for (int link : dataRoute(a).links()) {
        bytesOn.merge(link, a.bytes, Long::sum);
      }
    }
    for (var each : bytesOn.entrySet()) {
      long bytesPs = machine.link(each.getKey()).rate().durationPs(each.getValue());
      bound = Math.max(bound, bytesPs);
    }
    return bound;
  }

  /** Bytes per second of a crowd that is bound by its links only. */
  public double crowdPeak(List<Access> crowd) {
    Map<Integer, Long> bytesOn = new HashMap<>();
    long all = 0;
    double longest = 0;
    for (Access a : crowd) {
      all += a.bytes;
      for (int link : dataRoute(a).links()) {
        bytesOn.merge(link, a.bytes, Long::sum);
      }
    }
    for (var each : bytesOn.entrySet()) {
      double rate = machine.link(each.getKey()).rate().bytesPerSecond();
      longest = Math.max(longest, each.getValue() / rate);
    }
    return all / longest;
  }

  // ---- measurements ----

  /** One access on an idle machine. */
  public Measured access(Access a) {
    try (Simulator sim = Simulator.open(machine, Mode.TIME, recording)) {
      run(sim, List.of(a));
      OpLog log = sim.opLog();
      int op = accessOf(log, a.kind);
      return new Measured(
          log.endPs(op) - log.startPs(op),
          hops(log, op),
          sim.eventCount(),
          log,
          log.startPs(op),
          op);
    }
  }

  /** Accesses that start together; the time from the start to the last end. */
  public Measured crowd(List<Access> crowd) {
    try (Simulator sim = Simulator.open(machine, Mode.TIME, recording)) {
      run(sim, crowd);
      OpLog log = sim.opLog();
      long first = Long.MAX_VALUE;
      int last = -1;
      for (int id = 0; id < log.size(); id++) {
        if (log.has(id) && log.kind(id) == crowd.getFirst().kind) {
          first = Math.min(first, log.startPs(id));
          last = last < 0 || log.endPs(id) > log.endPs(last) ? id : last;
        }
      }
      return new Measured(log.endPs(last) - first, List.of(), sim.eventCount(), log, first, last);
    }
  }

  private static void run(Simulator sim, List<Access> crowd) {
    Map<Pe, Access> byPe = new HashMap<>();
    crowd.forEach(a -> byPe.put(a.pe, a));
    Launch launch =
        sim.launch(
            "probe",
            crowd.stream().map(Access::pe).toList(),
            port ->
                () -> {
                  Access a = byPe.get(port.pe());
                  if (a == null) {
                    throw new IllegalStateException("bug: no access for " + port.pe());
                  }
                  Region region = Region.of(a.place.address, Math.toIntExact(a.bytes));
                  if (a.kind == OpKind.STORE) {
                    port.store(fill(port, region.bytes()), 0, region);
                  } else {
                    port.load(region);
                  }
                });
    sim.drive(launch);
  }

  /** Whether every byte arrives, in a simulator of its own that has values. */
  public boolean areExact(List<Access> crowd) {
    Map<Pe, Access> byPe = new HashMap<>();
    crowd.forEach(a -> byPe.put(a.pe, a));
    int[] exact = new int[1];
    try (Simulator sim = Simulator.open(machine, Mode.FULL, SimulatorOptions.DEFAULT)) {
      for (Access a : crowd) {
        byte[] there = bytes(a, OpKind.LOAD);
        sim.write(a.place.address, there, 0, there.length);
      }
      Launch launch =
          sim.launch(
              "probe",
              crowd.stream().map(Access::pe).toList(),
              port ->
                  () -> {
                    Access a = Objects.requireNonNull(byPe.get(port.pe()));
                    Region region = Region.of(a.place.address, Math.toIntExact(a.bytes));
                    if (a.kind == OpKind.STORE) {
                      port.store(fill(port, region.bytes()), 0, region);
                    } else {
                      byte[] got = port.look(port.load(region), 0, region.bytes());
                      exact[0] += Arrays.equals(got, bytes(a, OpKind.LOAD)) ? 1 : 0;
                    }
                  });
      sim.drive(launch);
      for (Access a : crowd) {
        if (a.kind == OpKind.STORE) {
          byte[] got = new byte[Math.toIntExact(a.bytes)];
          sim.read(a.place.address, got, 0, got.length);
          exact[0] += Arrays.equals(got, bytes(a, OpKind.STORE)) ? 1 : 0;
        }
      }
    }
    return exact[0] == crowd.size();
  }

  /** What a load finds at its place, or a store leaves there. */
  private static byte[] bytes(Access a, OpKind kind) {
    byte[] bytes = new byte[Math.toIntExact(a.bytes)];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) (kind == OpKind.STORE ? STORED : i * 31 + i / 251);
    }
    return bytes;
  }

  private static Register fill(PePort port, int bytes) {
    return port.compute(
        new ComputeOp.Fill(DType.I8, bytes, STORED),
        bytes,
        Register.NONE,
        0,
        Register.NONE,
        0,
        Register.NONE,
        0);
  }

  private static int accessOf(OpLog log, OpKind kind) {
    for (int id = 0; id < log.size(); id++) {
      if (log.has(id) && log.kind(id) == kind) {
        return id;
      }
    }
    throw new IllegalStateException("bug: the probe has no " + kind);
  }

  /** The way of the last chunk. */
  private List<Hop> hops(OpLog log, int op) {
    TransferLog ways = log.transfers();
    List<Hop> hops = new ArrayList<>();
    int part = ways.lastPart(op);
    int service = part < 0 ? -1 : ways.lastService(part);
    long start = log.startPs(op);
    while (service >= 0) {
      var link = machine.link(ways.link(service));
      hops.addFirst(
          new Hop(
              link.name(),
              link.rate().bytesPerSecond(),
              link.latencyPs(),
              ways.headPs(service) - start,
              ways.startPsOf(service) - start,
              ways.tailPs(service) - start));
      service = ways.isEntry(service) ? -1 : ways.from(service);
    }
    return hops;
  }

  long hostCopyPs(Place place, long bytes, CopyDirection direction) {
    try (Simulator sim = Simulator.open(machine, Mode.TIME, recording)) {
      return sim.hostCopyPs(place.address, bytes, direction);
    }
  }

  /** Accesses of PEs, each {@code bytes}, each on the slice that a function names. */
  List<Access> loads(List<Pe> pes, long bytes, UnaryOperator<Pe> of) {
    List<Access> crowd = new ArrayList<>();
    for (Pe pe : pes) {
      Pe owner = of.apply(pe);
      long offset = owner.equals(pe) ? 0 : (long) machine.peIndex(pe) * bytes % (64L << 20);
      PhysicalAddress address = machine.addresses().hbm(owner, offset);
      crowd.add(
          new Access(
              pe,
              new Place(owner.toString(), machine.hbmNode(owner), address),
              bytes,
              OpKind.LOAD));
    }
    return crowd;
  }

  List<Pe> pesOfCube(int sip, int cube) {
    List<Pe> pes = new ArrayList<>();
    for (int pe = 0; pe < machine.pesPerCube(); pe++) {
      pes.add(new Pe(sip, cube, pe));
    }
    return pes;
  }

  List<Pe> pesOfPackage(int sip) {
    List<Pe> pes = new ArrayList<>();
    for (int cube = 0; cube < machine.cubesPerSip(); cube++) {
      pes.addAll(pesOfCube(sip, cube));
    }
    return pes;
  }

  /** A crowd and how a report calls it. */
  public record Case(String name, List<Access> crowd) {}

  /** Crowds from one PE to a package, as far as the machine has them. */
  public List<Case> crowds(long bytes) {
    List<Case> cases = new ArrayList<>();
    Pe zero = new Pe(0, 0, 0);
    List<Pe> cube = pesOfCube(0, 0);
    for (int n : new int[] {1, 2, 3, 8}) {
      if (n <= cube.size()) {
        String pes = n == 1 ? "1 PE" : n + " PEs";
        cases.add(
            new Case(pes + " of a cube on one slice", loads(cube.subList(0, n), bytes, p -> zero)));
      }
    }
    if (cube.size() > 1) {
      cases.add(new Case("PEs of a cube, each its own slice", loads(cube, bytes, p -> p)));
    }
    if (machine.cubesPerSip() > 1) {
      List<Pe> all = pesOfPackage(0);
      cases.add(
          new Case(
              "PEs of a cube on the next cube", loads(cube, bytes, p -> new Pe(0, 1, p.pe()))));
      cases.add(new Case("PEs of a package, each its own slice", loads(all, bytes, p -> p)));
      cases.add(new Case("PEs of a package on one slice", loads(all, bytes, p -> zero)));
    }
    if (machine.sips() > 1) {
      cases.add(
          new Case(
              "PEs of a package on the next package",
              loads(pesOfPackage(0), bytes, p -> new Pe(1, p.cube(), p.pe()))));
    }
    return cases;
  }

  static <T> boolean isSorted(List<T> list, ToLongFunction<T> key) {
    for (int i = 1; i < list.size(); i++) {
      if (key.applyAsLong(list.get(i)) < key.applyAsLong(list.get(i - 1))) {
        return false;
      }
    }
    return true;
  }
}
