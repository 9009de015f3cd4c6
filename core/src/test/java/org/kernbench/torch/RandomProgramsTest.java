package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.DpPolicy;

/**
 * Random programs of collectives, messages and kernels over random sub-groups, synchronous and not,
 * against a model that runs the same steps one after the other on arrays of double. Elements are
 * -1, 0 and 1, and are clamped to that again after each reduction, so that every result is exact in
 * every dtype and in every order of additions; averages, which are not, must be within one
 * rounding.
 */
final class RandomProgramsTest {
  private static final int ROWS = 4;
  private static final int COLUMNS = 3;

  private enum Kind {
    ALL_REDUCE,
    REDUCE,
    BROADCAST,
    ALL_GATHER,
    ALL_GATHER_RAGGED,
    REDUCE_SCATTER,
    REDUCE_SCATTER_RAGGED,
    GATHER,
    SCATTER,
    ALL_TO_ALL,
    ALL_TO_ALL_RAGGED,
    MESSAGES,
    NEGATE,
    BARRIER
  }

  /** One step of all members of a group. */
  private record Step(
      Kind kind, int group, DType dtype, ReduceKind reduce, int root, boolean async, long seed) {}

  /** What a run starts from. */
  private record Program(int ranks, List<List<Integer>> groups, List<Step> steps, long seed) {
    static Program random(int ranks, int length, long seed) {
      SplittableRandom r = new SplittableRandom(seed);
      List<List<Integer>> groups = new ArrayList<>();
      groups.add(IntStream.range(0, ranks).boxed().toList());
      for (int i = 0; i < 5; i++) {
        List<Integer> some = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
          if (r.nextBoolean()) {
            some.add(rank);
          }
        }
        groups.add(some.isEmpty() ? List.of(r.nextInt(ranks)) : some);
      }
      List<Step> steps = new ArrayList<>();
      for (int i = 0; i < length; i++) {
        int group = r.nextInt(groups.size());
        List<Integer> members = groups.get(group);
        Kind kind = Kind.values()[r.nextInt(Kind.values().length)];
        DType dtype = DType.values()[r.nextInt(DType.values().length)];
        ReduceKind reduce = ReduceKind.values()[r.nextInt(ReduceKind.values().length)];
        if (!reduce.combine().supports(dtype)
            || (reduce == ReduceKind.AVG && !dtype.isFloatingPoint())) {
          reduce = ReduceKind.MAX;
        }
        boolean reduces =
            kind == Kind.ALL_REDUCE
                || kind == Kind.REDUCE
                || kind == Kind.REDUCE_SCATTER
                || kind == Kind.REDUCE_SCATTER_RAGGED
                || kind == Kind.NEGATE;
        if (reduces && dtype == DType.BOOL) {
          dtype = DType.F16;
        }
        steps.add(
            new Step(
                kind,
                group,
                dtype,
                reduce,
                members.get(r.nextInt(members.size())),
                r.nextBoolean(),
                r.nextLong()));
      }
      return new Program(ranks, groups, steps, seed);
    }

    /** What a rank puts into a tensor of its own. */
    static double[] values(DType dtype, long seed, int rank, int n) {
      SplittableRandom r = new SplittableRandom(seed * 31 + rank);
      double[] values = new double[n];
      for (int i = 0; i < n; i++) {
        values[i] = dtype == DType.BOOL ? r.nextInt(2) : r.nextInt(-1, 2);
      }
      return values;
    }

    /** How many rows each member has, or sends to each. */
    static List<Integer> rows(long seed, int n) {
      SplittableRandom r = new SplittableRandom(seed + 17 * n);
      return IntStream.range(0, n).map(i -> r.nextInt(4)).boxed().toList();
    }

    static List<Integer> sends(Step s, int src, int n) {
      return rows(s.seed + 1000L * src, n);
    }

    static List<Integer> receives(Step s, int dst, int n) {
      return IntStream.range(0, n).map(src -> sends(s, src, n).get(dst)).boxed().toList();
    }

