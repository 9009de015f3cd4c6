package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.nn.experts.ExpertsConfig;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.multimodal.Microbatch;
import org.kernbench.nn.multimodal.TwoModuleConfig;

/** Figures of training benches, against what a calculator says. */
final class TrainingFiguresTest {
  @TempDir Path folder;

  private static RunResult run(String bench, String params, String... overrides) {
    return run(bench, params, RunOptions.DEFAULT.withOverrides(List.of(overrides)));
  }

  private static RunResult run(String bench, String params, RunOptions options) {
    RunResult result =
        Runner.of("test", Progress.SILENT)
            .run(
                BenchRegistry.standard().find(bench),
                options.withMode(Mode.TIME).withParams(List.of(params.split(" "))));
    assertThat(result.problems()).isEmpty();
    assertThat(result.isOk()).isTrue();
    return result;
  }

  private static double metric(RunResult result, String name) {
    return ((Number) result.metrics().get(name)).doubleValue();
  }

  private static double number(Map<String, Object> row, String column) {
    return ((Number) row.get(column)).doubleValue();
  }

  /** Weights of experts that no token chose are not read: two tokens choose 2 of 64 at most. */
  @Test
  void bound_expertsThatNobodyChose_areNotRead() {
    String common = "model=tiny-moe tokens=2 batch=1 topk=1 tp=1 experts=";
    String slow = "cube.hbm.efficiency=0.01";
    double few = metric(run("transformer-block", common + 8, slow), "bound_ns");
    double many = metric(run("transformer-block", common + 64, slow), "bound_ns");
    // hidden 48, inner 48: gate, up and down of an expert, of whose gradients in f32 each is
    // written
    double perExpert = 3 * 48 * 48 * 4 / (256 * 0.01) + 48 * (2 + 4) / (256 * 0.01);
    assertThat(many - few).isCloseTo(56 * perExpert, within(0.02 * 56 * perExpert));
  }

  /** A file's layers and ids are taken unless others are given, be these what benches have. */
  @Test
  void config_layersAndVocabulary_areThoseGiven_elseTheFiles() throws IOException {
    Path file = folder.resolve("shape.yaml");
    Files.writeString(
        file,
        """
        model_type: llama
        hidden_size: 32
        intermediate_size: 64
        num_hidden_layers: 3
        num_attention_heads: 4
        num_key_value_heads: 2
        vocab_size: 128
        max_position_embeddings: 64
        rms_norm_eps: 1e-5
        """);
    String common = "tokens=16 batch=1 tp=1 sp=off config=" + file;
    double whole = metric(run("train-step", common), "rank_gflop");
    double two = metric(run("train-step", common + " layers=2"), "rank_gflop");
    double few = metric(run("train-step", common + " layers=2 vocabulary=96"), "rank_gflop");

    // 16 tokens; attention: queries and output 2 x 32 x 32, keys and values 2 x 32 x 16, 8.5 keys
    double layer = 3 * 2 * 16 * (3 * 32 * 64 + 3 * 32 * 32 + 2 * 32 * 8.5);
    assertThat(whole - two).isCloseTo(layer / 1e9, within(1e-4));
    assertThat(two - few).isCloseTo(3 * 2 * 16 * 32 * 32 / 1e9, within(1e-4));
    assertThat(run("train-step", common + " layers=2").params())
        .containsEntry("layers", 2)
        .containsEntry("vocabulary", 128)
        .containsEntry("model", "of config");
    assertThatThrownBy(() -> run("train-step", common + " model=gpt2-small"))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("expected one of them");
  }

  /** What others do beside it changes nothing of the time that a group's collective takes. */
  @Test
  void rows_collectivesOfOneModule_takeWhatTheyTake_whateverTheOtherHas() {
    List<Double> times = new ArrayList<>();
    for (int tp : List.of(2, 4)) {
      RunResult result =
          run(
              "mimo-train-step",
              "encoder=tp=2,dp=1 language=tp=%d,dp=1,offset=2 microbatches=2 spread=lead"
                  .formatted(tp));
      double sum = 0;
      for (Map<String, Object> row : result.rows()) {
        String collective = (String) row.get("collective");
        int size = Integer.parseInt(collective.substring(collective.lastIndexOf(' ') + 1));
        sum += size * number(row, "time_ns");
        if (row.get("part").equals("encoder.embedding") && collective.startsWith("all_gather")) {
          times.add(number(row, "time_ns"));
        }
      }
      if (tp == 4) { // no two groups of a kind
        assertThat(metric(result, "comm_ns")).isCloseTo(sum / 6, within(0.1));
      }
    }
    assertThat(times).hasSize(2);
    assertThat(times.get(1)).isEqualTo(times.get(0));
  }

