package org.kernbench.nn.pipeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Recipe;
import org.kernbench.nn.experts.ExpertsConfig;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.optim.AdamW;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.nn.optim.Optimizer;
import org.kernbench.nn.parallel.ExpertGroups;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.SafeTensors;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.SpawnException;
import org.kernbench.torch.Worker;

/**
 * Checkpoints of stages and of experts, written by one layout and read by others. Gradients are
 * those of no model but given, the same in every layout, so AdamW must come to the same bits
 * everywhere.
 */
final class PipelineCheckpointTest {
  private static final TransformerConfig MOE =
      new TransformerConfig("small-moe", 8, 4, 4, 4, 2, 8, 8, 8, TransformerConfig.Style.LLAMA)
          .with(
              ExpertsConfig.of(4, 2, 8)
                  .with(ExpertsConfig.Scoring.SIGMOID, true, 1)
                  .withBalance(0.1));

  @TempDir Path folder;

  /** A layout; {@code divided} says whether the optimizer is. */
  private record Layout(
      int tp, int dp, int ep, int etp, Schedules schedule, int pp, boolean tied, boolean divided) {
    /** As {@code tp dp ep etp schedule pp tied divided}. */
    static Layout of(String text) {
      String[] w = text.strip().split(" +");
      return new Layout(
          Integer.parseInt(w[0]),
          Integer.parseInt(w[1]),
          Integer.parseInt(w[2]),
          Integer.parseInt(w[3]),
          Schedules.valueOf(w[4]),
          Integer.parseInt(w[5]),
          Boolean.parseBoolean(w[6]),
          Boolean.parseBoolean(w[7]));
    }

    static Layout oneRank(boolean tied) {
      return new Layout(1, 1, 1, 1, Schedules.GPIPE, 1, tied, false);
    }

    int ranks() {
      return tp * dp * pp;
    }
  }

  /** What a rank has of a model, and of another whose values are taken for gradients. */
  private static final class Trained implements AutoCloseable {
    private final Worker worker;
    private final PipelineModel model;
    private final PipelineModel gradients;
    private final ParallelLayout layout;
    private final DataParallel data;
    private final Optimizer adam;

    Trained(Worker w, Layout l, DType type, long seed, TransformerConfig config) {
      this.worker = w;
      PipelineSchedule schedule =
          l.schedule.of(l.pp, 8, l.schedule == Schedules.INTERLEAVED ? 2 : 1);
      PipelineLayout pipeline =
          PipelineLayout.create(
              w.distributed(),
              l.tp,
              1,
              l.dp,
              schedule,
              l.tp > 1,
              Optional.of(new ExpertGroups.Sizes(l.ep, l.etp)));
      this.layout = pipeline.stage();
      this.model = model(w, l, pipeline, schedule, type, seed, config);
      this.gradients = model(w, l, pipeline, schedule, DType.F32, 5, config);
      this.data =
          new DataParallel(
              w.torch(),
              layout,
              model.parameters(),
              DataParallel.DEFAULT.withBucketBytes(900).withDistributedOptimizer(l.divided));
      this.adam = new AdamW(w.torch(), data.owned(), AdamW.Settings.of(0.01));
    }

    private static PipelineModel model(
        Worker w,
        Layout l,
        PipelineLayout pipeline,
        PipelineSchedule schedule,
        DType type,
        long seed,
        TransformerConfig config) {
      return new PipelineModel(
          config,
          pipeline,
          schedule,
          LayerSplit.even(config.layers(), schedule.depth()),
          l.tied,
          new Init(w.torch(), type, seed, 0.2).withSpread());
    }

    /** Each rank gives its part of a gradient that is the same in every layout. */
    void step() {
      data.zeroGrad();
      List<Parameter> own = model.parameters();
      for (int i = 0; i < own.size(); i++) {
        Parameter p = own.get(i);
        if (!p.isFrozen()) {
          double times = layout.dpCp().size();
          for (ProcessGroup group : Recipe.STANDARD.gradientGroups(p, layout)) {
            times /= group.size();
          }
          double[] values = gradients.parameters().get(i).value().toDoubles();
          for (int j = 0; j < values.length; j++) {
            values[j] *= times;
          }
          p.startGrad(worker.torch()).copyInPlace(values);
        }
      }
      data.sum();
      data.divideByTokens(1);
      adam.step();
      data.gather();
    }

