package org.kernbench.nn.autograd;

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
import org.kernbench.nn.optim.GradientSync;
import org.kernbench.nn.optim.Optimizer;
import org.kernbench.nn.parallel.ParallelLayout;
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

  /** A model, what sums its gradients, and its optimizer. */
  private record Trained(Transformer model, DataParallel data, Optimizer adam)
      implements AutoCloseable {
    static Trained of(Worker w, ParallelLayout layout, DType type, boolean divided, long seed) {
      Transformer model = CheckpointTest.model(w, layout, type, seed);
      // buckets of several parameters that the ranks' parts cut anywhere
      DataParallel.Options options =
          DataParallel.DEFAULT.withBucketBytes(1500).withDistributedOptimizer(divided);
      DataParallel data = new DataParallel(w.torch(), layout, model.parameters(), options);
      AdamW.Settings settings = AdamW.Settings.of(0.01);
      return new Trained(model, data, new AdamW(w.torch(), data.owned(), settings));
    }

    void step(Worker w, Setup s, ParallelLayout layout) {
      Batch batch = s.batch(layout);
      data.zeroGrad();
      try (Graph graph = Graph.of(w.torch())) {
        data.backward(graph, batch.loss(graph, model));
      }
      data.divideByTokens(batch.tokens());
      adam.step();
      data.gather();
    }

    Checkpoint checkpoint(Worker w, ParallelLayout layout) {
      return new Checkpoint(w.torch(), layout).with(model).with(adam, data);
    }

    @Override
    public void close() {
      adam.close();
    }
  }

  private void trainAndSave(Setup s, DType type, boolean divided, Path after2, Path after3) {
    Ranks.run(
        s.ranks(),
        Mode.VALUES,
        w -> {
          ParallelLayout layout = s.layout(w);
          try (Trained t = Trained.of(w, layout, type, divided, 1)) {
            t.step(w, s, layout);
            t.step(w, s, layout);
            t.checkpoint(w, layout).save(after2);
            t.step(w, s, layout);
            t.checkpoint(w, layout).save(after3);
          }
        });
  }

  /** Loads into a model of other weights, perhaps trains on, and saves. */
  private void resumeAndSave(
      Setup s, DType type, boolean divided, Path from, int steps, Path after) {
    Ranks.run(
        s.ranks(),
        Mode.VALUES,
        w -> {
          ParallelLayout layout = s.layout(w);
          try (Trained t = Trained.of(w, layout, type, divided, 9)) {
            t.checkpoint(w, layout).load(from);
            for (int i = 0; i < steps; i++) {
              t.step(w, s, layout);
            }
            t.checkpoint(w, layout).save(after);
          }
        });
  }

  /** Sums over two ranks have the same bits in any order, so whole files can be compared. */
  @ParameterizedTest
  @CsvSource({"F32, 1, 1, 2", "BF16, 2, 1, 2", "F64, 2, 2, 1"})
  void dividedOptimizer_fileIsThatOfAWholeOne_andTrainingGoesOn(DType type, int tp, int cp, int dp)
      throws IOException {
    Setup s = setup(tp, cp, dp, true);
    Path whole2 = folder.resolve("whole2.safetensors");
    Path whole3 = folder.resolve("whole3.safetensors");
    Path divided2 = folder.resolve("divided2.safetensors");
    Path divided3 = folder.resolve("divided3.safetensors");
    trainAndSave(s, type, false, whole2, whole3);
    trainAndSave(s, type, true, divided2, divided3);
    assertThat(divided2).hasSameBinaryContentAs(whole2);
    assertThat(divided3).hasSameBinaryContentAs(whole3);
    assertThat(SafeTensors.open(divided2).names())
        .contains("optimizer.head.weight.square", "optimizer.steps");
    Path resumed = folder.resolve("resumed.safetensors");
    resumeAndSave(s, type, true, divided2, 1, resumed);
    assertThat(resumed).hasSameBinaryContentAs(whole3);
  }

  /** Pieces of three ranks, then of two, then whole tensors over other ranks. */
  @Test
  void dividedOptimizer_loadedByOtherLayouts_isSavedAgainAsItWas() {
    Path first = folder.resolve("first.safetensors");
    trainAndSave(setup(1, 1, 2, false), DType.BF16, true, first, folder.resolve("x.safetensors"));
    Path last = first;
    for (Setup s : List.of(setup(2, 1, 3, true), setup(1, 2, 1, false), setup(4, 1, 1, false))) {
      Path next = folder.resolve("of" + s.ranks() + ".safetensors");
      resumeAndSave(s, DType.BF16, s.tp() < 4, last, 0, next);
      assertThat(next).hasSameBinaryContentAs(first);
      last = next;
    }
  }

  @Test
  void dividedOptimizer_withoutWhatDividesIt_isRefused() {
    Ranks.run(
        2,
        Mode.VALUES,
        w -> {
          ParallelLayout layout = setup(1, 1, 2, false).layout(w);
          try (Trained one = Trained.of(w, layout, DType.F32, true, 1);
              Trained other = Trained.of(w, layout, DType.F32, true, 2)) {
            Checkpoint checkpoint = new Checkpoint(w.torch(), layout);
            assertThatThrownBy(() -> checkpoint.with(one.adam))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("is divided over the data-parallel ranks; say with(");
            assertThatThrownBy(() -> checkpoint.with(one.adam, other.data))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("expected an optimizer of data.owned()");
            // its weights are whole
            new Checkpoint(w.torch(), layout).with(one.model).save(folder.resolve("w.safetensors"));
          }
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
