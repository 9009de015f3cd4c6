package org.kernbench.nn.autograd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machines;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.parallel.Documents;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tensor.ShapeException;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;

/** Attention inside the documents of a packed sequence, against loops over each document. */
class DocumentsTest {
  private static final int SIZE = 2;

  private static int[] all(int n) {
    return IntStream.range(0, n).toArray();
  }

  private static DotProductAttention inside(Documents documents, int size) {
    return DotProductAttention.of(size).inside(documents);
  }

  private static double[][] operands(int n) {
    Random random = new Random(7);
    double[][] x = new double[3][];
    for (int i = 0; i < 3; i++) {
      x[i] = random.doubles((long) n * SIZE, -2, 2).toArray();
    }
    return x;
  }

  /** One head, document by document. */
  private static double[] plain(double[][] x, int... lengths) {
    double[] out = new double[x[0].length];
    int start = 0;
    for (int length : lengths) {
      for (int i = start; i < start + length; i++) {
        double sum = 0;
        for (int j = start; j <= i; j++) {
          double score = 0;
          for (int d = 0; d < SIZE; d++) {
            score += x[0][i * SIZE + d] * x[1][j * SIZE + d];
          }
          double e = Math.exp(score / Math.sqrt(SIZE));
          sum += e;
          for (int d = 0; d < SIZE; d++) {
            out[i * SIZE + d] += e * x[2][j * SIZE + d];
          }
        }
        for (int d = 0; d < SIZE; d++) {
          out[i * SIZE + d] /= sum;
        }
      }
      start += length;
    }
    return out;
  }

  /** Documents within a tile, over several, and ones that begin where a tile does. */
  @Test
  void attention_ofDocuments_equalsLoops() {
    for (int[] lengths :
        List.of(
            new int[] {300},
            new int[] {1, 299},
            new int[] {128, 128, 44},
            new int[] {100, 60, 1, 139},
            new int[] {5, 290, 5})) {
      double[][] x = operands(300);
      Shape shape = Shape.of(300, 1, SIZE);
      Documents documents = Documents.ofLengths(lengths);
      assertThat(
              GradCheck.run(
                  (g, v) ->
                      inside(documents, SIZE)
                          .apply(g, v.get(0), v.get(1), v.get(2), all(300), all(300)),
                  List.of(x),
                  shape,
                  shape,
                  shape))
          .as(Arrays.toString(lengths))
          .containsExactly(plain(x, lengths), within(1e-12));
    }
  }

  @Test
  void attention_ofDocuments_gradientsAreDifferences() {
    Documents documents = Documents.ofLengths(2, 1, 4);
    GradCheck.check(
        (g, x) -> inside(documents, 3).apply(g, x.get(0), x.get(1), x.get(2), all(7), all(7)),
        Shape.of(7, 2, 12),
        Shape.of(7, 2, 6),
        Shape.of(7, 2, 6));
  }

  /** Rows of some positions. */
  private static double[] rows(double[] of, int[] at) {
    double[] rows = new double[at.length * SIZE];
    for (int i = 0; i < at.length; i++) {
      System.arraycopy(of, at[i] * SIZE, rows, i * SIZE, SIZE);
    }
    return rows;
  }

  /** Result and gradients of all three operands. */
  private static double[][] withGradients(
      Graph g, List<Variable> x, Variable y, double[] grad, Shape shape) {
    g.backward(y, g.constant(grad, shape, DType.F64, "grad").value());
    return new double[][] {
      y.value().toDoubles(),
      x.get(0).grad().orElseThrow().toDoubles(),
      x.get(1).grad().orElseThrow().toDoubles(),
      x.get(2).grad().orElseThrow().toDoubles()
    };
  }

  private static List<Variable> inputs(Worker w, Graph g, double[][] x, int[] at, Shape shape) {
    return Arrays.stream(x)
        .map(values -> g.input(g.own(w.torch().from(rows(values, at), shape, DType.F64, "x"))))
        .toList();
  }

