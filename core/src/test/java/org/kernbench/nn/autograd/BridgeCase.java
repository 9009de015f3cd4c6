package org.kernbench.nn.autograd;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.bridge.BridgeOptions;
import org.kernbench.nn.bridge.BridgeOptions.Dims;
import org.kernbench.nn.bridge.BridgePlan;
import org.kernbench.nn.bridge.BridgePlan.Position;
import org.kernbench.nn.bridge.BridgePlan.SliceInfo;
import org.kernbench.nn.bridge.ColocatedBridgeCommunicator;
import org.kernbench.nn.bridge.SampleTokens;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;

/**
 * A pair of layouts with data, and what a bridge between them must do by definition: samples have
 * global numbers, replica {@code d} of {@code D} has those from {@code d G/D} on, whatever the
 * side. So the destination's replicas see their samples' values, and the source's get their
 * samples' gradients, with nothing said of groups, slots or slices.
 */
final class BridgeCase {
  /** How tensors lie. */
  enum Form {
    BATCH_FIRST,
    SEQUENCE_FIRST,
    /** A matrix of rows, as many for every sample. */
    ROWS,
    /** A matrix of rows, of each sample its own number, some of them none. */
    RAGGED
  }

  /** What each rank of the span gets and gives back, and how it fed the bridge. */
  record Outcome(double[][] x, double[][] y, double[][] dy, double[][] dx) {}

  private final RankGrid src;
  private final RankGrid dest;
  private final Form form;
  private final int perReplica;
  private final int tokens;
  private final int hidden;
  private final BridgePlan plan;
  private final int samples;
  private final double[][] values; // of each sample, [tokens, hidden]
  private final double[][] grads;

  BridgeCase(
      RankGrid src, RankGrid dest, Form form, int perReplica, int tokens, int hidden, long seed) {
    this.src = src;
    this.dest = dest;
    this.form = form;
    this.perReplica = perReplica;
    this.tokens = tokens;
    this.hidden = hidden;
    this.plan = new BridgePlan(src, dest, options());
    this.samples = perReplica * Math.max(src.size("dp"), dest.size("dp"));
    Random random = new Random(seed);
    this.values = new double[samples][];
    this.grads = new double[samples][];
    for (int g = 0; g < samples; g++) {
      values[g] = random.doubles((long) length(g) * hidden, -1, 1).toArray();
      grads[g] = random.doubles((long) length(g) * hidden, -1, 1).toArray();
    }
  }

  /** A legal pair of up to 24 ranks; if asked for, with context parallelism in the source. */
  static BridgeCase random(Random random, boolean sourceContext) {
    while (true) {
      int n = 1 + random.nextInt(24);
      int srcDp = divisor(random, n);
      int destDp = divisor(random, n);
      if (srcDp % destDp != 0 && destDp % srcDp != 0) {
        continue;
      }
      int srcCp = sourceContext ? divisor(random, n / srcDp) : 1;
      int destCp = divisor(random, n / destDp);
      int offset = random.nextInt(3);
      RankGrid src = grid(random, n / srcDp / srcCp, srcCp, srcDp, offset);
      RankGrid dest = grid(random, n / destDp / destCp, destCp, destDp, offset);
      Form form = Form.values()[random.nextInt(srcCp > 1 ? 3 : 4)];
      int tokens = 2 * srcCp * destCp;
      while (tokens > 48) {
        tokens /= 2;
      }
      if (tokens % (2 * srcCp) != 0) {
        continue;
      }
      return new BridgeCase(
          src, dest, form, 1 + random.nextInt(2), tokens, 1 + random.nextInt(3), random.nextLong());
    }
  }

  private static int divisor(Random random, int n) {
    int[] divisors = IntStream.rangeClosed(1, n).filter(d -> n % d == 0).toArray();
    return divisors[random.nextInt(divisors.length)];
  }

  /** With cp before or after tp: what is laid out first makes other groups. */
  private static RankGrid grid(Random random, int tp, int cp, int dp, int offset) {
    return random.nextBoolean()
        ? RankGrid.of(List.of(tp, cp, 1, dp), List.of("tp", "cp", "pp", "dp"), offset)
        : RankGrid.of(List.of(cp, tp, dp), List.of("cp", "tp", "dp"), offset);
  }

  private BridgeOptions options() {
    BridgeOptions options =
        BridgeOptions.DEFAULT.withDims(
            form == Form.SEQUENCE_FIRST ? Dims.SEQUENCE_FIRST : Dims.BATCH_FIRST);
    return src.size("cp") > 1 ? options.withSourceContextParallel() : options;
  }

  BridgePlan plan() {
    return plan;
  }

  Form form() {
    return form;
  }

  private int length(int sample) {
    return form == Form.RAGGED ? sample * 5 % Math.min(4, tokens + 1) : tokens;
  }

