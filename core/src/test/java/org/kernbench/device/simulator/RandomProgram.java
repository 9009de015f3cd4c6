package org.kernbench.device.simulator;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.Register;
import org.kernbench.device.Steps;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.memory.Region;
import org.kernbench.tensor.BinaryOp;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.UnaryOp;

/**
 * A program of one PE of a ring, made from a seed. It loads, computes, stores to its own HBM, and
 * in each round sends some messages to the east and takes as many from the west, so that a set of
 * these programs ends whatever the timing, if the slots hold a round.
 */
final class RandomProgram {
  enum Kind {
    LOAD,
    STORE,
    FILL,
    ADD,
    NEG,
    SEND,
    RECV,
    RELEASE,
    FENCE,
    FENCE_ALL,
    CLOCK,
    LOOK
  }

  /** One step; {@code out}, {@code a} and {@code b} number values (stores number their token). */
  record Step(Kind kind, int out, int a, int b, long offset, int bytes, boolean copy) {
    boolean isCommand() {
      return switch (kind) {
        case LOAD, STORE, FILL, ADD, NEG, SEND, RECV -> true;
        case RELEASE, FENCE, FENCE_ALL, CLOCK, LOOK -> false;
      };
    }
  }

  private static final int[] SIZES = {4, 64, 256, 1024, 2048, 4096, 9000};
  private static final int MEMORY = 1 << 16;

  final List<Step> steps = new ArrayList<>();
  private final Random random;
  private final boolean suspends;
  private final List<Integer> live = new ArrayList<>();
  private final List<Integer> sizes = new ArrayList<>();
  private final List<Integer> tokens = new ArrayList<>();
  private final List<Integer> received = new ArrayList<>();

  private RandomProgram(Random random, boolean suspends) {
    this.random = random;
    this.suspends = suspends;
  }

