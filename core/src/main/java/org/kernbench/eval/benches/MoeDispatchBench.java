package org.kernbench.eval.benches;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.QueuePlan;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.DeviceChoice;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.machine.Pe;
import org.kernbench.nn.experts.DispatchPlan;
import org.kernbench.nn.experts.ExpertsConfig;
import org.kernbench.nn.experts.Routing;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;

/**
 * {@code moe-dispatch}: tokens on the PEs of a cube go to the PE of their expert, through its two
 * layers, and back, as in a mixture of experts with one expert per PE and token. Which rows go
 * where, and in which order, is what layers of experts go by ({@link DispatchPlan}); how they go is
 * one kernel here, where layers call collectives. The routing is unequal; with {@code skew=all} all
 * tokens go to one expert and the others idle.
 */
final class MoeDispatchBench implements Bench {
  private static final long SEED = 7;

  private static final Param<Integer> TOKENS =
      Param.integer("tokens", 12, 1, 1024, "tokens of each PE");
  private static final Param<Integer> HIDDEN = Param.integer("hidden", 64, 1, 4096, "model width");
  private static final Param<Integer> INNER =
      Param.integer("inner", 96, 1, 1 << 14, "width of an expert");
  private static final Param<Skew> SKEW =
      Param.choice(
          "skew",
          Skew.HALF,
          Skew.class,
          "tokens that go to expert 0 besides its share: none, half of them, all");

  private enum Skew {
    EVEN,
    HALF,
    ALL
  }

  @Override
  public String name() {
    return "moe-dispatch";
  }

  @Override
  public String description() {
    return "mixture of experts: tokens to the PE of their expert and back";
  }

  @Override
  public List<Param<?>> params() {
    return List.of(TOKENS, HIDDEN, INNER, SKEW, KernelBed.DTYPE, DeviceChoice.PARAM);
  }

  @Override
  public Outcome run(BenchContext context) {
    try (KernelBed bed = KernelBed.open(context)) {
      int t = context.param(TOKENS);
      int h = context.param(HIDDEN);
      int f = context.param(INNER);
      DType d = KernelBed.dtype(context);
      long ofExpert = 2L * h * f * d.sizeBytes();
      long tcm = context.machine().pe().tcm().sizeBytes();
      if (context.mode() != Mode.VALUES && ofExpert > tcm) {
        throw bed.tooLarge(
            "both layers of an expert are %s B, of pe.tcm.size=%s B".formatted(ofExpert, tcm));
      }
      List<Pe> pes = bed.places(KernelBed.Over.CUBE);
      int p = pes.size();
      int[][] expert = routing(p, t, context.param(SKEW));
      DispatchPlan[] plans = plans(expert);
      HostValues[] x = new HostValues[p];
      HostValues[] first = new HostValues[p];
      HostValues[] second = new HostValues[p];
      Tensor[] xs = new Tensor[p];
      Tensor[] ys = new Tensor[p];
      Tensor[] firsts = new Tensor[p];
      Tensor[] seconds = new Tensor[p];
      List<QueuePlan.Connection> pairs = new ArrayList<>();
      for (int r = 0; r < p; r++) {
        x[r] = bed.random(r, t * h, d);
        first[r] = divided(bed.random(100 + r, h * f, d), Math.sqrt(h), d);
        second[r] = divided(bed.random(200 + r, f * h, d), Math.sqrt(f), d);
        xs[r] = bed.tensor(pes.get(r), "x" + r, d, x[r], t, h);
        ys[r] = bed.empty(pes.get(r), "y" + r, d, t, h);
        firsts[r] = bed.tensor(pes.get(r), "w1_" + r, d, first[r], h, f);
        seconds[r] = bed.tensor(pes.get(r), "w2_" + r, d, second[r], f, h);
        for (int other = r + 1; other < p; other++) {
          pairs.add(new QueuePlan.Connection(pes.get(r), "to" + other, pes.get(other), "to" + r));
        }
      }
      Launch launch =
          bed.run(
              "moe-dispatch",
              tl -> {
                int r = pes.indexOf(tl.pe());
                new Rank(tl, r, plans[r], h, d)
                    .run(tl.shard(xs[r]), tl.shard(ys[r]), tl.load(firsts[r]), tl.load(seconds[r]));
              },
              bed.connect(pairs));
      int most = Arrays.stream(plans).mapToInt(plan -> plan.perExpert()[0]).max().orElseThrow();
      for (int r = 0; r < p; r++) {
        HostValues tokens = x[r];
        int[] of = expert[r];
        HostValues want = bed.values(() -> want(tokens.get(), of, first, second, h, f));
        bed.check(ys[r], want, bound(d, h, f));
      }
      double w = d.sizeBytes();
      double bytes = 2 * w * ((double) h * f + (double) t * h); // its expert, its rows and results
      return bed.outcome(launch, new KernelBed.Work(4.0 * most * h * f, bytes))
          .condition("tokens_of_busiest_expert", most);
    }
  }