  /** A ring over parts of a sequence of documents gives what one rank does, backwards too. */
  @Test
  void ring_overDocuments_equalsOneRank() {
    int n = 24;
    Documents documents = Documents.ofLengths(5, 1, 12, 6);
    double[][] x = operands(n);
    double[] grad = new Random(8).doubles((long) n * SIZE, -1, 1).toArray();
    double[][][] one = new double[1][][];
    Ranks.run(
        1,
        Mode.VALUES,
        w -> {
          try (Graph g = Graph.of(w.torch())) {
            Shape shape = Shape.of(n, 1, SIZE);
            List<Variable> v = inputs(w, g, x, all(n), shape);
            Variable y =
                inside(documents, SIZE).apply(g, v.get(0), v.get(1), v.get(2), all(n), all(n));
            one[0] = withGradients(g, v, y, grad, shape);
          }
        });
    assertThat(one[0][0]).containsExactly(plain(x, 5, 1, 12, 6), within(1e-12));
    for (int ranks : List.of(2, 3)) {
      Ranks.run(
          ranks,
          Mode.VALUES,
          w -> {
            SequencePart part = new SequencePart(n, ranks, w.rank()).ofDocuments(documents);
            int[] at = part.own();
            try (Graph g = Graph.of(w.torch())) {
              Shape shape = Shape.of(at.length, 1, SIZE);
              List<Variable> v = inputs(w, g, x, at, shape);
              Variable y =
                  new RingAttention(g, w.distributed().world(), part)
                      .apply(v.get(0), v.get(1), v.get(2), SIZE, at);
              double[][] own = withGradients(g, v, y, rows(grad, at), shape);
              for (int i = 0; i < 4; i++) {
                assertThat(own[i])
                    .as("%d ranks, rank %d, %d", ranks, w.rank(), i)
                    .containsExactly(rows(one[0][i], at), within(1e-12));
              }
            }
          });
    }
  }

  /** What is counted, for bounds, and how long it takes. */
  private record Cost(double flops, long ps) {}

  private static Cost cost(int n, Documents documents) {
    TorchOptions options = TorchOptions.DEFAULT.withMode(Mode.TIME);
    try (Torch torch = Torch.open(Machines.load("tiny", List.of()), options);
        Graph g = Graph.of(torch)) {
      Shape shape = Shape.of(n, 1, 64);
      List<Variable> x =
          IntStream.range(0, 3)
              .mapToObj(i -> g.input(g.own(torch.empty(shape, DType.F16, "x" + i))))
              .toList();
      inside(documents, 64).apply(g, x.get(0), x.get(1), x.get(2), all(n), all(n));
      torch.synchronize();
      return new Cost(g.compute().work().get("attention").flops(), torch.simulator().nowPs());
    }
  }

  /** Pairs of one document are counted, 4 flops for each element of a head; others take no time. */
  @Test
  void pairsOfTwoDocuments_areNeitherCountedNorComputed() {
    int n = 1024;
    Cost whole = cost(n, Documents.ofLengths(n));
    Cost packed = cost(n, Documents.ofLengths(100, 28, 128, 256, 512));
    assertThat(whole.flops).isEqualTo(4.0 * 64 * n * (n + 1) / 2);
    assertThat(packed.flops)
        .isEqualTo(
            4.0
                * 64
                * (100 * 101 / 2 + 28 * 29 / 2 + 128 * 129 / 2 + 256 * 257 / 2 + 512 * 513 / 2));
    // tiles of 128: 1 + 1 + 3 + 10 of the 36 of one document
    assertThat(packed.ps).isLessThan(whole.ps * 2 / 3);
  }

  @Test
  void positionsWithinDocuments_beginAgain() {
    Documents documents = new Documents(List.of(0, 3, 7));
    assertThat(documents.within(new int[] {0, 2, 3, 6})).containsExactly(0, 2, 0, 3);
    assertThat(documents.starts(new int[] {0, 2, 3, 6})).containsExactly(0, 0, 3, 3);
    assertThatThrownBy(() -> documents.starts(new int[] {7}))
        .isInstanceOf(ShapeException.class)
        .hasMessage("position 7 of documents of 7 positions in all");
    assertThatThrownBy(() -> new Documents(List.of(0, 3, 3)))
        .isInstanceOf(ShapeException.class)
        .hasMessageStartingWith("documents [0, 3, 3]; expected where each begins");
  }
}
