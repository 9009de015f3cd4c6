package org.kernbench.nn.layers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.parallel.HyperCommGrid;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.torch.Worker;

/** The division of sequences over ranks: {@code docs/spec/megatron.md} 6. */
final class SequencePartitionTest {
  /** The table of 6.3. */
  @ParameterizedTest
  @CsvSource({
    "16,2,0,'0 1 2 3 12 13 14 15'",
    "16,2,1,'4 5 6 7 8 9 10 11'",
    "24,3,0,'0 1 2 3 20 21 22 23'",
    "24,3,1,'4 5 6 7 16 17 18 19'",
    "24,3,2,'8 9 10 11 12 13 14 15'",
    "16,4,0,'0 1 14 15'",
    "16,4,1,'2 3 12 13'",
    "16,4,2,'4 5 10 11'",
    "16,4,3,'6 7 8 9'",
    "5,1,0,'0 1 2 3 4'",
  })
  void part_positions_asInTheTable(int sequence, int cp, int rank, String positions) {
    int[] expected = Arrays.stream(positions.split(" ")).mapToInt(Integer::parseInt).toArray();
    assertThat(new SequencePart(sequence, cp, rank).own()).containsExactly(expected);
  }

  private final Map<Integer, double[]> values = new TreeMap<>();
  private final Map<Integer, double[]> grads = new TreeMap<>();
  private final Map<Integer, int[]> labels = new TreeMap<>();

  private void body(Worker w, String grid, boolean sp, int sequence, int batch) {
    HyperCommGrid groups = new HyperCommGrid(w.distributed(), RankGrid.parse(grid));
    SequencePartition partition = SequencePartition.of(ParallelLayout.of(groups, sp), sequence);
    double[] all = IntStream.range(0, sequence * batch).asDoubleStream().toArray();
    try (Graph graph = Graph.of(w.torch())) {
      Variable x =
          graph.input(graph.own(w.torch().from(all, Shape.of(sequence, batch, 1), DType.F64, "x")));
      Variable own = partition.embeddings(graph, x);
      values.put(w.rank(), own.value().toDoubles());
      graph.backward(own, own.value());
      grads.put(w.rank(), x.grad().orElseThrow().toDoubles());
    }
    labels.put(w.rank(), partition.tokens(IntStream.range(0, sequence).toArray()));
  }

  /** The example of 6.4: rows are cut over both, labels over context-parallel ranks only. */
  @Test
  void embeddings_overBoth_asInTheExample() {
    Ranks.run(8, Mode.VALUES, w -> body(w, "tp=4,cp=2,dp=1", true, 16, 1));
    double[][] expected = {{0, 1}, {2, 3}, {12, 13}, {14, 15}, {4, 5}, {6, 7}, {8, 9}, {10, 11}};
    for (int r = 0; r < 8; r++) {
      assertThat(values.get(r)).containsExactly(expected[r]);
      // backwards: gathered over tp, put to its places, zero at other ranks' positions
      double[] whole = new double[16];
      for (int t = r / 4 * 4; t < r / 4 * 4 + 4; t++) {
        for (double position : expected[t]) {
          whole[(int) position] = position;
        }
      }
      assertThat(grads.get(r)).containsExactly(whole);
      assertThat(labels.get(r)).hasSize(8).containsExactly(new SequencePart(16, 2, r / 4).own());
    }
  }

  /** Samples stay side by side. */
  @Test
  void embeddings_ofTwoSamples_keepTheirSamples() {
    Ranks.run(2, Mode.VALUES, w -> body(w, "tp=1,cp=2,dp=1", false, 4, 2));
    assertThat(values.get(0)).containsExactly(0, 1, 6, 7);
    assertThat(values.get(1)).containsExactly(2, 3, 4, 5);
  }

  @Test
  void nothingToDivide_givesTheSameObjects() {
    Ranks.run(
        1,
        Mode.VALUES,
        w -> {
          HyperCommGrid groups = new HyperCommGrid(w.distributed(), RankGrid.parse("tp=1,dp=1"));
          SequencePartition partition = SequencePartition.of(ParallelLayout.of(groups, true), 3);
          int[] ids = {1, 2, 3};
          double[] mask = {1, 0, 1};
          try (Graph graph = Graph.of(w.torch())) {
            Variable x = graph.constant(mask, Shape.of(3, 1, 1), DType.F64, "x");
            assertThat(partition.embeddings(graph, x)).isSameAs(x);
          }
          assertThat(partition.tokens(ids)).isSameAs(ids);
          assertThat(partition.mask(mask)).isSameAs(mask);
        });
  }

  /** The table of 6.2; both together are stricter than the mathematics need. */
  @ParameterizedTest
  @CsvSource({
    "'tp=2,cp=2,dp=1',true,4,8,'2 x cp x tp (cp 2, tp 2, sequence parallel)'",
    "'tp=2,cp=2,dp=1',false,6,4,'2 x cp (cp 2)'",
    "'tp=4,cp=1,dp=1',true,6,4,'tp (tp 4, sequence parallel)'",
  })
  void sequence_notDivisible_namesTheFactor(
      String grid, boolean sp, int sequence, int factor, String why) {
    assertThatThrownBy(() -> Ranks.run(4, Mode.VALUES, w -> body(w, grid, sp, sequence, 1)))
        .hasRootCauseInstanceOf(ShapeException.class)
        .rootCause()
        .hasMessage(
            "a sequence of %d cannot be divided: expected a multiple of %d, %s",
            sequence, factor, why);
  }
}
