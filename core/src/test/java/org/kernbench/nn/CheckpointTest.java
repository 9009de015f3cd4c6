package org.kernbench.nn;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.nn.TrainingRun.Batch;
import org.kernbench.nn.TrainingRun.How;
import org.kernbench.nn.TrainingRun.Setup;
import org.kernbench.nn.TrainingRun.Training;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.NpyArray;
import org.kernbench.tensor.SafeTensors;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.SpawnException;
import org.kernbench.torch.Worker;

/** What one layout saves, another loads. */
final class CheckpointTest {
  private static final TransformerConfig SMALL =
      new TransformerConfig("small", 8, 1, 4, 4, 2, 8, 8, 8, TransformerConfig.Style.GPT);

  @TempDir Path folder;

  private static Setup setup(int tp, int cp, int dp, boolean sp) {
    return new Setup(SMALL, 8, 2, 3, Training.ADAM, tp, cp, dp, sp, How.PLAIN, Recipe.STANDARD);
  }

  private static Transformer model(Worker w, ParallelLayout layout, DType type, long seed) {
    return new Transformer(SMALL, layout, new Init(w.torch(), type, seed, 0.2));
  }

  private static void save(Path to, DType type, int tp, int dp) {
    Setup s = setup(tp, 1, dp, true);
    Ranks.run(
        s.ranks(),
        Mode.VALUES,
        w -> {
          ParallelLayout layout = s.layout(w);
          new Checkpoint(w.torch(), layout).with(model(w, layout, type, 1)).save(to);
        });
  }

  /** First values depend on name and index only, so another layout knows what it should load. */
  private static void assertLoads(Path from, DType type, int tp, int cp, int dp) {
    Setup s = setup(tp, cp, dp, false);
    Ranks.run(
        s.ranks(),
        Mode.VALUES,
        w -> {
          ParallelLayout layout = s.layout(w);
          Transformer loaded = model(w, layout, type, 2);
          new Checkpoint(w.torch(), layout).with(loaded).load(from);
          List<Parameter> expected = model(w, layout, type, 1).parameters();
          for (int i = 0; i < expected.size(); i++) {
            assertThat(loaded.parameters().get(i).value().toBytes())
                .as(expected.get(i).name())
                .isEqualTo(expected.get(i).value().toBytes());
          }
        });
  }

  @ParameterizedTest
  @CsvSource({"model.safetensors, F64", "model, F64", "model.safetensors, BF16", "model, BF16"})
  void checkpoint_ofTp2_isLoadedByEveryOtherLayout(String name, DType type) {
    Path to = folder.resolve(name);
    save(to, type, 2, 2);
    assertLoads(to, type, 4, 1, 1);
    assertLoads(to, type, 1, 2, 1);
    assertLoads(to, type, 2, 1, 2);
  }

  /** The file has what one rank has, whole and in its order. */
  @Test
  void checkpoint_ofTp4_hasTheTensorsOfOneRank() throws IOException {
    Path to = folder.resolve("model.safetensors");
    save(to, DType.F32, 4, 1);
    SafeTensors file = SafeTensors.open(to);
    Setup one = setup(1, 1, 1, false);
    Map<String, byte[]> expected = new TreeMap<>();
    Ranks.run(
        1,
        Mode.VALUES,
        w -> {
          for (Parameter p : model(w, one.layout(w), DType.F32, 1).parameters()) {
            expected.put(p.name(), p.value().toBytes());
          }
        });
    assertThat(file.names()).containsExactlyInAnyOrderElementsOf(expected.keySet());
    for (Map.Entry<String, byte[]> e : expected.entrySet()) {
      assertThat(file.read(e.getKey()).bytes()).as(e.getKey()).isEqualTo(e.getValue());
    }
  }

  private static double[] step(
      Worker w, Setup s, ParallelLayout layout, Transformer model, Optimizer optimizer) {
    GradientSync sync = new GradientSync(w.torch(), layout);
    List<Parameter> all = model.parameters();
    Batch batch = s.batch(layout);
    model.zeroGrad();
    try (Graph graph = Graph.of(w.torch())) {
      graph.backward(batch.loss(graph, model));
    }
    sync.sum(all);
    sync.divideByTokens(all, batch.tokens());
    optimizer.step();
    return all.getFirst().value().toDoubles();
  }