  /**
   * Programs of {@code n} PEs that talk to each other.
   *
   * @param suspends with looks at values and at the clock
   */
  static List<RandomProgram> ring(
      long seed, int n, int rounds, int slots, int slotBytes, boolean suspends) {
    List<RandomProgram> programs = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      programs.add(new RandomProgram(new Random(seed * 31 + i), suspends));
    }
    Random common = new Random(seed);
    for (int round = 0; round < rounds; round++) {
      List<Integer> messages = new ArrayList<>();
      int left = slots;
      while (left > 0 && common.nextInt(4) != 0) {
        int bytes = SIZES[common.nextInt(SIZES.length)];
        left -= Math.max(1, Math.ceilDiv(bytes, slotBytes));
        if (left >= 0) {
          messages.add(bytes);
        }
      }
      for (RandomProgram p : programs) {
        p.work(common.nextInt(5));
        messages.forEach(p::send);
        p.work(p.random.nextInt(3));
        for (int bytes : messages) {
          p.receive(bytes);
          p.work(p.random.nextInt(2));
        }
        p.endRound();
      }
    }
    return programs;
  }

  private int value(int bytes) {
    sizes.add(bytes);
    live.add(sizes.size() - 1);
    return sizes.size() - 1;
  }

  private void add(Kind kind, int out, int a, int b, long offset, int bytes, boolean copy) {
    steps.add(new Step(kind, out, a, b, offset, bytes, copy));
  }

  private void work(int steps) {
    for (int i = 0; i < steps; i++) {
      switch (random.nextInt(8)) {
        case 0, 1 -> load(SIZES[random.nextInt(SIZES.length)]);
        case 2, 3 -> store();
        case 4 -> fill(SIZES[random.nextInt(SIZES.length)]);
        case 5, 6 -> compute();
        default -> fence();
      }
    }
  }

  private long place(int bytes) {
    return random.nextInt((MEMORY - bytes) / 64) * 64L;
  }

  private int load(int bytes) {
    int v = value(bytes);
    add(Kind.LOAD, v, -1, -1, place(bytes), bytes, false);
    return v;
  }

  private int fill(int bytes) {
    int v = value(bytes);
    add(Kind.FILL, v, random.nextInt(100), -1, 0, bytes, false);
    return v;
  }

  private int any() {
    return live.isEmpty() ? fill(256) : live.get(random.nextInt(live.size()));
  }

  private void store() {
    int v = any();
    int bytes = sizes.get(v);
    sizes.add(0);
    tokens.add(sizes.size() - 1);
    add(Kind.STORE, sizes.size() - 1, v, -1, place(bytes), bytes, false);
  }

  private void compute() {
    int a = any();
    int bytes = sizes.get(a);
    List<Integer> same = live.stream().filter(v -> sizes.get(v) == bytes).toList();
    int b = same.get(random.nextInt(same.size()));
    int v = value(bytes);
    if (random.nextBoolean()) {
      add(Kind.ADD, v, a, b, 0, bytes, false);
    } else {
      add(Kind.NEG, v, a, -1, 0, bytes, false);
    }
  }

  private void fence() {
    if (suspends && random.nextInt(3) == 0) {
      add(random.nextBoolean() ? Kind.CLOCK : Kind.LOOK, -1, any(), -1, 0, 4, false);
    } else if (random.nextInt(3) == 0) {
      add(Kind.FENCE_ALL, -1, -1, -1, 0, 0, false);
    } else if (!tokens.isEmpty()) {
      add(Kind.FENCE, -1, tokens.get(random.nextInt(tokens.size())), -1, 0, 0, false);
    }
  }

  private void send(int bytes) {
    List<Integer> same =
        live.stream().filter(v -> sizes.get(v) == bytes && !received.contains(v)).toList();
    int v = same.isEmpty() ? load(bytes) : same.get(random.nextInt(same.size()));
    add(Kind.SEND, -1, v, -1, 0, bytes, false);
  }

  private void receive(int bytes) {
    int v = value(bytes);
    received.add(v);
    add(Kind.RECV, v, -1, -1, 0, bytes, random.nextInt(3) == 0);
  }

  /** Gives up all received values, so that slots get free, and some others. */
  private void endRound() {
    for (int v : List.copyOf(live)) {
      if (received.contains(v) || live.size() > 5) {
        add(Kind.RELEASE, -1, v, -1, 0, 0, false);
        live.remove((Integer) v);
      }
    }
    received.clear();
  }

  /**
   * Most bytes in values that are made and not given up, the least TCM in which the program can
   * end.
   */
  int mostBytesAlive() {
    int now = 0;
    int most = 0;
    for (Step s : steps) {
      switch (s.kind) {
        case LOAD, FILL, ADD, NEG, RECV -> now += s.bytes;
        case RELEASE -> now -= sizes.get(s.a);
        case STORE, SEND, FENCE, FENCE_ALL, CLOCK, LOOK -> {}
      }
      most = Math.max(most, now);
    }
    return most;
  }

  /**
   * Issues the steps; without data nobody looks. What is seen is stored, so that the bytes depend
   * on it.
   */
  void run(PePort p, boolean looks) {
    Register[] values = new Register[sizes.size()];
    for (Step s : steps) {
      say(p, s, values, looks);
    }
  }

  /** The same without looks at values and at the clock, some steps at a time. */
  Steps begin(PePort p, int atOnce) {
    Register[] values = new Register[sizes.size()];
    List<Step> said =
        steps.stream().filter(s -> s.kind != Kind.CLOCK && s.kind != Kind.LOOK).toList();
    Iterator<Step> left = said.iterator();
    return () -> {
      for (int i = 0; i < atOnce && left.hasNext(); i++) {
        say(p, left.next(), values, false);
      }
      return left.hasNext();
    };
  }

  private static void say(PePort p, Step s, Register[] values, boolean looks) {
    switch (s.kind) {
      case LOAD -> values[s.out] = p.load(region(p, s));
      case STORE -> values[s.out] = p.store(values[s.a], 0, region(p, s));
      case FILL ->
          values[s.out] =
              compute(
                  p,
                  new ComputeOp.Fill(DType.F32, s.bytes / 4, s.a),
                  s.bytes,
                  Register.NONE,
                  Register.NONE);
      case ADD ->
          values[s.out] =
              compute(
                  p,
                  new ComputeOp.Binary(BinaryOp.ADD, DType.F32, s.bytes / 4),
                  s.bytes,
                  values[s.a],
                  values[s.b]);
      case NEG ->
          values[s.out] =
              compute(
                  p,
                  new ComputeOp.Unary(UnaryOp.NEG, DType.F32, s.bytes / 4),
                  s.bytes,
                  values[s.a],
                  Register.NONE);
      case SEND -> p.send(p.queue("E"), values[s.a], 0, s.bytes);
      case RECV -> values[s.out] = p.receive(p.queue("W"), s.bytes, s.copy, false);
      case RELEASE -> p.release(values[s.a]);
      case FENCE -> p.fence(values[s.a]);
      case FENCE_ALL -> p.fenceAll();
      case CLOCK -> p.clockPs();
      case LOOK -> {
        if (p.mode() != Mode.TIME && looks) {
          byte[] seen = p.look(values[s.a], 0, 4);
          Register v =
              compute(
                  p, new ComputeOp.Fill(DType.F32, 1, seen[1]), 4, Register.NONE, Register.NONE);
          p.store(v, 0, Region.of(p.machine().addresses().hbm(p.pe(), 64L * (seen[0] & 0xFF)), 4));
          p.release(v);
        }
      }
    }
  }

  private static Register compute(PePort p, ComputeOp op, int bytes, Register a, Register b) {
    return p.compute(op, bytes, a, 0, b, 0, Register.NONE, 0);
  }

  private static Region region(PePort p, Step s) {
    return Region.of(p.machine().addresses().hbm(p.pe(), s.offset), s.bytes);
  }
}
