package org.kernbench.machine.astra;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;

/**
 * A second, slow construction of what ASTRA-sim's system layer and its congestion-unaware network
 * do with one collective: every rank, every packet. The rules are those of its public sources
 * (2026, {@code system/astraccl/native_collectives}, {@code Sys.cc}), written down here as: what is
 * put in waits for the endpoint delay, and for three accesses to memory if it is reduced; then it
 * is free; a packet goes out if one is there and one is free; a stream has ended with its dimension
 * when all has gone out and as many are free as at first; along a dimension so many streams at a
 * time, first come first served.
 */
final class AstraReference {
  /**
   * A network and a system.
   *
   * @param gigabytes of 2^30 bytes per second
   * @param memory 10^9 bytes per second; 0 for reductions that cost nothing
   * @param wholeNs whether times are cut to whole nanoseconds, as the tool does
   */
  record Setting(
      List<String> kinds,
      List<String> steps,
      List<Integer> sizes,
      List<Double> gigabytes,
      List<Integer> latencyNs,
      int delayNs,
      int memory,
      int splits,
      int active,
      boolean whole,
      boolean wholeNs) {}

  /** One dimension of one stream. */
  private record Phase(int d, String type, double bytes) {}

  private record Event(double time, long number, Runnable what) {}

  private final Setting setting;
  private final int ranks;
  private final PriorityQueue<Event> events =
      new PriorityQueue<>(Comparator.comparingDouble(Event::time).thenComparingLong(Event::number));
  private long number;
  private double now;
  private double ended;

  /** By rank and dimension. */
  private final List<List<Deque<Stream>>> waiting = new ArrayList<>();

  private final int[][] running;
  private final Map<List<Integer>, Stream> streams = new HashMap<>();

  private AstraReference(Setting setting) {
    this.setting = setting;
    this.ranks = setting.sizes.stream().reduce(1, (a, b) -> a * b);
    this.running = new int[ranks][setting.sizes.size()];
  }

  /**
   * When the last rank has ended, ns; {@code bytes} as the tool takes them: of an all-gather a
   * rank's share.
   */
  static double ns(Setting setting, String type, double bytes) {
    return new AstraReference(setting).run(type, bytes);
  }

  private double run(String type, double bytes) {
    for (int r = 0; r < ranks; r++) {
      List<Deque<Stream>> queues = new ArrayList<>();
      setting.sizes.forEach(size -> queues.add(new ArrayDeque<>()));
      waiting.add(queues);
    }
    for (int r = 0; r < ranks; r++) {
      for (int c = 0; c < setting.splits; c++) {
        Stream stream = new Stream(r, c, phases(type, bytes / setting.splits));
        streams.put(List.of(r, c), stream);
        stream.proceed();
      }
    }
    while (!events.isEmpty()) {
      Event first = events.remove();
      now = first.time;
      first.what.run();
    }
    return ended;
  }

  private void at(double time, Runnable what) {
    events.add(new Event(time, number++, what));
  }

  private List<Phase> phases(String type, double bytes) {
    int count = setting.sizes.size();
    List<Phase> phases = new ArrayList<>();
    double size = bytes;
    if (type.equals("all_reduce") && !setting.whole) {
      for (int d = 0; d < count - 1; d++) {
        phases.add(new Phase(d, "reduce_scatter", size));
        size /= setting.sizes.get(d);
      }
      phases.add(new Phase(count - 1, type, size));
      for (int d = count - 2; d >= 0; d--) {
        phases.add(new Phase(d, "all_gather", size));
        size *= setting.sizes.get(d);
      }
      return phases;
    }
    for (int i = 0; i < count; i++) {
      int d = type.equals("all_gather") ? count - 1 - i : i;
      phases.add(new Phase(d, type, size));
      size *= type.equals("all_gather") ? setting.sizes.get(d) : 1;
      size /= type.equals("reduce_scatter") ? setting.sizes.get(d) : 1;
    }
    return phases;
  }

  // ---- places ----

  private int stride(int d) {
    int stride = 1;
    for (int i = 0; i < d; i++) {
      stride *= setting.sizes.get(i);
    }
    return stride;
  }

  private int place(int rank, int d) {
    return rank / stride(d) % setting.sizes.get(d);
  }

  private int at(int rank, int d, int place) {
    return rank + (Math.floorMod(place, setting.sizes.get(d)) - place(rank, d)) * stride(d);
  }

  // ---- what things take ----