  /** Messages of an exchange in several types: what is to be sent is what was sent. */
  @ParameterizedTest
  @CsvSource({"2", "3", "4"})
  void rows_ofARing_haveTheBytesThatWereSent(int cp) {
    String params = "tokens=48 batch=1 tp=1 context=ring cp=" + cp;
    List<Map<String, Object>> rows = run("transformer-block", params).rows();
    assertThat(rows)
        .filteredOn(row -> row.get("collective").toString().startsWith("point_to_point"))
        .hasSize(2)
        .allSatisfy(row -> assertThat(row.get("bytes")).isEqualTo(row.get("sent_bytes")));
  }

  /** Of a model with experts the projections alone are in 8 bits. */
  @Test
  void mfu_expertsAndEightBits_countsEachAtItsRate() {
    String params = "model=tiny-moe tp=1 dp=2 ep=2 batch=2 f8=current";
    RunResult result = run("train-step", params, "pe.gemm.f8_rate=2");
    double products = 2 * metric(result, "rank_gflop");
    // both layers: 24 heads and twice 12 of keys and values, of 4 columns, and the output
    double elements = 48 * 4 * (24 + 2 * 12) + 48 * 24 * 4;
    double inEightBits = 3 * 2 * (2 * 48) * 2 * elements / 1e9;
    double used = products - inEightBits / 2; // of the rest all at the usual rate
    double gflopPerNs = 2 * 2.0 * 64 * 64 * 2 / 1e9; // two PEs at 2 GHz
    double expected = 100 * used / gflopPerNs / metric(result, "crit_ns");
    assertThat(metric(result, "mfu_pct")).isCloseTo(expected, within(0.01 * expected));
  }

  /** What leads down to latent attention stays in the type of the run, on each rank. */
  @Test
  void mfu_latentAttentionAndEightBits_countsWhatLeadsDownAtTheUsualRate() {
    String params = "model=tiny-deepseek tp=1 f8=current";
    RunResult result = run("transformer-block", params, "pe.gemm.f8_rate=2");
    TransformerConfig c = TrainingBench.shape("tiny-deepseek", 1);
    TransformerConfig.Latent l = c.latent().orElseThrow();
    double perHead =
        l.queryRank() * (l.still() + l.turned()) + l.keyRank() * (l.still() + l.value());
    double up = c.heads() * (perHead + (double) l.value() * c.hidden());
    ExpertsConfig e = c.experts().orElseThrow();
    double mlp = 3.0 * c.hidden() * (e.dense() > 0 ? c.ffn() : e.shared() * e.ffn());
    double inEightBits = 3 * 2 * (2 * 48) * (up + mlp) / 1e9;
    double gflopPerNs = 2.0 * 64 * 64 * 2 / 1e9; // at 2 GHz
    double used = metric(result, "rank_gflop") - inEightBits / 2;
    double expected = 100 * used / gflopPerNs / metric(result, "crit_ns");
    assertThat(metric(result, "mfu_pct")).isCloseTo(expected, within(0.005 * expected));
  }

  /**
   * In 8 bits half of what goes into linear layers is kept; what attention and activations are made
   * of stays as it is.
   */
  @ParameterizedTest
  @CsvSource({
    // what the first norm makes, heads, what the second makes, inner
    "tiny-llama, recompute=none, 48 + 96 + 48 + 96",
    "tiny-llama, recompute=attention, 48 + 96",
    "tiny-llama, recompute=full, 0",
  })
  void needs_inEightBits_areAByteLessForEachInputOfALayer(
      String model, String how, String elements) {
    TransformerConfig c = TrainingBench.shape(model, 2);
    assertThat(List.of(c.hidden(), c.heads() * c.valueSize(), c.ffn())).containsExactly(48, 96, 96);
    String params = "model=" + model + " tp=1 sp=off batch=1 " + how;
    long each = List.of(elements.split(" . ")).stream().mapToLong(Long::parseLong).sum();
    assertThat(activations(params) - activations(params + " f8=current"))
        .isCloseTo(2 * 48 * each, within(128L));
  }

