package org.kernbench.nn.autograd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.Ranks.Devices;
import org.kernbench.nn.parallel.Documents;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;

/** Masks of dropout against loops with a generator of their own. */
class DropoutTest {
  private static final Dropout SOME = new Dropout(0.3, 0.4, 0.2, 77, 5);
  private static final String PLACE = "layers.3.mlp";

  private static double[] random(long seed, int n) {
    return new Random(seed).doubles(n, -2, 2).toArray();
  }

  private static int[] all(int n) {
    return IntStream.range(0, n).toArray();
  }

  /** Sequence, samples and width of a whole batch. */
  private static final int SEQUENCE = 8;

  private static final int SAMPLES = 6;
  private static final int WIDTH = 5;

  /** What a part of the rows has, position by position, then sample by sample. */
  private static double[] rows(double[] whole, int[] at, int firstSample, int batch) {
    double[] rows = new double[at.length * batch * WIDTH];
    for (int i = 0; i < rows.length; i++) {
      int row = i / WIDTH;
      int sample = firstSample + row % batch;
      rows[i] = whole[(at[row / batch] * SAMPLES + sample) * WIDTH + i % WIDTH];
    }
    return rows;
  }

  private static double[] masks(String place, double rate) {
    PlainMasks masks = new PlainMasks(rate, 77, 5, place);
    double[] of = new double[SEQUENCE * SAMPLES * WIDTH];
    for (int i = 0; i < of.length; i++) {
      int row = i / WIDTH;
      long number = (long) (row % SAMPLES) * SEQUENCE + row / SAMPLES;
      of[i] = masks.at(number * WIDTH + i % WIDTH);
    }
    return of;
  }

  /** Of a part of the batch: result, and gradient of what was masked, both as loops have them. */
  private static void checkRows(
      Devices devices, SequencePart part, int batch, int first, int rows) {
    double[] x = random(1, SEQUENCE * SAMPLES * WIDTH);
    double[] y = random(2, x.length);
    double[] grad = random(3, x.length);
    double[] mask = masks(PLACE, 0.3);
    int[] at = part.own();
    Ranks.run(
        devices,
        1,
        Mode.VALUES,
        w -> {
          try (Graph g = Graph.of(w.torch()).withDropout(SOME)) {
            Shape shape = Shape.of(rows, 1, WIDTH);
            List<Variable> in =
                List.of(x, y).stream()
                    .map(v ->
                        g.input(
                            g.own(
                                w.torch()
                                    .from(
                                        cut(v, part, at, batch, first, rows),
                                        shape,
                                        DType.F64,
                                        "x"))))
                    .toList();
            Variable sum =
                Dropping.add(g, in.get(0), in.get(1), PLACE, new Dropping.Rows(part, first, batch));
            double[] back = cut(grad, part, at, batch, first, rows);
            g.backward(sum, g.constant(back, shape, DType.F64, "g").value());
            double[] kept = cut(mask, part, at, batch, first, rows);
            double[] a = cut(x, part, at, batch, first, rows);
            double[] b = cut(y, part, at, batch, first, rows);
            double[] expected = new double[a.length];
            double[] expectedGrad = new double[a.length];
            for (int i = 0; i < a.length; i++) {
              expected[i] = a[i] + kept[i] * b[i];
              expectedGrad[i] = kept[i] * back[i];
            }
            assertThat(sum.value().toDoubles()).containsExactly(expected);
            assertThat(in.get(0).grad().orElseThrow().toDoubles()).containsExactly(back);
            assertThat(in.get(1).grad().orElseThrow().toDoubles())
                .containsExactly(expectedGrad, within(0.0));
          }
        });
  }

  private static double[] cut(
      double[] whole, SequencePart part, int[] at, int batch, int first, int rows) {
    double[] own = rows(whole, at, part.firstSample(), batch);
    return Arrays.copyOfRange(own, first * WIDTH, (first + rows) * WIDTH);
  }