  private static HostValues divided(HostValues values, double divisor, DType d) {
    return values.map(v -> {
      for (int i = 0; i < v.length; i++) {
        v[i] = d.round(v[i] / divisor);
      }
      return v;
    });
  }

  private static double bound(DType d, int h, int f) {
    double u = 2 * d.unitRoundoff() + (h + f + 4) * d.accumulator().unitRoundoff();
    return u * (Math.sqrt(f) * Math.sqrt(h) + 1);
  }

  private static double[] want(
      double[] x, int[] expert, HostValues[] first, HostValues[] second, int h, int f) {
    double[] want = new double[x.length];
    for (int i = 0; i < expert.length; i++) {
      double[] row = KernelBed.rows(x, h, i, i + 1);
      double[] inner = KernelBed.product(row, first[expert[i]].get(), 1, h, f);
      for (int j = 0; j < f; j++) {
        inner[j] = Math.max(inner[j], 0);
      }
      double[] y = KernelBed.product(inner, second[expert[i]].get(), 1, f, h);
      System.arraycopy(y, 0, want, i * h, h);
    }
    return want;
  }

  /** The expert of each token of each PE, drawn as layers of experts draw it. */
  private static int[][] routing(int p, int tokens, Skew skew) {
    Routing drawn = new Routing.Drawn(SEED, 0);
    ExpertsConfig each = ExpertsConfig.of(p, 1, 1).with(drawn);
    ExpertsConfig coin = ExpertsConfig.of(2, 1, 1).with(drawn);
    int[][] expert = new int[p][tokens];
    for (int pe = 0; pe < p; pe++) {
      for (int i = 0; i < tokens; i++) {
        boolean first =
            switch (skew) {
              case EVEN -> false;
              case HALF -> drawn.of(coin, 1, pe, i, tokens)[0] == 0;
              case ALL -> true;
            };
        expert[pe][i] = first ? 0 : drawn.of(each, 0, pe, i, tokens)[0];
      }
    }
    return expert;
  }

  /** How the tokens of each PE go, one expert on each. */
  private static DispatchPlan[] plans(int[][] expert) {
    int p = expert.length;
    DispatchPlan.Senders senders =
        (etpRank, epRank) ->
            Arrays.stream(expert[epRank]).mapToObj(e -> new int[] {e}).toArray(int[][]::new);
    DispatchPlan[] plans = new DispatchPlan[p];
    Arrays.setAll(plans, r -> DispatchPlan.of(p, new DispatchPlan.Place(1, 0, p, r), senders));
    return plans;
  }

  /** The program of one PE: sends its tokens, serves its expert, takes its results. */
  private record Rank(Tl tl, int rank, DispatchPlan plan, int hidden, DType dtype) {
    void run(Shard x, Shard y, Value first, Value second) {
      int ranks = plan.toPeers().size();
      for (int step = 1; step < ranks; step++) {
        int to = (rank + step) % ranks;
        if (plan.toPeers().get(to) > 0) {
          tl.send("to" + to, gather(x, to));
        }
      }
      if (plan.toPeers().get(rank) > 0) {
        scatter(y, rank, serve(gather(x, rank), first, second));
      }
      for (int step = 1; step < ranks; step++) {
        int from = Math.floorMod(rank - step, ranks);
        int tokens = plan.fromPeers().get(from);
        if (tokens > 0) {
          try (var turn = tl.scope()) {
            Value arrived = tl.recv("to" + from, Shape.of(tokens, hidden), dtype);
            tl.send("to" + from, serve(arrived, first, second));
          }
        }
      }
      for (int step = 1; step < ranks; step++) {
        int from = (rank + step) % ranks;
        int tokens = plan.toPeers().get(from);
        if (tokens > 0) {
          scatter(y, from, tl.recv("to" + from, Shape.of(tokens, hidden), dtype));
        }
      }
    }

    private Value serve(Value tokens, Value first, Value second) {
      return tl.dot(tl.dot(tokens, first, dtype).relu(), second, dtype);
    }

    /** The tokens of an expert, one after the other. */
    private Value gather(Shard x, int e) {
      List<Value> rows = new ArrayList<>();
      for (int row : rowsTo(e)) {
        rows.add(tl.load(x.block(row, 1, 0, hidden)));
      }
      return tl.concat(0, rows.getFirst(), rows.subList(1, rows.size()).toArray(Value[]::new));
    }

    private void scatter(Shard y, int e, Value results) {
      int next = 0;
      for (int row : rowsTo(e)) {
        tl.store(y.block(row, 1, 0, hidden), results.narrow(0, next++, 1));
      }
    }

    /** Rows of this PE that go to an expert. */
    private int[] rowsTo(int e) {
      int before = plan.toPeers().subList(0, e).stream().mapToInt(Integer::intValue).sum();
      return Arrays.copyOfRange(plan.sent(), before, before + plan.toPeers().get(e));
    }
  }
}