  /** What is computed again takes as long as it did first, whatever was waited for behind it. */
  @Test
  void idle_ofAPipelineThatRecomputes_isWhatIsNotComputed() {
    String params = "model=tiny-llama tp=1 pp=3 layers=3 microbatches=4 batch=4 ";
    RunResult again = run("train-step", params + "recompute=full");
    RunResult kept = run("train-step", params);
    for (int stage = 0; stage < 2; stage++) { // the last one waits for nobody
      double forward = 0;
      for (String line : kept.files().get("pipeline.csv").get().lines().skip(1).toList()) {
        String[] cells = line.split(",");
        boolean counts = cells[0].equals("" + stage) && cells[3].equals("F");
        forward += counts ? Double.parseDouble(cells[5]) - Double.parseDouble(cells[4]) : 0;
      }
      double expected = busyNs(kept, stage) + forward;
      assertThat(busyNs(again, stage)).isCloseTo(expected, within(0.04 * expected));
    }
    assertThat(idle(again, 0)).isGreaterThan(0.25);
  }

  /** A stage's own collective, which goes on when the gradient has come, is work. */
  @Test
  void idle_withTensorParallelRanks_leavesTheirCollectivesOut() {
    String params = "rank_level=sip sp=off tp=2 pp=2 microbatches=4 batch=4 recompute=full";
    RunResult result = run("train-step", params, RunOptions.DEFAULT.withTopology("dgx-a100"));
    // what a reader found in the log: some 40 us of 917 less than to the next kernel
    assertThat(idle(result, 0)).isCloseTo(0.324, within(0.003));
    assertThat(metric(result, "bubble_pct")).isCloseTo(25.2, within(0.3));
  }

  /** A language model looks its text up before the image has come, and then waits. */
  @Test
  void idle_ofAModelThatWaitsForTheBridge_isNotWork() {
    RunResult result =
        run(
            "mimo-train-step",
            "encoder=tp=1,dp=1,pp=1 language=tp=1,dp=1,pp=2,offset=1 microbatches=4");
    // of 385.8 us: 20.5 until the first image has come and 3.8 until the second, counted as work
    // 0.238
    assertThat(idle(result, 1)).isCloseTo(0.3, within(0.002));
    assertThat(metric(result, "bubble_pct")).isCloseTo(31.2, within(0.1));
  }

  private static double idle(RunResult result, int stage) {
    String each = result.metrics().get("idle_by_rank").toString().split(" ")[stage];
    return Double.parseDouble(each.replace("%", "")) / 100;
  }

  private static double busyNs(RunResult result, int stage) {
    return (1 - idle(result, stage)) * metric(result, "pipeline_ns");
  }

  /** The gradient of a table is the parameter's; only the last stage has something for each id. */
  @Test
  void held_ofTheFirstStage_doesNotGrowWithTheIds() {
    String params = "model=tiny-llama tp=1 pp=2 microbatches=2 batch=2 vocabulary=";
    List<String> few = held(params + 960);
    List<String> many = held(params + 9600);
    assertThat(many.getFirst()).isEqualTo(few.getFirst());
    assertThat(many.getLast()).isNotEqualTo(few.getLast());
  }

  private static List<String> held(String params) {
    return List.of(run("train-step", params).metrics().get("held_by_rank").toString().split(" "));
  }

