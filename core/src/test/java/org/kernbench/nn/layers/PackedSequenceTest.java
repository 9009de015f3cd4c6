package org.kernbench.nn.layers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.layers.TransformerConfig.Style;
import org.kernbench.nn.parallel.Documents;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.ParallelLayout.ContextExchange;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.ShapeException;
import org.kernbench.torch.Worker;

/** A model on a packed sequence gives what it gives for each document by itself. */
final class PackedSequenceTest {
  private static final int[] LENGTHS = {5, 1, 12, 6};
  private static final int N = 24;
  private static final int VOCABULARY = 12;
  private static final int[] IDS = new Random(5).ints(N, 0, VOCABULARY).toArray();
  private static final double[] WEIGHTS =
      new Random(6).doubles((long) N * VOCABULARY, -1, 1).toArray();

  private static Transformer model(Worker w, Style style, ParallelLayout layout) {
    TransformerConfig config = new TransformerConfig("m", 16, 2, 8, 4, 2, 24, VOCABULARY, N, style);
    return new Transformer(config, layout, new Init(w.torch(), DType.F64, 7, 0.3));
  }

  private static int[] ids(int[] at) {
    return Arrays.stream(at).map(i -> IDS[i]).toArray();
  }

  /** Logits of these positions, which a part holds. */
  private static Variable logits(Graph g, Transformer model, SequencePart part, int[] ids) {
    return model.decode(g, model.embed(g, ids, 1, part), part);
  }

  /** Logits of all documents, and gradients of a weighted sum of them. */
  private record Found(double[] logits, Map<String, double[]> grads) {}

  private static Found eachByItself(Worker w, Style style) {
    Transformer model = model(w, style, ParallelLayout.create(w.distributed(), 1, 1, 1, false));
    double[] logits = new double[N * VOCABULARY];
    int start = 0;
    for (int length : LENGTHS) {
      try (Graph g = Graph.of(w.torch())) {
        int[] ids = Arrays.copyOfRange(IDS, start, start + length);
        Variable y = logits(g, model, new SequencePart(length, 1, 0), ids);
        double[] own = y.value().toDoubles();
        System.arraycopy(own, 0, logits, start * VOCABULARY, own.length);
        double[] grad =
            Arrays.copyOfRange(WEIGHTS, start * VOCABULARY, (start + length) * VOCABULARY);
        g.backward(y, g.constant(grad, y.shape(), DType.F64, "grad").value());
      }
      start += length;
    }
    return new Found(logits, grads(model));
  }

  private static Map<String, double[]> grads(Transformer model) {
    Map<String, double[]> grads = new TreeMap<>();
    for (Parameter p : model.parameters()) {
      grads.put(p.name(), p.grad().orElseThrow().toDoubles());
    }
    return grads;
  }

  @ParameterizedTest
  @EnumSource(Style.class)
  void packed_givesLogitsAndGradientsOfEachDocument(Style style) {
    Ranks.run(
        1,
        Mode.VALUES,
        w -> {
          Found each = eachByItself(w, style);
          ParallelLayout layout = ParallelLayout.create(w.distributed(), 1, 1, 1, false);
          Transformer model = model(w, style, layout);
          SequencePart part = new SequencePart(N, 1, 0).ofDocuments(Documents.ofLengths(LENGTHS));
          try (Graph g = Graph.of(w.torch())) {
            Variable y = logits(g, model, part, IDS);
            assertThat(y.value().toDoubles()).containsExactly(each.logits, within(1e-12));
            g.backward(y, g.constant(WEIGHTS, y.shape(), DType.F64, "grad").value());
          }
          Map<String, double[]> grads = grads(model);
          assertThat(grads.keySet()).isEqualTo(each.grads.keySet());
          grads.forEach((name, grad) ->
              assertThat(grad).as(name).containsExactly(each.grads.get(name), within(1e-11)));
        });
  }

  /** In every way in which context-parallel ranks attend to each other's positions. */
  @ParameterizedTest
  @CsvSource({"LLAMA, RING, 2", "GPT, RING, 4", "GPT, ALL_GATHER, 2", "LLAMA, ALL_TO_ALL, 2"})
  void contextParallelRanks_giveTheSame(Style style, ContextExchange exchange, int cp) {
    double[][] each = new double[1][];
    Ranks.run(1, Mode.VALUES, w -> each[0] = eachByItself(w, style).logits);
    Ranks.run(
        cp,
        Mode.VALUES,
        w -> {
          ParallelLayout layout =
              ParallelLayout.create(w.distributed(), 1, cp, 1, false).with(exchange);
          Transformer model = model(w, style, layout);
          SequencePart part =
              new SequencePart(N, cp, layout.cp().rank()).ofDocuments(Documents.ofLengths(LENGTHS));
          int[] at = part.own();
          try (Graph g = Graph.of(w.torch())) {
            double[] got = logits(g, model, part, ids(at)).value().toDoubles();
            for (int i = 0; i < at.length; i++) {
              double[] expected =
                  Arrays.copyOfRange(each[0], at[i] * VOCABULARY, (at[i] + 1) * VOCABULARY);
              assertThat(Arrays.copyOfRange(got, i * VOCABULARY, (i + 1) * VOCABULARY))
                  .as("position %d", at[i])
                  .containsExactly(expected, within(1e-12));
            }
          }
        });
  }

  @Test
  void documentsOfAnotherLength_areRefused() {
    assertThatThrownBy(() -> new SequencePart(8, 1, 0).ofDocuments(Documents.ofLengths(3, 4)))
        .isInstanceOf(ShapeException.class)
        .hasMessage("documents of 7 positions in all in a sequence of 8; expected as many");
  }
}