  private double cut(double ns) {
    return setting.wholeNs ? Math.floor(ns) : ns;
  }

  private double wireNs(int d, int from, int to, double bytes) {
    int n = setting.sizes.get(d);
    int apart = Math.abs(from - to);
    int hops =
        switch (setting.kinds.get(d)) {
          case "Ring" -> Math.min(apart, n - apart);
          case "Switch" -> 2;
          default -> 1;
        };
    double rate = setting.gigabytes.get(d) * (1 << 30) / 1e9;
    return cut(hops * setting.latencyNs.get(d) + bytes / rate);
  }

  private double reduceNs(double bytes) {
    return setting.memory == 0 ? 0 : 3 * cut(bytes / setting.memory);
  }

  // ---- streams ----

  private final class Stream {
    final int rank;
    final int chunk;
    final Deque<Phase> phases;
    private Phase phase = new Phase(-1, "", 0);
    private int steps = -1;

    /** Of the phase that is under way; null if it has not begun. */
    private Packets packets;

    /** Messages that have come before their phase has begun, by phase. */
    private final Map<Integer, Integer> early = new HashMap<>();

    Stream(int rank, int chunk, List<Phase> phases) {
      this.rank = rank;
      this.chunk = chunk;
      this.phases = new ArrayDeque<>(phases);
    }

    /** To the next dimension, or to its end. */
    void proceed() {
      int before = phase.d;
      packets = null;
      if (phases.isEmpty()) {
        ended = Math.max(ended, now);
      } else {
        phase = phases.remove();
        steps++;
        waiting.get(rank).get(phase.d).add(this);
      }
      if (before >= 0) {
        running[rank][before]--;
        start(rank, before);
      }
      start(rank, phase.d);
    }

    void begin() {
      packets = packets(this, phase);
      packets.init();
      for (int i = early.getOrDefault(steps, 0); i > 0; i--) {
        packets.received();
      }
    }

    void comes(int step) {
      if (step == steps && packets != null) {
        packets.received();
      } else {
        early.merge(step, 1, Integer::sum);
      }
    }
  }

  private void start(int rank, int d) {
    Deque<Stream> queue = waiting.get(rank).get(d);
    while (!queue.isEmpty() && running[rank][d] < setting.active) {
      running[rank][d]++;
      queue.remove().begin();
    }
  }

  private Packets packets(Stream stream, Phase phase) {
    return switch (setting.steps.get(phase.d)) {
      case "ring" -> new Ring(stream, phase);
      case "direct" -> new Direct(stream, phase);
      case "halving_doubling" -> new Halves(stream, phase);
      default -> new Tree(stream, phase);
    };
  }

  private abstract class Packets {
    final Stream stream;
    final Phase phase;
    final int n;
    final int me;
    final int step;

    Packets(Stream stream, Phase phase) {
      this.stream = stream;
      this.phase = phase;
      this.n = setting.sizes.get(phase.d);
      this.me = place(stream.rank, phase.d);
      this.step = stream.steps;
    }

    abstract void init();

    abstract void received();

    boolean reduces() {
      return phase.type.equals("all_reduce") || phase.type.equals("reduce_scatter");
    }

    void sendTo(int to, double bytes) {
      Stream other = streams.get(List.of(at(stream.rank, phase.d, to), stream.chunk));
      at(now + wireNs(phase.d, me, Math.floorMod(to, n), bytes), () -> other.comes(step));
    }

    void after(double ns, Runnable what) {
      at(now + ns, what);
    }
  }

  /** Packets in the order in which they were put in, of which so many are sent at once. */
  private abstract class Counted extends Packets {
    final int atOnce;
    int left;
    int inserted;
    int sent;
    int received;
    int free;

    Counted(Stream stream, Phase phase, int atOnce, int total) {
      super(stream, phase);
      this.atOnce = atOnce;
      this.left = total;
    }

    abstract int to(int packet);

    abstract double bytes(int packet);

    abstract boolean isReduced(int packet);

    @Override
    void init() {
      for (int i = 0; i < atOnce; i++) {
        insert();
      }
    }

    private void insert() {
      int packet = inserted++;
      boolean reduced = isReduced(packet) && reduces();
      after(setting.delayNs + (reduced ? reduceNs(bytes(packet)) : 0), this::freed);
    }

    @Override
    void received() {
      received++;
      insert();
    }

    void freed() {
      free++;
      ready();
      exit();
    }