    /** Whom each member sends to in a step of messages: a permutation. */
    static int[] targets(Step s, int n) {
      SplittableRandom r = new SplittableRandom(s.seed);
      int[] to = IntStream.range(0, n).toArray();
      for (int i = n - 1; i > 0; i--) {
        int j = r.nextInt(i + 1);
        int t = to[i];
        to[i] = to[j];
        to[j] = t;
      }
      return to;
    }
  }

  private static int sum(List<Integer> rows) {
    return rows.stream().mapToInt(Integer::intValue).sum();
  }

  // ---- the model ----

  /** By rank: what its tensors hold in the end. */
  private static final class Model {
    final Program program;
    final List<Map<String, double[]>> results = new ArrayList<>();
    final List<Map<DType, double[]>> state = new ArrayList<>();

    Model(Program program) {
      this.program = program;
      for (int rank = 0; rank < program.ranks; rank++) {
        Map<DType, double[]> own = new HashMap<>();
        for (DType d : DType.values()) {
          own.put(d, Program.values(d, program.seed, rank, ROWS * COLUMNS));
        }
        state.add(own);
        results.add(new HashMap<>());
      }
      for (int i = 0; i < program.steps.size(); i++) {
        step(i, program.steps.get(i));
      }
      for (int rank = 0; rank < program.ranks; rank++) {
        for (DType d : DType.values()) {
          results.get(rank).put("x " + d, state.get(rank).get(d));
        }
      }
    }

    private void step(int number, Step s) {
      List<Integer> members = program.groups.get(s.group);
      int n = members.size();
      String name = "step " + number;
      int size = ROWS * COLUMNS;
      double[][] x = new double[n][];
      for (int m = 0; m < n; m++) {
        x[m] = state.get(members.get(m)).get(s.dtype).clone();
      }
      int root = members.indexOf(s.root);
      switch (s.kind) {
        case ALL_REDUCE, REDUCE -> {
          double[] all = reduced(s, x);
          for (int m = 0; m < n; m++) {
            if (s.kind == Kind.ALL_REDUCE || m == root) {
              set(members.get(m), s, name, all);
            }
          }
        }
        case BROADCAST -> {
          for (int m = 0; m < n; m++) {
            state.get(members.get(m)).put(s.dtype, x[root].clone());
          }
        }
        case ALL_GATHER, GATHER -> {
          double[] all = concatenated(x);
          for (int m = 0; m < n; m++) {
            if (s.kind == Kind.ALL_GATHER || m == root) {
              results.get(members.get(m)).put(name, all);
            }
          }
        }
        case ALL_GATHER_RAGGED -> {
          double[][] parts = new double[n][];
          List<Integer> rows = Program.rows(s.seed, n);
          for (int m = 0; m < n; m++) {
            parts[m] = Program.values(s.dtype, s.seed, members.get(m), rows.get(m) * COLUMNS);
          }
          for (int m = 0; m < n; m++) {
            results.get(members.get(m)).put(name, concatenated(parts));
          }
        }
        case REDUCE_SCATTER, REDUCE_SCATTER_RAGGED -> {
          boolean ragged = s.kind == Kind.REDUCE_SCATTER_RAGGED;
          List<Integer> rows =
              ragged
                  ? Program.rows(s.seed, n)
                  : IntStream.range(0, n).map(i -> ROWS).boxed().toList();
          double[][] wholes = new double[n][];
          for (int m = 0; m < n; m++) {
            wholes[m] = Program.values(s.dtype, s.seed, members.get(m), sum(rows) * COLUMNS);
          }
          double[] all = reduced(s, wholes);
          int at = 0;
          for (int m = 0; m < n; m++) {
            int end = at + rows.get(m) * COLUMNS;
            double[] part = Arrays.copyOfRange(all, at, end);
            if (ragged && s.reduce == ReduceKind.AVG) {
              results.get(members.get(m)).put(name + " avg " + s.dtype, part);
            } else if (ragged) {
              results.get(members.get(m)).put(name, clamped(part));
            } else {
              set(members.get(m), s, name, part);
            }
            at = end;
          }
        }
        case SCATTER -> {
          double[] whole = Program.values(s.dtype, s.seed, s.root, n * size);
          for (int m = 0; m < n; m++) {
            state
                .get(members.get(m))
                .put(s.dtype, Arrays.copyOfRange(whole, m * size, (m + 1) * size));
          }
        }
        case ALL_TO_ALL, ALL_TO_ALL_RAGGED -> exchange(s, name, members);
        case MESSAGES -> {
          int[] to = Program.targets(s, n);
          for (int m = 0; m < n; m++) {
            if (to[m] != m) {
              results.get(members.get(to[m])).put(name, x[m]);
            }
          }
        }
        case NEGATE -> {
          for (int m = 0; m < n; m++) {
            state.get(members.get(m)).put(s.dtype, Arrays.stream(x[m]).map(v -> 0 - v).toArray());
          }
        }
        case BARRIER -> {}
      }
    }

    private void exchange(Step s, String name, List<Integer> members) {
      int n = members.size();
      List<List<double[]>> got = new ArrayList<>();
      members.forEach(m -> got.add(new ArrayList<>()));
      for (int src = 0; src < n; src++) {
        List<Integer> rows =
            s.kind == Kind.ALL_TO_ALL
                ? IntStream.range(0, n).map(i -> 2).boxed().toList()
                : Program.sends(s, src, n);
        double[] in = Program.values(s.dtype, s.seed, members.get(src), sum(rows) * COLUMNS);
        int at = 0;
        for (int dst = 0; dst < n; dst++) {
          int end = at + rows.get(dst) * COLUMNS;
          got.get(dst).add(Arrays.copyOfRange(in, at, end));
          at = end;
        }
      }
      for (int dst = 0; dst < n; dst++) {
        results
            .get(members.get(dst))
            .put(name, concatenated(got.get(dst).toArray(double[][]::new)));
      }
    }

    /** Averages are looked at, then replaced by ones that are exact; others are clamped. */
    private void set(int rank, Step s, String name, double[] result) {
      if (s.reduce == ReduceKind.AVG) {
        results.get(rank).put(name + " avg " + s.dtype, result);
        double[] fresh = Program.values(s.dtype, s.seed + 5, rank, result.length);
        state.get(rank).put(s.dtype, fresh);
      } else {
        state.get(rank).put(s.dtype, clamped(result));
      }
    }

    private static double[] clamped(double[] result) {
      return Arrays.stream(result).map(v -> Math.clamp(v, -1, 1)).toArray();
    }

    private static double[] reduced(Step s, double[][] x) {
      double[] all = x[0].clone();
      for (int m = 1; m < x.length; m++) {
        for (int i = 0; i < all.length; i++) {
          all[i] =
              switch (s.reduce) {
                case SUM, AVG -> all[i] + x[m][i];
                case PRODUCT -> all[i] * x[m][i];
                case MIN -> Math.min(all[i], x[m][i]);
                case MAX -> Math.max(all[i], x[m][i]);
              };
        }
      }
      if (s.reduce == ReduceKind.AVG) {
        for (int i = 0; i < all.length; i++) {
          all[i] /= x.length;
        }
      }
      return all;
    }

    private static double[] concatenated(double[][] parts) {
      return Arrays.stream(parts).flatMapToDouble(Arrays::stream).toArray();
    }
  }

  // ---- the program on the machine ----

  /** One rank. */
  private static final class Body {
    final Program program;
    final Worker w;
    final DpPolicy policy;
    final Map<String, double[]> results = new HashMap<>();
    final Map<DType, Tensor> x = new HashMap<>();
    final Map<String, Tensor> fresh = new HashMap<>();

    Body(Program program, Worker w, DpPolicy policy) {
      this.program = program;
      this.w = w;
      this.policy = policy;
    }

    void run() {
      List<ProcessGroup> groups = new ArrayList<>();
      groups.add(w.distributed().world());
      for (int i = 1; i < program.groups.size(); i++) {
        groups.add(w.distributed().newGroup(program.groups.get(i)));
      }
      for (DType d : DType.values()) {
        x.put(d, tensor(d, Program.values(d, program.seed, w.rank(), ROWS * COLUMNS), "x " + d));
      }
      for (int i = 0; i < program.steps.size(); i++) {
        Step s = program.steps.get(i);
        ProcessGroup g = groups.get(s.group);
        assertThat(g.isMember()).isEqualTo(program.groups.get(s.group).contains(w.rank()));
        if (g.isMember()) {
          step(s, g, "step " + i);
        }
      }
      x.forEach((d, t) -> results.put("x " + d, t.toDoubles()));
      fresh.forEach((name, t) -> results.put(name, t.toDoubles()));
    }

    private Tensor tensor(DType d, double[] values, String name) {
      Shape shape = Shape.of(values.length / COLUMNS, COLUMNS);
      return w.torch().from(values, shape, d, policy, name);
    }

    private Tensor empty(DType d, int rows, String name) {
      return w.torch().empty(Shape.of(rows, COLUMNS), d, policy, name);
    }

    private Tensor empty(Step s, int rows, String name) {
      Tensor t = empty(s.dtype, rows, name);
      fresh.put(name, t);
      return t;
    }

    private void step(Step s, ProcessGroup g, String name) {
      int n = g.size();
      Tensor t = x.get(s.dtype);
      switch (s.kind) {
        case ALL_REDUCE -> {
          finish(s, g.allReduceAsync(t, s.reduce));
          after(s, t, name);
        }
        case REDUCE -> {
          finish(s, g.reduceAsync(t, s.root, s.reduce));
          if (w.rank() == s.root) {
            after(s, t, name);
          }
        }
        case BROADCAST -> {
          if (s.async) {
            finish(s, g.broadcastAsync(t, s.root));
          } else {
            g.broadcast(t, s.root);
          }
        }
        case ALL_GATHER -> {
          Tensor all = empty(s, n * ROWS, name);
          if (s.async) {
            finish(s, g.allGatherAsync(all, t));
          } else {
            g.allGather(all, t);
          }
        }
        case ALL_GATHER_RAGGED -> {
          List<Integer> rows = Program.rows(s.seed, n);
          double[] own = Program.values(s.dtype, s.seed, w.rank(), rows.get(g.rank()) * COLUMNS);
          g.allGather(empty(s, sum(rows), name), tensor(s.dtype, own, "in"), rows);
        }
        case REDUCE_SCATTER -> {
          double[] whole = Program.values(s.dtype, s.seed, w.rank(), n * ROWS * COLUMNS);
          Tensor in = tensor(s.dtype, whole, "in");
          if (s.async) {
            finish(s, g.reduceScatterAsync(t, in, s.reduce));
          } else {
            g.reduceScatter(t, in, s.reduce);
          }
          in.close();
          after(s, t, name);
        }
        case REDUCE_SCATTER_RAGGED -> {
          List<Integer> rows = Program.rows(s.seed, n);
          double[] whole = Program.values(s.dtype, s.seed, w.rank(), sum(rows) * COLUMNS);
          Tensor out = empty(s, rows.get(g.rank()), name);
          g.reduceScatter(out, tensor(s.dtype, whole, "in"), s.reduce, rows);
          if (s.reduce != ReduceKind.AVG) {
            clamp(out);
          } else {
            fresh.remove(name);
            results.put(name + " avg " + s.dtype, out.toDoubles());
          }
        }
        case GATHER -> {
          if (w.rank() == s.root) {
            g.gather(empty(s, n * ROWS, name), t, s.root);
          } else {
            g.gather(t, s.root);
          }
        }
        case SCATTER -> {
          if (w.rank() == s.root) {
            double[] whole = Program.values(s.dtype, s.seed, s.root, n * ROWS * COLUMNS);
            g.scatter(t, tensor(s.dtype, whole, "in"), s.root);
          } else {
            g.scatter(t, s.root);
          }
        }
        case ALL_TO_ALL -> {
          double[] in = Program.values(s.dtype, s.seed, w.rank(), 2 * n * COLUMNS);
          Tensor from = tensor(s.dtype, in, "in");
          Tensor to = empty(s, 2 * n, name);
          if (s.async) {
            finish(s, g.allToAllAsync(to, from));
          } else {
            g.allToAll(to, from);
          }
        }
        case ALL_TO_ALL_RAGGED -> {
          List<Integer> sends = Program.sends(s, g.rank(), n);
          List<Integer> receives = Program.receives(s, g.rank(), n);
          double[] in = Program.values(s.dtype, s.seed, w.rank(), sum(sends) * COLUMNS);
          Tensor from = tensor(s.dtype, in, "in");
          g.allToAll(empty(s, sum(receives), name), from, receives, sends);
        }
        case MESSAGES -> messages(s, g, t, name);
        case NEGATE -> w.torch().launch("negate", tl -> tl.store(t, tl.load(t).mul(-1)), t);
        case BARRIER -> g.barrier();
      }
    }

    private void messages(Step s, ProcessGroup g, Tensor t, String name) {
      int[] to = Program.targets(s, g.size());
      int me = g.rank();
      if (to[me] == me) {
        return;
      }
      int from = IntStream.range(0, to.length).filter(i -> to[i] == me).findFirst().orElseThrow();
      Tensor got = empty(s, ROWS, name);
      P2POp send = P2POp.isend(t, g.globalRank(to[me]));
      P2POp receive = P2POp.irecv(got, g.globalRank(from));
      g.batchIsendIrecv(s.async ? List.of(receive, send) : List.of(send, receive))
          .forEach(Work::await);
    }

    /** Something else runs meanwhile. */
    private void finish(Step s, Work work) {
      if (s.async) {
        DType other = s.dtype == DType.F32 ? DType.I32 : DType.F32;
        Tensor t = x.get(other);
        w.torch().launch("nothing", tl -> tl.store(t, tl.load(t)), t);
      }
      work.await();
    }

    private void after(Step s, Tensor t, String name) {
      if (s.reduce == ReduceKind.AVG) {
        results.put(name + " avg " + s.dtype, t.toDoubles());
        t.copyInPlace(Program.values(s.dtype, s.seed + 5, w.rank(), ROWS * COLUMNS));
      } else {
        clamp(t);
      }
    }

    private void clamp(Tensor t) {
      w.torch()
          .launch(
              "clamp",
              tl -> {
                if (tl.shard(t).shape().elements() > 0) {
                  tl.store(t, tl.load(t).maximum(-1).minimum(1));
                }
              },
              t);
    }
  }

  @ParameterizedTest
  @CsvSource({"ring, 7, 12", "ring, 2, 6", "cubes, 6, 8"})
  void randomProgram_everyGroupAndDtype_equalsTheModel(String machine, int ranks, int programs) {
    for (int seed = 0; seed < programs; seed++) {
      check(machine, ranks, 40, seed);
    }
  }

  @Tag("slow")
  @ParameterizedTest
  @CsvSource({"ring, 11, 200", "cubes, 6, 200"})
  void randomProgram_many_equalTheModel(String machine, int ranks, int programs) {
    for (int seed = 1000; seed < 1000 + programs; seed++) {
      check(machine, ranks, 80, seed);
    }
  }

  private static void check(String machine, int ranks, int length, long seed) {
    Program program = Program.random(ranks, length, seed);
    Model model = new Model(program);
    boolean ring = machine.equals("ring");
    String[] small = {"defaults.slots=2", "defaults.slot_size=16 B"};
    for (Mode mode : List.of(Mode.VALUES, Mode.FULL)) {
      List<Map<String, double[]>> results = new ArrayList<>(Collections.nCopies(ranks, Map.of()));
      try (Torch torch = ring ? Rooms.ring(ranks, mode, small) : Rooms.cubes(3, 2, mode, small)) {
        DpPolicy policy = ring ? DpPolicy.single() : DpPolicy.columnWise();
        Rooms.spawn(
            torch,
            w -> {
              Body body = new Body(program, w, policy);
              body.run();
              results.set(w.rank(), body.results);
            });
      }
      compare(program, model, results, machine + ", seed " + seed + ", mode " + mode);
    }
  }

  private static void compare(
      Program program, Model model, List<Map<String, double[]>> results, String what) {
    for (int rank = 0; rank < program.ranks; rank++) {
      Map<String, double[]> expected = model.results.get(rank);
      Map<String, double[]> got = results.get(rank);
      assertThat(got.keySet())
          .as("%s: rank %d has the tensors", what, rank)
          .isEqualTo(expected.keySet());
      for (String name : expected.keySet()) {
        double[] e = expected.get(name);
        double[] g = got.get(name);
        String at = what + ", rank " + rank + ", " + name;
        if (name.contains("avg")) {
          double u = DType.parse(name.substring(name.lastIndexOf(' ') + 1)).unitRoundoff();
          for (int i = 0; i < e.length; i++) {
            assertThat(Math.abs(g[i] - e[i])).as(at).isLessThanOrEqualTo(2 * u * Math.abs(e[i]));
          }
        } else {
          for (int i = 0; i < e.length; i++) {
            e[i] += 0.0; // -0 is 0
            g[i] += 0.0;
          }
          assertThat(g).as(at + steps(program)).isEqualTo(e);
        }
      }
    }
  }

  private static String steps(Program program) {
    StringBuilder s = new StringBuilder();
    for (int i = 0; i < program.steps.size(); i++) {
      Step step = program.steps.get(i);
      s.append("\n  ").append(i).append(' ').append(program.groups.get(step.group)).append(step);
    }
    return s.toString();
  }
}
