package org.kernbench.nn.autograd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.autograd.BridgeCase.Form;
import org.kernbench.nn.bridge.BridgeOptions;
import org.kernbench.nn.bridge.BridgePlan;
import org.kernbench.nn.bridge.BridgePlan.SliceInfo;
import org.kernbench.nn.bridge.BridgePlanTest;
import org.kernbench.nn.bridge.ColocatedBridgeCommunicator;
import org.kernbench.nn.bridge.SampleTokens;
import org.kernbench.nn.parallel.HyperCommGrid;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.SpawnException;
import org.kernbench.torch.Worker;

/**
 * The bridge on devices: worked examples of docs/spec/megatron.md 5, and random pairs by
 * definition.
 */
final class ColocatedBridgeTest {
  /** What each rank gets, and what its input's gradient is. */
  private record Outcome(double[][] forward, double[][] backward) {}

  private static Outcome run(
      RankGrid src, RankGrid dest, BridgeFault fault, Shape shape, double[][] x, double[][] dy) {
    int n = src.size();
    double[][] forward = new double[n][];
    double[][] backward = new double[n][];
    Ranks.run(
        n,
        Mode.VALUES,
        w -> {
          int r = w.rank();
          ColocatedBridgeCommunicator bridge = bridge(w, src, dest, BridgeOptions.DEFAULT, fault);
          try (Graph graph = Graph.of(w.torch())) {
            Variable in = graph.input(graph.own(w.torch().from(x[r], shape, DType.F64, "x")));
            Variable y = bridge.communicate(graph, in);
            forward[r] = y.value().toDoubles();
            var grad = graph.own(w.torch().from(dy[r], y.shape(), DType.F64, "dy"));
            graph.backward(y, grad);
            backward[r] = in.grad().orElseThrow().toDoubles();
            assertThat(grad.toDoubles()).as("the gradient is not changed").isEqualTo(dy[r]);
            assertThat(in.value().toDoubles()).as("the input is not changed").isEqualTo(x[r]);
          }
        });
    return new Outcome(forward, backward);
  }

  static ColocatedBridgeCommunicator bridge(
      Worker w, RankGrid src, RankGrid dest, BridgeOptions options, BridgeFault fault) {
    HyperCommGrid from = new HyperCommGrid(w.distributed(), src);
    HyperCommGrid to = new HyperCommGrid(w.distributed(), dest);
    if (src.size("cp") > 1) {
      from.create("cp");
    }
    if (dest.size("cp") > 1) {
      to.create("cp");
    }
    return ColocatedBridgeCommunicator.create(from, to, options, fault);
  }

  private static double[][] rows(double[]... rows) {
    return rows;
  }

  private static double[] of(double... values) {
    return values;
  }

  // ---- 5.3 to 5.5 ----

  @Test
  void fanIn_workedExample() {
    Outcome o =
        run(
            BridgePlanTest.grid("T1D4", 0),
            BridgePlanTest.grid("T2D2", 0),
            BridgeFault.NONE,
            Shape.of(1, 1),
            rows(of(1), of(2), of(3), of(4)),
            rows(of(5, 6), of(5, 6), of(7, 8), of(7, 8)));
    assertThat(o.forward).isEqualTo(rows(of(1, 2), of(1, 2), of(3, 4), of(3, 4)));
    assertThat(o.backward).isEqualTo(rows(of(5), of(6), of(7), of(8)));
  }

  /** P13 with two samples of four positions; context ranks have positions 0, 3 and 1, 2. */
  private static Outcome fanOutWithContext(BridgeFault fault) {
    double[] x = {0, 1, 2, 3, 10, 11, 12, 13};
    return run(
        BridgePlanTest.grid("T4D1", 0),
        BridgePlanTest.grid("T1C2D2", 0),
        fault,
        Shape.of(2, 4, 1),
        rows(x, x, x, x),
        rows(of(0, 0, 0, 3), of(0, 11, 12, 0), of(100, 0, 0, 103), of(0, 111, 112, 0)));
  }

  @Test
  void fanOutWithContext_workedExample() {
    Outcome o = fanOutWithContext(BridgeFault.NONE);
    assertThat(o.forward)
        .isEqualTo(rows(of(0, 1, 2, 3), of(0, 1, 2, 3), of(10, 11, 12, 13), of(10, 11, 12, 13)));
    double[] all = {0, 11, 12, 3, 100, 111, 112, 103};
    assertThat(o.backward).isEqualTo(rows(all, all, all, all));
  }