    void ready() {
      if (sent < inserted && left > 0 && free > 0) {
        sendTo(to(sent), bytes(sent));
        sent++;
        left--;
        free--;
      }
    }

    void exit() {
      if (left == 0 && free == atOnce) {
        stream.proceed();
      }
    }
  }

  private static int factor(String type) {
    return type.equals("all_reduce") ? 2 : 1;
  }

  private final class Ring extends Counted {
    Ring(Stream stream, Phase phase) {
      super(stream, phase, 1, total(phase.type, setting.sizes.get(phase.d)));
    }

    private static int total(String type, int n) {
      return type.equals("all_to_all") ? n * (n - 1) / 2 : factor(type) * (n - 1);
    }

    @Override
    int to(int packet) {
      return me + 1;
    }

    @Override
    double bytes(int packet) {
      return phase.type.equals("all_gather") ? phase.bytes : phase.bytes / n;
    }

    @Override
    boolean isReduced(int packet) {
      return packet > 0 && packet < n;
    }
  }

  private final class Direct extends Counted {
    Direct(Stream stream, Phase phase) {
      super(
          stream,
          phase,
          setting.sizes.get(phase.d) - 1,
          factor(phase.type) * (setting.sizes.get(phase.d) - 1));
    }

    @Override
    int to(int packet) {
      return me + 1 + packet % (n - 1);
    }

    @Override
    double bytes(int packet) {
      return phase.type.equals("all_gather") ? phase.bytes : phase.bytes / n;
    }

    @Override
    boolean isReduced(int packet) {
      return packet >= n - 1 && packet < 2 * (n - 1);
    }

    @Override
    void freed() {
      free++;
      boolean second = phase.type.equals("all_reduce") && left <= n - 1;
      if (second && received < n - 1) {
        return;
      }
      for (int i = 0; i < (second ? n - 1 : 1); i++) {
        ready();
      }
      exit();
    }
  }

  private final class Halves extends Counted {
    private final int bits;

    Halves(Stream stream, Phase phase) {
      super(
          stream,
          phase,
          1,
          factor(phase.type) * Integer.numberOfTrailingZeros(setting.sizes.get(phase.d)));
      this.bits = Integer.numberOfTrailingZeros(n);
    }

    /** Bits from the lowest up, then from the highest down; a gather has only the second half. */
    private int bit(int packet) {
      int k = phase.type.equals("all_gather") ? packet + bits : packet;
      return k < bits ? k : Math.max(0, 2 * bits - 1 - k);
    }

    @Override
    int to(int packet) {
      return me ^ (1 << bit(packet));
    }

    @Override
    double bytes(int packet) {
      if (phase.type.equals("all_gather")) {
        return phase.bytes * (1 << packet);
      }
      return phase.bytes / (2 << bit(packet));
    }

    @Override
    boolean isReduced(int packet) {
      return packet > 0 && packet < bits;
    }
  }

  /** Up a tree and down, the whole chunk. */
  private final class Tree extends Packets {
    private int parent = -1;
    private final List<Integer> children = new ArrayList<>();
    private int come;

    Tree(Stream stream, Phase phase) {
      super(stream, phase);
      boolean even = stream.chunk % 2 == 0;
      subtree(even ? 0 : 1, even ? n - 1 : n, even ? n - 1 : 0);
    }

    /** The middle of places from to to is below a place. */
    private void subtree(int from, int to, int above) {
      if (from < to) {
        int middle = (from + to) / 2;
        if (middle == me) {
          parent = above;
        }
        if (above == me) {
          children.add(middle);
        }
        subtree(from, middle, middle);
        subtree(middle + 1, to, middle);
      }
    }

    @Override
    void init() {
      if (children.isEmpty()) {
        after(setting.delayNs, () -> sendTo(parent, phase.bytes));
      }
    }

    @Override
    void received() {
      come++;
      int needed = children.size();
      if (needed == 0) {
        after(setting.delayNs, stream::proceed);
      } else if (come == needed) {
        after(
            setting.delayNs + reduceNs(phase.bytes),
            () -> {
              if (parent < 0) {
                down();
              } else {
                sendTo(parent, phase.bytes);
              }
            });
      } else if (come == needed + 1) {
        after(setting.delayNs + reduceNs(phase.bytes), this::down);
      }
    }

    private void down() {
      children.forEach(child -> sendTo(child, phase.bytes));
      stream.proceed();
    }
  }
}