  // ---- data by definition ----

  /** The samples of a replica, all their positions, as the form has it. */
  private double[] whole(double[][] of, int replica, int replicas) {
    return laid(of, replica, replicas, IntStream.range(0, tokens).toArray());
  }

  private double[] laid(double[][] of, int replica, int replicas, int[] positions) {
    int each = samples / replicas;
    List<Double> out = new ArrayList<>();
    if (form == Form.SEQUENCE_FIRST) {
      for (int s : positions) {
        for (int g = replica * each; g < (replica + 1) * each; g++) {
          addRow(out, of[g], s);
        }
      }
    } else {
      for (int g = replica * each; g < (replica + 1) * each; g++) {
        for (int s : positions) {
          if (s < length(g)) {
            addRow(out, of[g], s);
          }
        }
      }
    }
    return out.stream().mapToDouble(Double::doubleValue).toArray();
  }

  private void addRow(List<Double> out, double[] sample, int position) {
    for (int h = 0; h < hidden; h++) {
      out.add(sample[position * hidden + h]);
    }
  }

  private int[] sourcePositions(int cp) {
    return new SequencePart(tokens, src.size("cp"), cp).own();
  }

  /** What a rank of the source has. */
  private double[] sourcePart(double[][] of, int rank) {
    return laid(
        of,
        src.coordinate(rank, "dp"),
        src.size("dp"),
        sourcePositions(src.coordinate(rank, "cp")));
  }

  /** The gradient that comes from a rank of the destination: zero but at its own positions. */
  private double[] gradient(int rank) {
    int cp = dest.size("cp");
    int own = dest.coordinate(rank, "cp");
    double[][] masked = new double[samples][];
    for (int g = 0; g < samples; g++) {
      masked[g] = grads[g].clone();
      for (int i = 0; i < masked[g].length; i++) {
        masked[g][i] = i / hidden % cp == own ? masked[g][i] : 0;
      }
    }
    return whole(masked, dest.coordinate(rank, "dp"), dest.size("dp"));
  }

  private Shape shape(int replicas, int positions) {
    int each = samples / replicas;
    return switch (form) {
      case BATCH_FIRST -> Shape.of(each, positions, hidden);
      case SEQUENCE_FIRST -> Shape.of(positions, each, hidden);
      case ROWS -> Shape.of(each * positions, hidden);
      case RAGGED -> throw new IllegalStateException("rows differ");
    };
  }

  // ---- what it must be ----

  /** Values and gradients by definition, and the invariants I1 to I4 between ranks. */
  void check(Outcome o) {
    double left = 0;
    double right = 0;
    for (int i = 0; i < src.size(); i++) {
      int r = src.offset() + i;
      String what = "rank " + r + " of " + this;
      assertThat(o.y[i])
          .as("forward, %s", what) // I1 and I4: the same for all ranks of a replica, and exact
          .isEqualTo(whole(values, dest.coordinate(r, "dp"), dest.size("dp")));
      assertThat(plus0(o.dx[i]))
          .as("backward, %s", what) // I2 and I4
          .isEqualTo(plus0(sourcePart(grads, r)));
      left += inner(o.y[i], o.dy[i]);
      right += inner(o.x[i], o.dx[i]);
    }
    assertThat(left / dest.size("tp"))
        .as("adjoint, %s", this) // I3
        .isCloseTo(right / src.size("tp"), org.assertj.core.api.Assertions.within(1e-9));
  }

  /** Sums of zeros may have lost a sign. */
  private static double[] plus0(double[] x) {
    return Arrays.stream(x).map(v -> v + 0.0).toArray();
  }

  private static double inner(double[] a, double[] b) {
    double sum = 0;
    for (int i = 0; i < a.length; i++) {
      sum += a[i] * b[i];
    }
    return sum;
  }

  // ---- done by devices ----

  Outcome onDevices(BridgeFault fault) {
    int n = src.size();
    int world = src.offset() + n + src.offset() % 2;
    Outcome o = new Outcome(new double[n][], new double[n][], new double[n][], new double[n][]);
    Ranks.run(
        world,
        Mode.VALUES,
        w -> {
          ColocatedBridgeCommunicator bridge =
              ColocatedBridgeTest.bridge(w, src, dest, options(), fault);
          int r = w.rank();
          if (!src.contains(r)) {
            bridge.destroy();
            return;
          }
          int i = r - src.offset();
          o.x[i] = sourcePart(values, r);
          o.dy[i] = gradient(r);
          try (Graph graph = Graph.of(w.torch())) {
            Shape shape =
                form == Form.RAGGED
                    ? Shape.of(o.x[i].length / hidden, hidden)
                    : shape(src.size("dp"), tokens / src.size("cp"));
            Variable x = graph.input(graph.own(w.torch().from(o.x[i], shape, DType.F64, "x")));
            Variable y =
                switch (form) {
                  case BATCH_FIRST, SEQUENCE_FIRST -> bridge.communicate(graph, x);
                  case ROWS -> bridge.communicate(graph, x, SampleTokens.uniform(tokens));
                  case RAGGED -> bridge.communicate(graph, x, SampleTokens.of(lengths(r)));
                };
            if (form != Form.RAGGED) {
              assertThat(y.shape()).isEqualTo(shape(dest.size("dp"), tokens));
            }
            o.y[i] = y.value().toDoubles();
            graph.backward(y, graph.own(w.torch().from(o.dy[i], y.shape(), DType.F64, "dy")));
            o.dx[i] = x.grad().orElseThrow().toDoubles();
          }
          bridge.destroy();
        });
    return o;
  }

