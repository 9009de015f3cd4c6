package org.kernbench.nn.autograd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.io.TempDir;
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
import org.kernbench.nn.optim.Checkpoint;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.nn.optim.Optimizer;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.tensor.DType;

/**
 * Training in short types with masters in f32 stays near training in f64 from the same weights, by
 * a small multiple of the type's unit roundoff.
 */
final class ShortTypesTest {
  private static final TransformerConfig SMALL =
      new TransformerConfig("small", 8, 1, 4, 4, 2, 16, 8, 8, TransformerConfig.Style.LLAMA);
  private static final int STEPS = 5;

  @TempDir Path folder;

  private record Trained(double[] losses, Map<String, double[]> grads) {}

  private static Setup setup(int tp, int dp) {
    return new Setup(
        SMALL, 8, 2, STEPS, Training.ADAM, tp, 1, dp, tp > 1, How.PLAIN, Recipe.STANDARD);
  }

  /** Trains in a type: the first one draws the weights, others have the same. */
  private Trained train(Setup s, DType type, boolean draws) {
    double[] losses = new double[STEPS];
    Map<String, Parameter> parameters = new TreeMap<>();
    Map<String, TreeMap<Integer, double[]>> parts = new TreeMap<>();
    Path weights = folder.resolve("weights.safetensors");
    Ranks.run(
        s.ranks(),
        Mode.VALUES,
        w -> {
          ParallelLayout layout = s.layout(w);
          Transformer model = new Transformer(SMALL, layout, new Init(w.torch(), type, 3, 0.2));
          Checkpoint checkpoint = new Checkpoint(w.torch(), layout).with(model);
          if (draws) {
            checkpoint.save(weights);
          } else {
            checkpoint.load(weights);
          }
          List<Parameter> all = model.parameters();
          DataParallel data = new DataParallel(w.torch(), layout, all, DataParallel.DEFAULT);
          Batch batch = s.batch(layout);
          try (Optimizer adam = new AdamW(w.torch(), data.owned(), AdamW.Settings.of(0.02))) {
            for (int step = 0; step < STEPS; step++) {
              data.zeroGrad();
              try (Graph graph = Graph.of(w.torch())) {
                Variable loss = batch.loss(graph, model);
                data.backward(graph, loss);
                if (layout.tp().rank() == 0) {
                  double own = loss.value().get(0); // other ranks go on meanwhile
                  losses[step] += own;
                }
              }
              data.divideByTokens(batch.tokens());
              for (Parameter p :
                  step == 0 && layout.dp().rank() == 0 ? all : List.<Parameter>of()) {
                parameters.put(p.name(), p);
                parts
                    .computeIfAbsent(p.name(), n -> new TreeMap<>())
                    .put(layout.tp().rank(), p.grad().orElseThrow().toDoubles());
              }
              adam.step();
            }
          }
        });
    Map<String, double[]> grads = new TreeMap<>();
    parts.forEach((name, of) ->
        grads.put(name, TrainingRun.joined(parameters.get(name), List.copyOf(of.values()))));
    return new Trained(losses, grads);
  }

  /** Measured: losses within 3 roundoffs; gradients within 21 (bf16), 16 (f16) and 14 (f32). */
  @ParameterizedTest
  @CsvSource({"BF16", "F16", "F32"})
  void shortType_f32Masters_lossFallsAndStaysNearF64(DType type) {
    Trained got = train(setup(2, 2), type, true);
    Trained exact = train(setup(1, 1), DType.F64, false);
    double u = type.unitRoundoff();
    for (int step = 0; step < STEPS; step++) {
      assertThat(got.losses[step] / exact.losses[step])
          .as("loss of step %d", step)
          .isCloseTo(1, within(8 * u));
    }
    assertThat(got.losses[STEPS - 1]).isLessThan(0.8 * got.losses[0]);
    assertThat(TrainingRun.worst(got.grads, exact.grads)).isLessThan(32 * u);
  }
}