    void save(Path to) {
      model.checkpoint(worker.torch()).with(adam, data).save(to);
    }

    void load(Path from) {
      model.checkpoint(worker.torch()).with(adam, data).load(from);
    }

    @Override
    public void close() {
      adam.close();
    }
  }

  private static void run(
      Layout l, DType type, long seed, java.util.function.Consumer<Trained> body) {
    run(l, type, seed, MOE, body);
  }

  private static void run(
      Layout l,
      DType type,
      long seed,
      TransformerConfig config,
      java.util.function.Consumer<Trained> body) {
    Ranks.run(
        l.ranks(),
        Mode.VALUES,
        w -> {
          try (Trained t = new Trained(w, l, type, seed, config)) {
            body.accept(t);
          }
        });
  }

  /** Two steps in a layout, a file, one more in another: the file of three steps on one rank. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "1 2 2 1 GPIPE       1 false false | 2 1 1 2 GPIPE       1 false true",
        "1 1 1 1 ONE_F_ONE_B 2 false false | 1 1 1 1 GPIPE       4 false false",
        "2 2 2 2 ONE_F_ONE_B 2 false true  | 1 4 4 1 INTERLEAVED 2 false true",
        "2 1 2 1 INTERLEAVED 2 true  false | 1 2 1 2 ZB_V        2 true  false",
        "1 2 2 1 DUALPIPE    4 false false | 2 2 4 1 GPIPE       1 false true",
        "1 1 1 1 DUALPIPE    2 true  false | 1 2 2 1 ONE_F_ONE_B 4 true  false",
      })
  void file_ofALayout_isThatOfOneRank_andOthersGoOnWithIt(String before, String after) {
    Layout first = Layout.of(before);
    for (DType type : List.of(DType.F32, DType.BF16)) {
      Path two = folder.resolve(type + "-two.safetensors");
      Path three = folder.resolve(type + "-three.safetensors");
      run(
          Layout.oneRank(first.tied),
          type,
          1,
          t -> {
            t.step();
            t.step();
            t.save(two);
            t.step();
            t.save(three);
          });
      Path half = folder.resolve(type + "-half.safetensors");
      run(
          first,
          type,
          1,
          t -> {
            t.step();
            t.step();
            t.save(half);
          });
      assertThat(half).hasSameBinaryContentAs(two);
      Path end = folder.resolve(type + "-end.safetensors");
      run(
          Layout.of(after),
          type,
          9,
          t -> {
            t.load(half);
            assertThat(t.adam.steps()).isEqualTo(2);
            t.step();
            t.save(end);
          });
      assertThat(end).hasSameBinaryContentAs(three);
    }
  }

  /** A folder of files, and nothing that ranks have left beside it. */
  @Test
  void folder_ofStagesAndExperts_hasTheFilesOfOneRank() throws IOException {
    Layout parts = Layout.of("1 2 2 1 ONE_F_ONE_B 2 false false");
    Path one = folder.resolve("one");
    Path many = folder.resolve("many");
    run(Layout.oneRank(false), DType.BF16, 1, t -> t.save(one));
    run(parts, DType.BF16, 1, t -> t.save(many));
    try (var files = Files.newDirectoryStream(one)) {
      for (Path file : files) {
        assertThat(many.resolve(file.getFileName())).hasSameBinaryContentAs(file);
      }
    }
    Path single = folder.resolve("single.safetensors");
    run(parts, DType.BF16, 1, t -> t.save(single));
    assertThat(SafeTensors.open(single).names())
        .contains("layers.0.experts.3.up.weight", "layers.3.experts.router.bias");
    assertThat(folder.toFile().list())
        .containsExactlyInAnyOrder("one", "many", "single.safetensors");
  }

  /** A name that no rank knows is told, and nothing is changed. */
  @Test
  void fileOfALargerModel_isRefused() {
    Path to = folder.resolve("larger.safetensors");
    run(Layout.oneRank(false), DType.F32, 1, MOE.with(6, 8), t -> t.save(to));
    assertThatThrownBy(() ->
            run(Layout.of("1 2 2 1 ONE_F_ONE_B 2 false false"), DType.F32, 2, t -> t.load(to)))
        .isInstanceOf(SpawnException.class)
        .hasMessageContaining("is of another model: missing [], not known here [layers.4.")
        .message()
        .doesNotContain("layers.0.");
  }
}