  /** Training goes on as if it had not stopped, with steps counted and states in place. */
  @Test
  void optimizer_savedAndLoaded_goesOnWithTheSameBits() {
    Path to = folder.resolve("training.safetensors");
    Setup s = setup(2, 1, 1, true);
    double[][] straight = new double[2][];
    double[][] resumed = new double[2][];
    Ranks.run(
        2,
        Mode.VALUES,
        w -> {
          ParallelLayout layout = s.layout(w);
          Transformer model = model(w, layout, DType.F32, 1);
          try (Optimizer adam = new AdamW(w.torch(), model.parameters(), AdamW.Settings.of(0.01))) {
            step(w, s, layout, model, adam);
            step(w, s, layout, model, adam);
            new Checkpoint(w.torch(), layout).with(model).with(adam).save(to);
            straight[w.rank()] = step(w, s, layout, model, adam);
          }
          Transformer other = model(w, layout, DType.F32, 9);
          try (Optimizer adam = new AdamW(w.torch(), other.parameters(), AdamW.Settings.of(0.01))) {
            new Checkpoint(w.torch(), layout).with(other).with(adam).load(to);
            assertThat(adam.steps()).isEqualTo(2);
            resumed[w.rank()] = step(w, s, layout, other, adam);
          }
          // the model alone can be had from the same file
          new Checkpoint(w.torch(), layout).with(other).load(to);
        });
    assertThat(resumed).isEqualTo(straight);
  }

  @Test
  void dividedOptimizer_isRefused() {
    Ranks.run(
        2,
        Mode.VALUES,
        w -> {
          ParallelLayout layout = setup(1, 1, 2, false).layout(w);
          Transformer model = model(w, layout, DType.F32, 1);
          DataParallel data =
              new DataParallel(
                  w.torch(),
                  layout,
                  model.parameters(),
                  DataParallel.DEFAULT.withDistributedOptimizer(true));
          try (Optimizer sgd = new Sgd(w.torch(), data.owned(), 1)) {
            assertThatThrownBy(() -> new Checkpoint(w.torch(), layout).with(sgd))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("is divided over the data-parallel ranks");
          }
          // its weights are whole
          new Checkpoint(w.torch(), layout).with(model).save(folder.resolve("w.safetensors"));
        });
    assertLoads(folder.resolve("w.safetensors"), DType.F32, 2, 1, 1);
  }

  private void assertRefused(Path from, String message) {
    assertThatThrownBy(() ->
            Ranks.run(
                2,
                Mode.VALUES,
                w -> {
                  ParallelLayout layout = setup(2, 1, 1, false).layout(w);
                  new Checkpoint(w.torch(), layout).with(model(w, layout, DType.F32, 1)).load(from);
                }))
        .isInstanceOf(SpawnException.class)
        .hasMessageContaining(message);
  }

  @Test
  void load_otherNamesOrShapes_isRefusedWithBoth() throws IOException {
    Path to = folder.resolve("model.safetensors");
    save(to, DType.F32, 1, 1);
    SafeTensors file = SafeTensors.open(to);
    Map<String, NpyArray> tensors = new LinkedHashMap<>();
    for (String name : file.names()) {
      tensors.put(name, file.read(name));
    }
    NpyArray head = tensors.remove("head.weight");
    tensors.put("head.wight", head);
    SafeTensors.write(to, tensors, Map.of());
    assertRefused(to, "missing [head.weight], not known here [head.wight]");
    tensors.remove("head.wight");
    tensors.put("head.weight", new NpyArray(DType.F32, Shape.of(4, 16), head.bytes()));
    SafeTensors.write(to, tensors, Map.of());
    assertRefused(to, "head.weight has shape [4, 16]; expected [8, 8], of which each of 2 ranks");
    assertRefused(folder.resolve("nowhere"), "cannot be loaded");
    Files.writeString(folder.resolve("bad.safetensors"), "not at all such a file");
    assertRefused(folder.resolve("bad.safetensors"), "is this a .safetensors file?");
  }

  @Test
  void save_modeTime_isRefused() {
    assertThatThrownBy(() ->
            Ranks.run(
                1,
                Mode.TIME,
                w -> {
                  ParallelLayout layout = setup(1, 1, 1, false).layout(w);
                  new Checkpoint(w.torch(), layout)
                      .with(model(w, layout, DType.F32, 1))
                      .save(folder.resolve("x.safetensors"));
                }))
        .hasMessageContaining("mode time has no values");
  }
}
