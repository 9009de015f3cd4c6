package org.kernbench.nn.bridge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.bridge.BridgeLanes.Lane;
import org.kernbench.nn.bridge.BridgeOptions.Dims;
import org.kernbench.nn.parallel.HyperCommGrid;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.parallel.LayoutException.Kind;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Worker;

/** Bridges between modules on ranks of their own. */
final class BridgeCommunicatorTest {
  private static final int TOKENS = 4;
  private static final int HIDDEN = 3;

  private static BridgeLanes lanes(String src, String dest) {
    return new BridgeLanes(RankGrid.parse(src), RankGrid.parse(dest), BridgeOptions.DEFAULT);
  }

  /** The example of docs/spec/megatron.md 15. */
  @Test
  void lanes_workedExample() {
    BridgeLanes lanes = lanes("tp=1,cp=1,pp=4,dp=2", "tp=1,cp=1,pp=4,dp=2,offset=8");
    assertThat(lanes.sourceLanes())
        .containsExactly(new Lane(3, List.of(3)), new Lane(7, List.of(7)));
    assertThat(lanes.destLanes())
        .containsExactly(new Lane(8, List.of(8)), new Lane(12, List.of(12)));
    BridgeLanes swapped = lanes("tp=1,cp=1,pp=4,dp=2,offset=8", "tp=1,cp=1,pp=4,dp=2");
    assertThat(swapped.destLanes())
        .containsExactly(new Lane(0, List.of(0)), new Lane(4, List.of(4)));
  }