  /** The wrong results of {@code docs/spec/megatron.md} 5, so that they would be known. */
  @Test
  void fanOutWithContext_wrongWays_giveWhatTheyAreKnownFor() {
    assertThat(fanOutWithContext(BridgeFault.SKIP_CP_SUM).backward)
        .isEqualTo(
            rows(
                of(0, 0, 0, 3, 100, 0, 0, 103),
                of(0, 11, 12, 0, 0, 111, 112, 0),
                of(0, 0, 0, 3, 100, 0, 0, 103),
                of(0, 11, 12, 0, 0, 111, 112, 0)));
    assertThat(fanOutWithContext(BridgeFault.SUM_OVER_DP_CP).backward[0])
        .containsExactly(100, 122, 124, 106, 100, 122, 124, 106);
    assertThat(fanOutWithContext(BridgeFault.ZERO_PAD).backward)
        .isEqualTo(
            rows(
                of(0, 11, 12, 3, 0, 0, 0, 0),
                of(0, 11, 12, 3, 0, 0, 0, 0),
                of(0, 0, 0, 0, 100, 111, 112, 103),
                of(0, 0, 0, 0, 100, 111, 112, 103)));
    assertThat(fanOutWithContext(BridgeFault.SWAP_SLOTS).forward[0])
        .containsExactly(10, 11, 12, 13);
    assertThatThrownBy(() -> fanOutWithContext(BridgeFault.CANONICAL_SLICES))
        .isInstanceOf(SpawnException.class);
  }

  @Test
  void equalWithContext_workedExample() {
    double[] zeros = new double[4];
    double[] even = {7, 0, 0, 9};
    double[] odd = {0, 5, 6, 0};
    Outcome o =
        run(
            BridgePlanTest.grid("T4D2", 0),
            BridgePlanTest.grid("T2C2D2", 0),
            BridgeFault.NONE,
            Shape.of(1, 4, 1),
            rows(zeros, zeros, zeros, zeros, zeros, zeros, zeros, zeros),
            rows(even, even, odd, odd, zeros, zeros, zeros, zeros));
    for (int r = 0; r < 4; r++) {
      assertThat(o.backward[r]).containsExactly(7, 5, 6, 9);
    }
    assertThat(o.backward[7]).containsOnly(0);
  }

  // ---- by definition ----

  /** Random legal pairs; the whole number of them runs with slow tests. */
  @Test
  void randomPairs_onDevices_followTheDefinition() {
    devices(1, 24);
  }

  @Test
  @Tag("slow")
  void manyRandomPairs_onDevices_followTheDefinition() {
    devices(2, 240);
  }

  private static void devices(long seed, int cases) {
    Random random = new Random(seed);
    List<String> seen = new ArrayList<>();
    for (int i = 0; i < cases; i++) {
      BridgeCase c = BridgeCase.random(random, i % 4 == 3);
      seen.add(c.plan().direction() + " " + c.form());
      c.check(c.onDevices(BridgeFault.NONE));
    }
    assertThat(seen).as("directions and forms").contains("fan-in ROWS", "fan-out BATCH_FIRST");
  }

  @Test
  void randomPairs_asThePlanSays_followTheDefinition() {
    Random random = new Random(3);
    int larger = 0;
    for (int i = 0; i < 250; i++) {
      BridgeCase c = BridgeCase.random(random, i % 4 == 3);
      c.check(c.onTheHost());
      larger += Integer.bitCount(c.plan().source().size()) > 1 ? 1 : 0; // no power of two
    }
    assertThat(larger).as("of sizes that are no powers of two").isGreaterThan(125);
  }

  /** Each mistake is found by the definition, or refused on the way, on pairs where it matters. */
  @ParameterizedTest
  @EnumSource(value = BridgeFault.class, names = "NONE", mode = EnumSource.Mode.EXCLUDE)
  void fault_isFound(BridgeFault fault) {
    for (String pair : List.of("T8D1 T2C2D2", "T6D1 T1C2D3")) {
      RankGrid src = BridgePlanTest.grid(pair.split(" ")[0], 0);
      RankGrid dest = BridgePlanTest.grid(pair.split(" ")[1], 0);
      BridgeCase c = new BridgeCase(src, dest, Form.BATCH_FIRST, 2, 4, 3, 7);
      c.check(c.onDevices(BridgeFault.NONE));
      assertThatThrownBy(() -> c.check(c.onDevices(fault)))
          .as("%s on %s", fault, pair)
          .satisfiesAnyOf(
              e -> assertThat(e).isInstanceOf(AssertionError.class),
              e -> assertThat(e).isInstanceOf(SpawnException.class));
    }
  }

