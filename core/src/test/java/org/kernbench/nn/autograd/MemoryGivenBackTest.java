package org.kernbench.nn.autograd;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.autograd.TrainingRun.Batch;
import org.kernbench.nn.autograd.TrainingRun.How;
import org.kernbench.nn.autograd.TrainingRun.Setup;
import org.kernbench.nn.autograd.TrainingRun.Training;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.layers.Transformer;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.optim.AdamW;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.nn.optim.LossScaler;
import org.kernbench.nn.optim.Optimizer;
import org.kernbench.nn.optim.Sgd;
import org.kernbench.nn.optim.Zero;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.ParallelLayout.ContextExchange;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Worker;

/**
 * A training step keeps weights, gradients and what its optimizer needs, and gives back all else: a
 * second and a third step hold what the first has left, to the byte.
 */
final class MemoryGivenBackTest {
  private static final TransformerConfig SMALL =
      new TransformerConfig("small", 8, 1, 4, 4, 2, 8, 8, 8, TransformerConfig.Style.GPT);

  private interface Steps {
    void run(Worker w, ParallelLayout layout, Batch batch, Transformer model, int steps);
  }

  /** What tensors hold on all ranks when so many steps are done. */
  private static Map<String, Long> held(Setup s, DType type, Steps body, int steps) {
    List<Map<String, Long>> held = new ArrayList<>();
    Ranks.run(
        s.ranks(),
        Mode.VALUES,
        w -> {
          ParallelLayout layout = s.layout(w);
          Transformer model = new Transformer(SMALL, layout, new Init(w.torch(), type, 7, 0.2));
          body.run(w, layout, s.batch(layout), model, steps);
          layout.tp().barrier();
          layout.dpCp().barrier();
          w.torch().synchronize();
          w.torch().empty(Shape.of(1), DType.F32, "last").close(); // what is done goes before it
          if (w.rank() == 0) {
            held.add(w.torch().memory().byTensor());
          }
        });
    return held.getFirst();
  }

  private static Setup setup(int tp, int cp, int dp, boolean sp, ContextExchange exchange) {
    How how = new How(true, exchange, Optional.empty(), Dropout.NONE);
    return new Setup(SMALL, 8, 2, 3, Training.ADAM, tp, cp, dp, sp, how, Recipe.STANDARD);
  }

  private static void train(
      Worker w, Batch batch, Transformer model, DataParallel data, Optimizer optimizer, int steps) {
    LossScaler scaler = new LossScaler(LossScaler.Settings.constant(8));
    for (int i = 0; i < steps; i++) {
      data.zeroGrad();
      try (Graph graph = Graph.of(w.torch())) {
        data.backward(graph, scaler.scaled(graph, batch.loss(graph, model)));
      }
      data.divideByTokens(batch.tokens(), scaler);
      assertThat(scaler.step(data, optimizer, 1)).isTrue();
    }
  }

  @ParameterizedTest
  @CsvSource({
    "1, 1, 1, false, ALL_GATHER, NONE, BF16",
    "2, 1, 1, true, ALL_GATHER, NONE, F32",
    "1, 2, 1, false, RING, NONE, F32",
    "1, 2, 1, false, ALL_TO_ALL, NONE, F32",
    "1, 1, 2, false, ALL_GATHER, OPTIMIZER, BF16",
    "1, 1, 2, false, ALL_GATHER, GRADIENTS, F32",
    "1, 1, 2, false, ALL_GATHER, PARAMETERS, BF16"
  })
  void steps_holdWhatTheFirstHasLeft(
      int tp, int cp, int dp, boolean sp, ContextExchange exchange, Zero zero, DType type) {
    Setup s = setup(tp, cp, dp, sp, exchange);
    Steps steps =
        (w, layout, batch, model, n) -> {
          DataParallel data =
              new DataParallel(
                  w.torch(),
                  layout,
                  model.parameters(),
                  DataParallel.DEFAULT.with(zero).withBucketBytes(1500));
          Optimizer adam = new AdamW(w.torch(), data.owned(), AdamW.Settings.of(0.01));
          train(w, batch, model, data, adam, n);
        };

    Map<String, Long> first = held(s, type, steps, 1);

    assertThat(held(s, type, steps, 3)).isEqualTo(first);
    assertThat(first.keySet())
        .anyMatch(name -> name.endsWith(".mean"))
        .anyMatch(name -> name.endsWith(".square"));
    assertThat(first.keySet().stream().anyMatch(name -> name.endsWith(".master")))
        .isEqualTo(type == DType.BF16);
  }

  /** Closed, an optimizer holds nothing; weights, which may be its masters, stay. */
  @ParameterizedTest
  @CsvSource({"F32, false", "BF16, false", "F32, true", "BF16, true"})
  void optimizer_closed_givesBackItsStateAndMasters(DType type, boolean sgd) {
    Setup s = setup(1, 1, 1, false, ContextExchange.ALL_GATHER);
    Set<String> weights = new TreeSet<>();
    Steps trained =
        (w, layout, batch, model, n) -> {
          model.parameters().forEach(p -> weights.add(p.value().name()));
          List<Parameter> all = model.parameters();
          DataParallel data = new DataParallel(w.torch(), layout, all, DataParallel.DEFAULT);
          try (Optimizer optimizer =
              sgd
                  ? new Sgd(w.torch(), data.owned(), 0.01)
                  : new AdamW(w.torch(), data.owned(), AdamW.Settings.of(0.01))) {
            train(w, batch, model, data, optimizer, n);
          }
        };

    Set<String> left = held(s, type, trained, 1).keySet();

    assertThat(left).containsAll(weights);
    assertThat(left)
        .noneMatch(name -> name.matches(".*[.](mean|square|master)"))
        .allMatch(name -> weights.contains(name) || name.startsWith("gradients."));
  }

  @Test
  void graph_closed_givesBackEveryActivation() {
    Setup s = setup(1, 1, 1, false, ContextExchange.ALL_GATHER);
    Set<String> weights = new TreeSet<>();

    Map<String, Long> left =
        held(
            s,
            DType.F32,
            (w, layout, batch, model, n) -> {
              model.parameters().forEach(p -> weights.add(p.value().name()));
              try (Graph graph = Graph.of(w.torch())) {
                batch.loss(graph, model);
                assertThat(graph.bytesHeld()).isPositive();
              }
            },
            1);

    assertThat(left.keySet()).isEqualTo(weights);
  }
}