  /** The whole batch, later samples, a part of the positions, and some rows of that. */
  @Test
  void add_anyPartOfTheBatch_hasTheMaskOfThoseElements() {
    SequencePart whole = new SequencePart(SEQUENCE, 1, 0);
    checkRows(Devices.ONE_PE, whole, SAMPLES, 0, SEQUENCE * SAMPLES);
    checkRows(Devices.ONE_PE, whole.ofSamples(4, 2), 2, 0, SEQUENCE * 2);
    SequencePart second = new SequencePart(SEQUENCE, 2, 1).ofSamples(3, 3);
    checkRows(Devices.ONE_PE, second, 3, 0, SEQUENCE / 2 * 3);
    checkRows(Devices.ONE_PE, second, 3, 6, 6);
    checkRows(Devices.PACKAGES, whole, SAMPLES, 0, SEQUENCE * SAMPLES);
    checkRows(Devices.UNEVEN_PACKAGES, second, 3, 6, 6);
  }

  /** Embeddings have a rate of their own; a graph that nobody asks drops nothing, to the bit. */
  @Test
  void embedding_hasItsOwnRate_andEvaluationNone() {
    double[] x = random(4, SEQUENCE * SAMPLES * WIDTH);
    Shape shape = Shape.of(SEQUENCE, SAMPLES, WIDTH);
    Dropping.Rows rows = new Dropping.Rows(new SequencePart(SEQUENCE, 1, 0), 0, SAMPLES);
    double[] mask = masks("embedding", 0.2);
    double[] expected = new double[x.length];
    Arrays.setAll(expected, i -> x[i] * mask[i]);
    assertThat(
            GradCheck.run(
                (g, v) -> Dropping.embedding(g.withDropout(SOME), v.get(0), "embedding", rows),
                List.of(x),
                shape))
        .containsExactly(expected, within(0.0));
    assertThat(
            GradCheck.run(
                (g, v) -> Dropping.embedding(g, v.get(0), "embedding", rows), List.of(x), shape))
        .containsExactly(x);
    double[] twice = Arrays.stream(x).map(v -> v + v).toArray();
    assertThat(
            GradCheck.run(
                (g, v) -> Dropping.add(g, v.get(0), v.get(0), PLACE, rows), List.of(x), shape))
        .containsExactly(twice);
  }

  // ---- attention ----

  private static final int SIZE = 3;

  /** Attention with masks, a pair at a time: heads of one rank among those of the model. */
  private static double[] plainAttention(
      double[][] x, int n, int batch, int heads, int firstHead, int allHeads, boolean causal) {
    PlainMasks masks = new PlainMasks(0.4, 77, 5, "a.scores");
    double[] out = new double[n * batch * heads * SIZE];
    for (int b = 0; b < batch; b++) {
      for (int h = 0; h < heads; h++) {
        for (int i = 0; i < n; i++) {
          int row = ((i * batch + b) * heads + h) * SIZE;
          double sum = 0;
          for (int j = 0; j <= (causal ? i : n - 1); j++) {
            int key = ((j * batch + b) * heads + h) * SIZE;
            double score = 0;
            for (int d = 0; d < SIZE; d++) {
              score += x[0][row + d] * x[1][key + d];
            }
            double e = Math.exp(score / Math.sqrt(SIZE));
            sum += e;
            long pair = (((b + 2L) * allHeads + firstHead + h) * n + i) * n + j;
            double kept = masks.at(pair);
            for (int d = 0; d < SIZE; d++) {
              out[row + d] += kept * e * x[2][key + d];
            }
          }
          for (int d = 0; d < SIZE; d++) {
            out[row + d] /= sum;
          }
        }
      }
    }
    return out;
  }

  private static DotProductAttention attention(int n, int batch, int heads, int firstHead) {
    SequencePart part = new SequencePart(n, 1, 0).ofSamples(2, batch);
    return DotProductAttention.of(SIZE)
        .dropping(
            new DotProductAttention.Queries("a.scores", part, batch, false, firstHead, heads, 7));
  }

  /** Within a tile and over several, with heads in the middle of the model's. */
  @Test
  void attention_equalsLoops() {
    checkAttention(9, 2, 2, true);
    checkAttention(9, 2, 2, false);
    checkAttention(150, 1, 2, true);
  }