  @Test
  void lanes_ofSeveralRanks_leadersAreLastAndFirst() {
    BridgeLanes lanes = lanes("tp=2,dp=2", "tp=2,cp=2,pp=2,dp=1,offset=4");
    assertThat(lanes.sourceLanes())
        .containsExactly(new Lane(1, List.of(0, 1)), new Lane(3, List.of(2, 3)));
    assertThat(lanes.destLanes()).containsExactly(new Lane(4, List.of(4, 5, 6, 7)));
    assertThat(lanes.peers(false, 0)).containsExactly(1, 3);
    assertThat(lanes.peers(true, 1)).containsExactly(4);
    assertThat(lanes)
        .hasToString("fan-in 2: encoder tp=2,dp=2 -> language tp=2,cp=2,pp=2,dp=1,offset=4");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "tp=2 | tp=2,dp=1,offset=2 | source encoder (tp=2) has no dimension dp",
        "tp=2,dp=1 | dp=2,offset=2 | destination language (dp=2,offset=2) has no dimension tp",
        "tp=2,dp=2 | tp=2,dp=2,offset=3 | source encoder has ranks 0 to 3, destination language"
            + " has 3 to 6; expected none in both",
        "tp=1,cp=2,dp=1 | tp=2,dp=1,offset=2 | has cp 2; expected 1: its leader must have",
        "tp=1,dp=3 | tp=1,dp=2,offset=3 | dp is 3 and 2; expected that one divides the other",
        "tp=1,dp=1 | tp=1,ep=2,dp=1,offset=1 | has ep 2; expected 1",
      })
  void lanes_brokenRule_isTold(String src, String dest, String message) {
    assertThatThrownBy(() -> lanes(src, dest))
        .isInstanceOfSatisfying(
            LayoutException.class, e -> assertThat(e.kind()).isEqualTo(Kind.ARGUMENT))
        .hasMessageContaining(message);
  }

  // ---- values and gradients by definition ----

  /** Samples by their global number: their rows, and the gradients of these. */
  private record Data(double[][] values, double[][] grads) {
    static Data of(int samples, Function<Integer, Integer> tokens) {
      Random random = new Random(samples);
      double[][] values = new double[samples][];
      double[][] grads = new double[samples][];
      for (int g = 0; g < samples; g++) {
        values[g] = random.doubles((long) tokens.apply(g) * HIDDEN, -1, 1).toArray();
        grads[g] = random.doubles((long) tokens.apply(g) * HIDDEN, -1, 1).toArray();
      }
      return new Data(values, grads);
    }
  }

  /** A replica's samples, {@code [b, s, h]} or {@code [s, b, h]}; other positions are zero. */
  private static double[] laid(
      double[][] of, int replica, int replicas, boolean first, int cp, int cpRank) {
    int each = of.length / replicas;
    List<Double> out = new ArrayList<>();
    int outer = first ? each : TOKENS;
    for (int i = 0; i < outer; i++) {
      for (int j = 0; j < (first ? TOKENS : each); j++) {
        double[] sample = of[replica * each + (first ? i : j)];
        int position = first ? j : i;
        for (int h = 0; h < HIDDEN && position * HIDDEN < sample.length; h++) {
          out.add(position % cp == cpRank ? sample[position * HIDDEN + h] : 0);
        }
      }
    }
    return out.stream().mapToDouble(Double::doubleValue).toArray();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "tp=2,dp=2 | tp=2,dp=2,offset=4",
        "tp=1,dp=4 | tp=2,dp=1,offset=4",
        "tp=2,dp=1 | tp=1,dp=3,offset=2",
        "tp=1,pp=2,dp=2 | tp=1,cp=2,pp=2,dp=1,offset=4",
        "tp=2,dp=1,offset=8 | tp=2,cp=2,dp=2",
        "tp=1,dp=6 | tp=1,cp=4,dp=2,offset=7",
      })
  void values_andGradients_followTheDefinition(String src, String dest) {
    for (boolean batchFirst : new boolean[] {true, false}) {
      follow(RankGrid.parse(src), RankGrid.parse(dest), batchFirst, null, g -> TOKENS);
    }
    follow(RankGrid.parse(src), RankGrid.parse(dest), true, "each", g -> g * 3 % (TOKENS + 1));
  }

  private static void follow(
      RankGrid src,
      RankGrid dest,
      boolean batchFirst,
      String ragged,
      Function<Integer, Integer> lengths) {
    int samples = 2 * Math.max(src.size("dp"), dest.size("dp"));
    Data data = Data.of(samples, lengths);
    BridgeOptions options =
        BridgeOptions.DEFAULT.withDims(batchFirst ? Dims.BATCH_FIRST : Dims.SEQUENCE_FIRST);
    int world = Math.max(src.offset() + src.size(), dest.offset() + dest.size());
    List<Integer> checked = new ArrayList<>();
    Ranks.run(
        world,
        Mode.VALUES,
        w -> {
          BridgeCommunicator bridge = bridge(w, src, dest, options);
          int r = w.rank();
          try (Graph graph = Graph.of(w.torch())) {
            if (BridgeLanes.laneOf(bridge.plan().sourceLanes(), r) >= 0) {
              int d = src.coordinate(r, "dp");
              SampleTokens tokens = tokens(ragged, src, dest, d, src, lengths, samples);
              double[] own = laid(data.values, d, src.size("dp"), batchFirst, 1, 0);
              Variable x =
                  graph.input(
                      graph.own(
                          w.torch()
                              .from(
                                  own,
                                  shape(own, samples / src.size("dp"), batchFirst, ragged),
                                  DType.F64,
                                  "x")));
              Variable y = graph.scale(x, 2); // a gradient has to go on
              bridge.sendForward(graph, y, tokens);
              graph.backward(y, bridge.recvBackward(graph, y, tokens));
              double[] twice =
                  IntStream.range(0, own.length)
                      .mapToDouble(
                          i -> 2 * laid(data.grads, d, src.size("dp"), batchFirst, 1, 0)[i])
                      .toArray();
              assertThat(x.grad().orElseThrow().toDoubles()).as("rank %d", r).isEqualTo(twice);
              checked.add(r);
            } else if (BridgeLanes.laneOf(bridge.plan().destLanes(), r) >= 0) {
              int d = dest.coordinate(r, "dp");
              SampleTokens tokens = tokens(ragged, src, dest, d, dest, lengths, samples);
              double[] own = laid(data.values, d, dest.size("dp"), batchFirst, 1, 0);
              Shape shape = shape(own, samples / dest.size("dp"), batchFirst, ragged);
              Variable x = bridge.recvForward(graph, shape, DType.F64, tokens);
              double[] doubled = java.util.Arrays.stream(own).map(v -> 2 * v).toArray();
              assertThat(x.value().toDoubles()).as("rank %d", r).isEqualTo(doubled);
              double[] grad =
                  laid(
                      data.grads,
                      d,
                      dest.size("dp"),
                      batchFirst,
                      dest.size("cp"),
                      dest.coordinate(r, "cp"));
              Variable y = graph.scale(x, 1);
              graph.backward(y, graph.own(w.torch().from(grad, shape, DType.F64, "dy")));
              bridge.sendBackward(graph, x, tokens);
              checked.add(r);
            }
          }
          bridge.destroy();
          bridge.destroy();
        });
    assertThat(checked).hasSize(src.size() / src.size("pp") + dest.size() / dest.size("pp"));
  }

  private static BridgeCommunicator bridge(
      Worker w, RankGrid src, RankGrid dest, BridgeOptions options) {
    HyperCommGrid from = new HyperCommGrid(w.distributed(), src);
    HyperCommGrid to = new HyperCommGrid(w.distributed(), dest);
    if (dest.size("cp") > 1) {
      to.create("cp");
    }
    return new BridgeCommunicator(from, to, options);
  }

  private static Shape shape(double[] own, int samples, boolean batchFirst, String ragged) {
    if (ragged != null) {
      return Shape.of(own.length / HIDDEN, HIDDEN);
    }
    return batchFirst ? Shape.of(samples, TOKENS, HIDDEN) : Shape.of(TOKENS, samples, HIDDEN);
  }

  /** Of the lane of the larger batches that a lane belongs to. */
  private static SampleTokens tokens(
      String ragged,
      RankGrid src,
      RankGrid dest,
      int replica,
      RankGrid own,
      Function<Integer, Integer> lengths,
      int samples) {
    if (ragged == null) {
      return null;
    }
    int coarse = Math.min(src.size("dp"), dest.size("dp"));
    int each = samples / coarse;
    int first = replica / (own.size("dp") / coarse) * each;
    return SampleTokens.of(IntStream.range(first, first + each).mapToObj(lengths::apply).toList());
  }

  // ---- mistakes ----

  @Test
  void calls_onTheWrongSide_areRefused() {
    Ranks.run(
        4,
        Mode.VALUES,
        w -> {
          BridgeCommunicator bridge =
              bridge(
                  w,
                  RankGrid.parse("tp=1,pp=2,dp=1"),
                  RankGrid.parse("tp=2,dp=1,offset=2"),
                  BridgeOptions.DEFAULT);
          try (Graph graph = Graph.of(w.torch())) {
            Variable x = graph.input(graph.own(w.torch().full(Shape.of(2, 1), DType.F64, 1, "x")));
            if (w.rank() != 1) {
              assertThatThrownBy(() -> bridge.sendForward(graph, x))
                  .isInstanceOf(LayoutException.class)
                  .hasMessageContaining("sendForward on rank " + w.rank())
                  .hasMessageContaining("the source's last stage, one of [[1]]");
              assertThatThrownBy(() -> bridge.recvBackward(graph, x))
                  .hasMessageContaining("recvBackward on rank");
            }
            if (w.rank() < 2) {
              assertThatThrownBy(() -> bridge.recvForward(graph, Shape.of(1, 1), DType.F64))
                  .hasMessageContaining("the destination's first stage, one of [[2, 3]]");
            } else {
              assertThatThrownBy(() -> bridge.sendBackward(graph, x))
                  .hasMessageContaining("has no gradient; run backward first");
            }
            bridge.destroy();
            if (w.rank() == 1) {
              assertThatThrownBy(() -> bridge.sendForward(graph, x))
                  .hasMessageContaining("destroyed; create another");
            }
          }
        });
  }

  @Test
  void samples_thatLanesCannotDivide_areRefusedOnBothSides() {
    Ranks.run(
        3,
        Mode.VALUES,
        w -> {
          BridgeCommunicator bridge =
              bridge(
                  w,
                  RankGrid.parse("tp=1,dp=1"),
                  RankGrid.parse("tp=1,dp=2,offset=1"),
                  BridgeOptions.DEFAULT);
          try (Graph graph = Graph.of(w.torch())) {
            if (w.rank() == 0) {
              Variable x =
                  graph.input(graph.own(w.torch().full(Shape.of(12, 1), DType.F64, 1, "x")));
              assertThatThrownBy(() -> bridge.sendForward(graph, x, SampleTokens.uniform(4)))
                  .hasMessageContaining("3 samples cannot be divided by 2 lanes");
              assertThatThrownBy(
                      () -> bridge.sendForward(graph, x, SampleTokens.of(List.of(4, 4, 4, 1))))
                  .hasMessageContaining("tokens per sample [4, 4, 4, 1] are 13 rows");
            } else {
              assertThatThrownBy(() ->
                      bridge.recvForward(
                          graph, Shape.of(3, 1), DType.F64, SampleTokens.of(List.of(1, 1, 2, 2))))
                  .hasMessageContaining(
                      "3 rows; expected " + (w.rank() == 1 ? 2 : 4) + ", by tokens per sample");
            }
          }
        });
  }
}