  /** Of the samples of the side with larger batches. */
  private List<Integer> lengths(int rank) {
    RankGrid coarse = src.size("dp") < dest.size("dp") ? src : dest;
    int each = samples / coarse.size("dp");
    int first = coarse.coordinate(rank, "dp") * each;
    return IntStream.range(first, first + each).mapToObj(this::length).toList();
  }

  // ---- done by hand, as the plan says ----

  /** Follows the plan's groups and slices with lists of samples instead of tensors. */
  Outcome onTheHost() {
    int n = src.size();
    Outcome o = new Outcome(new double[n][], new double[n][], new double[n][], new double[n][]);
    List<List<double[]>> at = new ArrayList<>(); // by rank, its samples
    for (int i = 0; i < n; i++) {
      int r = src.offset() + i;
      o.x[i] = sourcePart(values, r);
      o.dy[i] = gradient(r);
      int each = samples / src.size("dp");
      int first = plan.sourcePosition(r).dp() * each;
      at.add(Arrays.asList(values).subList(first, first + each));
    }
    for (int i = 0; i < n; i++) {
      o.y[i] = joined(moved(at, src.offset() + i, false));
    }
    List<List<double[]>> grad = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      grad.add(summed(src.offset() + i));
    }
    for (int i = 0; i < n; i++) {
      int cp = plan.sourcePosition(src.offset() + i).cp();
      o.dx[i] = joined(moved(grad, src.offset() + i, true), sourcePositions(cp));
    }
    return o;
  }

  private List<double[]> moved(List<List<double[]>> at, int rank, boolean back) {
    List<double[]> own = at.get(rank - src.offset());
    boolean gathers = plan.direction() == BridgePlan.Direction.FAN_IN ^ back;
    if (plan.direction() == BridgePlan.Direction.EQUAL) {
      return own;
    }
    if (gathers) {
      List<double[]> all = new ArrayList<>();
      plan.gatherGroup(rank).orElseThrow().forEach(r -> all.addAll(at.get(r - src.offset())));
      return all;
    }
    SliceInfo slice = plan.slice(rank, own.size());
    return own.subList(slice.start(), slice.start() + slice.size());
  }

  /** The gradient of a rank's samples after step C. */
  private List<double[]> summed(int rank) {
    List<Integer> group =
        plan.contextGroups().stream()
            .filter(g -> g.contains(rank))
            .findFirst()
            .orElse(List.of(rank));
    Position p = plan.destPosition(rank);
    int each = samples / dest.size("dp");
    List<double[]> sum = new ArrayList<>();
    for (int g = p.dp() * each; g < (p.dp() + 1) * each; g++) {
      double[] total = new double[grads[g].length];
      for (int member : group) {
        int own = plan.destPosition(member).cp();
        for (int i = 0; i < total.length; i++) {
          total[i] += i / hidden % dest.size("cp") == own ? grads[g][i] : 0;
        }
      }
      sum.add(total);
    }
    return sum;
  }

  private double[] joined(List<double[]> list) {
    return joined(list, IntStream.range(0, tokens).toArray());
  }

  private double[] joined(List<double[]> list, int[] positions) {
    List<Double> out = new ArrayList<>();
    for (int a = 0; a < (form == Form.SEQUENCE_FIRST ? positions.length : list.size()); a++) {
      for (int b = 0; b < (form == Form.SEQUENCE_FIRST ? list.size() : positions.length); b++) {
        double[] sample = list.get(form == Form.SEQUENCE_FIRST ? b : a);
        int position = positions[form == Form.SEQUENCE_FIRST ? a : b];
        if (position * hidden < sample.length) {
          addRow(out, sample, position);
        }
      }
    }
    return out.stream().mapToDouble(Double::doubleValue).toArray();
  }

  @Override
  public String toString() {
    return plan
        + ", "
        + form
        + ", "
        + perReplica
        + " samples a replica, "
        + tokens
        + " tokens, hidden "
        + hidden;
  }
}