  /** However a batch is cut, and whatever is made again, as many copies go to experts. */
  @ParameterizedTest
  @CsvSource({"microbatches=1", "microbatches=2", "recompute=full", "'microbatches=2 pp=2 dp=1'"})
  void experts_microbatches_areAllCounted(String how) {
    String dp = how.contains("dp=") ? "" : " dp=2";
    RunResult result =
        run("train-step", "model=tiny-moe tp=1 batch=4 ep=1 capacity=50 skew=100 " + how + dp);
    RunResult whole =
        run("train-step", "model=tiny-moe tp=1 batch=4 ep=1 capacity=50 skew=100 dp=2");
    assertThat(result.metrics().get("expert_copies")).isEqualTo(4L * 48 * 2 * 2);
    assertThat(result.metrics().get("expert_dropped"))
        .isEqualTo(whole.metrics().get("expert_dropped"));
    // each dropped copy is a token less through gate, up and down of 48 x 48, there and back
    double all = 2 * metric(run("train-step", "model=tiny-moe tp=1 batch=4 dp=2"), "rank_gflop");
    double dropped = metric(result, "expert_dropped") * 3 * 2 * 3 * 48 * 48 / 1e9;
    assertThat(2 * metric(result, "rank_gflop")).isCloseTo(all - dropped, within(2e-4));
  }

  /** With two ranks to an expert each gives the other all that it has for it. */
  @Test
  void dispatch_overParts_sendsAllToTheOthers() {
    RunResult result = run("train-step", "model=tiny-moe tp=2 etp=2");
    long all = 48L * 2 / 2 * 2 * 48 * 2; // tokens of a rank, twice, of 48 columns in bf16
    assertThat(result.metrics())
        .containsEntry("dispatch_sent_most_bytes", all)
        .containsEntry("dispatch_got_most_bytes", all);
  }

  /** Copies that experts drop need no memory; how many they drop, nobody knows before the run. */
  @Test
  void needs_expertsThatDrop_holdNoMoreThanTheyTake() {
    String common = "model=tiny-moe tp=1 sp=off topk=8 batch=1";
    long all = activations(common);
    assertThat(activations(common + " capacity=100")).isEqualTo(all);
    // 2 layers, 48 tokens: 8 experts take 24 each instead of 48, in bf16
    long each = 2 * 48 + 3 * 48;
    assertThat(all - activations(common + " capacity=50"))
        .isCloseTo(2L * 8 * 24 * each * 2, within(1024L));
  }

  private static long activations(String params) {
    String needs = (String) run("train-step", params).metrics().get("needs");
    String number = needs.replaceAll(".*activations ([0-9.]+) KiB.*", "$1");
    return Math.round(Double.parseDouble(number) * 1024);
  }

  /**
   * Nobody wants the gradient of what a frozen encoder gives; of all else in the projector there
   * are three passes: one more column in it is 3 down and 2 or 3 up.
   */
  @ParameterizedTest
  @CsvSource({"false, 3", "true, 2"})
  void flops_projectorBehindAFrozenEncoder_lackOnePassUp(boolean frozen, int passesUp) {
    TwoModuleConfig model = TwoModuleConfig.tinyGpt();
    TwoModuleConfig wider =
        new TwoModuleConfig(
            model.encoder(),
            model.patch(),
            model.projector() + 1,
            model.language(),
            model.placeholder());
    int samples = 3;
    int tokens = model.tokensPerSample();
    int all = samples * 2 * tokens;
    int[] ids = new int[all];
    for (int i = 0; i < all; i++) {
      ids[i] = i % (2 * tokens) < tokens ? model.placeholder() : 1;
    }
    List<Microbatch> data =
        List.of(
            new Microbatch(
                samples,
                2 * tokens,
                ids,
                new int[all],
                new double[all],
                new double[samples * tokens * model.patch()]));
    double column =
        2.0
            * samples
            * tokens
            * (passesUp * model.encoder().hidden() + 3 * model.language().hidden());
    assertThat(TwoModuleStep.flops(wider, frozen, data) - TwoModuleStep.flops(model, frozen, data))
        .isEqualTo(column);
  }

  /** The rows of such a step say so, too. */
  @Test
  void rows_frozenEncoder_haveAllGradientsOfTheProjectorButOne() {
    String common = "encoder=tp=2,dp=1 language=tp=2,dp=1 rows=operations frozen=on";
    List<Map<String, Object>> rows = run("mimo-train-step", common).rows();
    assertThat(rows)
        .extracting(row -> row.get("operation"))
        .contains("projector.down.grad.dx", "projector.down.grad.dw", "projector.up.grad.dw")
        .doesNotContain("projector.up.grad.dx");
  }
}