  private static void checkAttention(int n, int batch, int heads, boolean causal) {
    int[] sees = causal ? all(n) : IntStream.generate(() -> n - 1).limit(n).toArray();
    int length = n * batch * heads * SIZE;
    double[][] x = {random(5, length), random(6, length), random(7, length)};
    Shape shape = Shape.of(n, batch, heads * SIZE);
    assertThat(
            GradCheck.run(
                (g, v) ->
                    attention(n, batch, heads, 3)
                        .apply(g.withDropout(SOME), v.get(0), v.get(1), v.get(2), sees, all(n)),
                List.of(x),
                shape,
                shape,
                shape))
        .containsExactly(plainAttention(x, n, batch, heads, 3, 7, causal), within(1e-12));
  }

  @Test
  void attention_gradientsAreDifferences() {
    GradCheck.check(
        (g, x) ->
            attention(7, 2, 4, 1)
                .apply(g.withDropout(SOME), x.get(0), x.get(1), x.get(2), all(7), all(7)),
        Shape.of(7, 2, 4 * SIZE),
        Shape.of(7, 2, 2 * SIZE), // two queries share a key
        Shape.of(7, 2, 2 * SIZE));
    Documents documents = Documents.ofLengths(2, 1, 4);
    GradCheck.check(
        (g, x) ->
            attention(7, 1, 1, 0)
                .inside(documents)
                .apply(g.withDropout(SOME), x.get(0), x.get(1), x.get(2), all(7), all(7)),
        Shape.of(7, 1, SIZE),
        Shape.of(7, 1, SIZE),
        Shape.of(7, 1, SIZE));
  }

  // ---- statistics ----

  private static boolean[] kept(Dropout dropout, String place, int samples, int first) {
    int n = 64 * samples * 64;
    boolean[] kept = new boolean[n];
    double[] ones = new double[n];
    Arrays.fill(ones, 1);
    Shape shape = Shape.of(64, samples, 64);
    SequencePart part = new SequencePart(64, 1, 0).ofSamples(first, samples);
    double[] y =
        GradCheck.run(
            (g, v) ->
                Dropping.add(
                    g.withDropout(dropout),
                    g.constant(new double[n], shape, DType.F64, "zero"),
                    v.get(0),
                    place,
                    new Dropping.Rows(part, 0, samples)),
            List.of(ones),
            shape);
    for (int i = 0; i < n; i++) {
      kept[i] = y[i] != 0;
    }
    return kept;
  }

  private static double share(boolean[] of) {
    return (double) IntStream.range(0, of.length).filter(i -> of[i]).count() / of.length;
  }

  private static double agreement(boolean[] a, boolean[] b) {
    return (double) IntStream.range(0, a.length).filter(i -> a[i] == b[i]).count() / a.length;
  }

  /** The share that is kept, and how often two masks agree, within five standard deviations. */
  @ParameterizedTest
  @ValueSource(doubles = {0.1, 0.5})
  void masks_areIndependentOfEachOther(double rate) {
    Dropout one = Dropout.of(rate, 1);
    boolean[] mask = kept(one, PLACE, 8, 0);
    int n = mask.length;
    assertThat(share(mask)).isCloseTo(1 - rate, within(5 * Math.sqrt(rate * (1 - rate) / n)));
    double alike = rate * rate + (1 - rate) * (1 - rate);
    double spread = 5 * Math.sqrt(alike * (1 - alike) / n);
    List<boolean[]> others =
        List.of(
            kept(one.atStep(1), PLACE, 8, 0),
            kept(Dropout.of(rate, 2), PLACE, 8, 0),
            kept(one, "layers.3.attention", 8, 0),
            kept(one, "layers.4.mlp", 8, 0),
            kept(one, PLACE, 8, 8));
    for (boolean[] other : others) {
      assertThat(agreement(mask, other)).isCloseTo(alike, within(spread));
    }
    assertThat(agreement(mask, kept(one, PLACE, 8, 0))).isEqualTo(1);
  }

  @Test
  void rate_outOfRange_isRefused() {
    assertThatThrownBy(() -> Dropout.of(1, 0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("dropout: hidden rate 1.0; expected 0 to below 1");
    assertThatThrownBy(() -> new Dropout(0, Double.NaN, 0, 0, 0))
        .hasMessage("dropout: attention rate NaN; expected 0 to below 1");
    assertThat(Optional.of(Dropout.NONE)).hasValueSatisfying(d -> assertThat(d.isOn()).isFalse());
  }
}