  /** Samples along the last axis: every move turns the tensor. */
  @Test
  void samplesLast_areCutAndGatheredThere() {
    double[] x = {0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23}; // [s, h, b] of 3, 1 and 4
    double[][] left = new double[2][];
    double[][] grads = new double[2][];
    Ranks.run(
        2,
        Mode.VALUES,
        w -> {
          ColocatedBridgeCommunicator bridge =
              bridge(
                  w,
                  RankGrid.parse("tp=2,dp=1"),
                  RankGrid.parse("tp=1,dp=2"),
                  BridgeOptions.DEFAULT.withDims(new BridgeOptions.Dims(2, 0, 1)),
                  BridgeFault.NONE);
          try (Graph graph = Graph.of(w.torch())) {
            Variable in =
                graph.input(graph.own(w.torch().from(x, Shape.of(3, 1, 4), DType.F64, "x")));
            Variable y = bridge.communicate(graph, in);
            left[w.rank()] = y.value().toDoubles();
            graph.backward(graph.scale(y, 2), y.value());
            grads[w.rank()] = in.grad().orElseThrow().toDoubles();
          }
        });
    assertThat(left).isEqualTo(rows(of(0, 1, 10, 11, 20, 21), of(2, 3, 12, 13, 22, 23)));
    double[] twice = Arrays.stream(x).map(v -> 2 * v).toArray();
    assertThat(grads).isEqualTo(rows(twice, twice));
  }

  // ---- tokens per sample ----

  private static void onRanks(
      String src,
      String dest,
      java.util.function.BiConsumer<Worker, ColocatedBridgeCommunicator> body) {
    RankGrid from = RankGrid.parse(src);
    Ranks.run(
        from.offset() + from.size(),
        Mode.VALUES,
        w ->
            body.accept(
                w, bridge(w, from, RankGrid.parse(dest), BridgeOptions.DEFAULT, BridgeFault.NONE)));
  }

  private static Variable ones(Worker w, Graph graph, int... dims) {
    return graph.input(graph.own(w.torch().full(Shape.of(dims), DType.F64, 1, "x")));
  }

  @Test
  void rows_cutWithinASample_areRefusedOnlyIfTheTokensAreKnown() {
    onRanks(
        "tp=2,dp=1",
        "tp=1,dp=2",
        (w, bridge) -> {
          try (Graph graph = Graph.of(w.torch())) {
            // three samples of four tokens: twelve rows divide by 2, three samples do not
            assertThat(bridge.communicate(graph, ones(w, graph, 12, 1)).shape())
                .isEqualTo(Shape.of(6, 1));
            assertThatThrownBy(
                    () -> bridge.communicate(graph, ones(w, graph, 12, 1), SampleTokens.uniform(4)))
                .hasMessageContaining("fan-out with scale 2: a batch of 3 cannot be divided");
            assertThatThrownBy(
                    () -> bridge.communicate(graph, ones(w, graph, 13, 1), SampleTokens.uniform(4)))
                .hasMessageContaining("13 rows are no whole samples of 4 tokens");
            assertThatThrownBy(() ->
                    bridge.communicate(
                        graph, ones(w, graph, 12, 1), SampleTokens.of(List.of(4, 4, 3, 2))))
                .hasMessageContaining("12 rows; expected 13, by tokens per sample [4, 4, 3, 2]");
            assertThatThrownBy(() ->
                    bridge.communicate(
                        graph, ones(w, graph, 12, 1), SampleTokens.of(List.of(4, 4, 4))))
                .hasMessageContaining("a batch of 3 cannot be divided");
          }
        });
  }

  @Test
  void communicate_wrongInput_isRefusedBeforeAnythingMoves() {
    onRanks(
        "tp=2,dp=1",
        "tp=1,dp=2",
        (w, bridge) -> {
          try (Graph graph = Graph.of(w.torch())) {
            assertThatThrownBy(() -> bridge.communicate(graph, ones(w, graph, 3, 2, 1)))
                .isInstanceOf(LayoutException.class)
                .hasMessageContaining("fan-out with scale 2: a batch of 3");
            assertThatThrownBy(() -> bridge.communicate(graph, ones(w, graph, 4)))
                .hasMessageContaining("expected three axes, or a matrix [rows, h]");
            assertThatThrownBy(() ->
                    bridge.communicate(graph, ones(w, graph, 4, 2, 1), SampleTokens.uniform(2)))
                .hasMessageContaining("to go without tokens per sample");
          }
          assertThat(bridge.slice(4)).isEqualTo(new SliceInfo(2 * w.rank(), 2));
        });
    Ranks.run(
        2,
        Mode.VALUES,
        w -> {
          ColocatedBridgeCommunicator bridge =
              bridge(
                  w,
                  RankGrid.parse("tp=2,dp=1"),
                  RankGrid.parse("tp=1,dp=2"),
                  BridgeOptions.DEFAULT.withDims(BridgeOptions.Dims.SEQUENCE_FIRST),
                  BridgeFault.NONE);
          try (Graph graph = Graph.of(w.torch())) {
            assertThatThrownBy(() -> bridge.communicate(graph, ones(w, graph, 4, 1)))
                .hasMessageContaining("with samples along axis 1: expected axis 0");
          }
        });
    assertThatThrownBy(() -> SampleTokens.uniform(0)).hasMessageContaining("got 0");
    assertThatThrownBy(() -> SampleTokens.of(List.of(1, -1)))
        .hasMessageContaining("tokens of sample 1: got -1");
  }

  @Test
  void fanIn_shapesDiffer_isNamed() {
    assertThatThrownBy(() ->
            onRanks(
                "tp=1,dp=2",
                "tp=2,dp=1",
                (w, bridge) -> {
                  try (Graph graph = Graph.of(w.torch())) {
                    bridge.communicate(graph, ones(w, graph, 2 + w.rank(), 2, 1));
                  }
                }))
        .hasMessageContaining("ranks disagree")
        .hasMessageContaining("f64[2, 2, 1]")
        .hasMessageContaining("f64[3, 2, 1]");
  }

  // ---- life ----

  @Test
  void create_withoutContextGroups_isRefused() {
    Ranks.run(
        8,
        Mode.VALUES,
        w -> {
          HyperCommGrid src = new HyperCommGrid(w.distributed(), BridgePlanTest.grid("T8D1", 0));
          HyperCommGrid dest = new HyperCommGrid(w.distributed(), BridgePlanTest.grid("T2C2D2", 0));
          assertThatThrownBy(
                  () -> ColocatedBridgeCommunicator.create(src, dest, BridgeOptions.DEFAULT))
              .isInstanceOfSatisfying(
                  LayoutException.class,
                  e -> assertThat(e.kind()).isEqualTo(LayoutException.Kind.KEY))
              .hasMessageContaining("no groups cp; create them first");
        });
  }

  @Test
  void destroy_twice_isOnce_andRanksOutsideTakePart() {
    List<Integer> refused = new ArrayList<>();
    Ranks.run(
        6,
        Mode.VALUES,
        w -> {
          ColocatedBridgeCommunicator bridge =
              bridge(
                  w,
                  RankGrid.parse("tp=1,dp=4,offset=1"),
                  RankGrid.parse("tp=2,dp=2,offset=1"),
                  BridgeOptions.DEFAULT,
                  BridgeFault.NONE);
          try (Graph graph = Graph.of(w.torch())) {
            if (w.rank() == 0 || w.rank() == 5) {
              assertThatThrownBy(() -> bridge.communicate(graph, ones(w, graph, 1, 1)))
                  .hasMessageContaining("rank " + w.rank() + " is not one of its ranks, 1 to 4");
              refused.add(w.rank());
            } else {
              assertThat(bridge.communicate(graph, ones(w, graph, 1, 1)).shape())
                  .isEqualTo(Shape.of(2, 1));
            }
            bridge.destroy();
            bridge.destroy();
            assertThatThrownBy(() -> bridge.communicate(graph, ones(w, graph, 1, 1)))
                .hasMessageContaining("destroyed; create another");
          }
        });
    assertThat(refused).containsExactly(0, 5);
  }

  @Test
  void equalWithoutContext_costsNothing() {
    int launches =
        Ranks.run(
                4,
                Mode.VALUES,
                w -> {
                  ColocatedBridgeCommunicator bridge =
                      bridge(
                          w,
                          RankGrid.parse("tp=2,dp=2"),
                          RankGrid.parse("tp=2,cp=1,dp=2"),
                          BridgeOptions.DEFAULT,
                          BridgeFault.NONE);
                  try (Graph graph = Graph.of(w.torch())) {
                    Variable x = ones(w, graph, 3, 2);
                    assertThat(bridge.communicate(graph, x)).isSameAs(x);
                  }
                })
            .size();
    assertThat(launches).isZero();
    assertThat(Arrays.toString(BridgePlan.Direction.values()))
        .isEqualTo("[fan-in, fan-out, equal]");
  }
}
