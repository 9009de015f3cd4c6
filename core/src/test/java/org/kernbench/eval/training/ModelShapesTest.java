package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.nn.autograd.RotaryAngles;
import org.kernbench.nn.layers.TransformerConfig;

/** Shapes by name and by file against the sizes that publishers give, and what is too large. */
class ModelShapesTest {
  @TempDir private Path dir;

  /** Matrices of all blocks and both tables, in billions. */
  private static double billions(TransformerConfig c, boolean tied) {
    double tables = (tied ? 1.0 : 2.0) * c.vocabulary() * c.hidden();
    double experts = c.experts().map(e -> 3.0 * e.experts() * e.ffn() * c.hidden()).orElse(0.0);
    return (c.layers() * (RankMemory.block(c) + experts) + tables) / 1e9;
  }

  @Test
  void presets_haveTheSizesOfTheirNames() {
    // 8.03, 70.6, 174.6 (GPT-3 ties its tables), 0.124 billion parameters; biases and norms apart
    assertThat(billions(TransformerConfig.llama8b(), false)).isCloseTo(8.03, within(0.01));
    assertThat(billions(TransformerConfig.llama70b(), false)).isCloseTo(70.55, within(0.05));
    assertThat(billions(TransformerConfig.gpt3(), true)).isCloseTo(174.6, within(0.2));
    assertThat(billions(TransformerConfig.gpt2Small(), true)).isCloseTo(0.1237, within(0.001));
    assertThat(billions(TransformerConfig.mixtral8x7b(), false)).isCloseTo(46.7, within(0.05));
    assertThat(billions(TransformerConfig.qwen30b(), false)).isCloseTo(30.5, within(0.05));
  }

  private String file(String json) throws IOException {
    return Files.writeString(dir.resolve("config.json"), json).toString();
  }

  @Test
  void configJson_llama_isTheShape() throws IOException {
    ModelFile model =
        ModelFile.read(
            file(
                """
                {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
                 "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
                 "vocab_size": 128256, "max_position_embeddings": 131072,
                 "rope_theta": 500000.0, "tie_word_embeddings": false,
                 "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                  "original_max_position_embeddings": 8192, "rope_type": "llama3"}}
                """));
    TransformerConfig c = TransformerConfig.llama8b();
    assertThat(model.tied()).isFalse();
    assertThat(model.shape().with(32, 128256))
        .usingRecursiveComparison()
        .ignoringFields("name")
        .isEqualTo(c);
  }

  @Test
  void configJson_mixtures_areTheShapes() throws IOException {
    ModelFile mixtral =
        ModelFile.read(
            file(
                """
                {"model_type": "mixtral", "hidden_size": 4096, "num_hidden_layers": 32,
                 "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
                 "vocab_size": 32000, "max_position_embeddings": 32768,
                 "num_local_experts": 8, "num_experts_per_tok": 2, "rope_theta": 1000000.0}
                """));
    assertThat(mixtral.shape())
        .usingRecursiveComparison()
        .ignoringFields("name")
        .isEqualTo(TransformerConfig.mixtral8x7b());
    ModelFile qwen =
        ModelFile.read(
            file(
                """
                {"model_type": "qwen3_moe", "hidden_size": 2048, "num_hidden_layers": 48,
                 "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128,
                 "intermediate_size": 6144, "moe_intermediate_size": 768, "vocab_size": 151936,
                 "max_position_embeddings": 40960, "num_experts": 128, "num_experts_per_tok": 8,
                 "norm_topk_prob": true, "mlp_only_layers": [], "rope_theta": 1000000.0,
                 "rope_scaling": null}
                """));
    assertThat(qwen.shape())
        .usingRecursiveComparison()
        .ignoringFields("name")
        .isEqualTo(TransformerConfig.qwen30b());
    String wrong =
        file(
            "{\"model_type\": \"mixtral\", \"hidden_size\": 64, \"num_attention_heads\": 4,"
                + " \"num_hidden_layers\": 2, \"intermediate_size\": 64, \"vocab_size\": 96,"
                + " \"max_position_embeddings\": 64, \"num_local_experts\": 2,"
                + " \"num_experts_per_tok\": 3}");
    assertThatThrownBy(() -> ModelFile.read(wrong))
        .hasMessageContaining(
            "num_experts_per_tok: got 3; expected at most the experts there are, 2");
  }

  /** Keys and numbers of the file that its publisher gives out. */
  @Test
  void configJson_deepseek_isTheShape() throws IOException {
    ModelFile model =
        ModelFile.read(
            file(
                """
                {"model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61,
                 "num_attention_heads": 128, "num_key_value_heads": 128, "q_lora_rank": 1536,
                 "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
                 "v_head_dim": 128, "intermediate_size": 18432, "moe_intermediate_size": 2048,
                 "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8,
                 "n_group": 8, "topk_group": 4, "routed_scaling_factor": 2.5,
                 "scoring_func": "sigmoid", "topk_method": "noaux_tc", "norm_topk_prob": true,
                 "first_k_dense_replace": 3, "vocab_size": 129280, "rope_theta": 10000,
                 "rope_scaling": {"beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": 1.0,
                  "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096, "type": "yarn"},
                 "max_position_embeddings": 163840, "tie_word_embeddings": false}
                """));
    assertThat(model.shape())
        .usingRecursiveComparison()
        .ignoringFields("name")
        .isEqualTo(TransformerConfig.deepseekV3());
  }

  /**
   * Multi-head latent attention of DeepSeek-V3, by hand: 7168 x 1536 + 1536 x 24576 to queries,
   * 7168 x 576 + 512 x 32768 to keys and values, 16384 x 7168 back.
   */
  @Test
  void latentAttention_hasTheMatricesOfThePaper() {
    assertThat(TransformerConfig.deepseekV3().attentionElements())
        .isEqualTo(11_010_048L + 37_748_736 + 4_128_768 + 16_777_216 + 117_440_512);
  }

  /** Of models that are not DeepSeek's, what is turned is longer, scores are as they are. */
  @Test
  void configJson_yarnOfOthers_isToldByItsKeys() throws IOException {
    String shape =
        """
        {"model_type": "qwen2", "hidden_size": 64, "num_hidden_layers": 2,
         "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 96,
         "max_position_embeddings": 32768, "rope_scaling": %s}
        """;
    RotaryAngles yarn =
        ModelFile.read(file(shape.formatted("{\"type\": \"yarn\", \"factor\": 4.0}")))
            .shape()
            .rotary();
    assertThat(yarn.stretch()).isEqualTo(new RotaryAngles.Yarn(4, 32, 1, 32768));
    assertThat(yarn.length()).isEqualTo(1 + 0.1 * Math.log(4));
    assertThat(yarn.scores()).isEqualTo(1);
    String linear = file(shape.formatted("{\"rope_type\": \"linear\", \"factor\": 2}"));
    assertThat(ModelFile.read(linear).shape().rotary().stretch())
        .isEqualTo(new RotaryAngles.Linear(2));
    String unknown = file(shape.formatted("{\"rope_type\": \"longrope\", \"factor\": 2}"));
    assertThatThrownBy(() -> ModelFile.read(unknown))
        .hasMessageEndingWith(
            "rope_scaling: type: got \"longrope\"; expected default, linear, llama3 or yarn");
    String shrunk = file(shape.formatted("{\"rope_type\": \"linear\", \"factor\": 0.5}"));
    assertThatThrownBy(() -> ModelFile.read(shrunk))
        .hasMessageEndingWith(
            "rotary angles: factor 0.5; expected a positive number, of a base above 1");
  }

  @Test
  void configJson_gpt2_tiesItsTables() throws IOException {
    ModelFile model =
        ModelFile.read(
            file(
                """
                {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12,
                 "vocab_size": 50257, "n_positions": 1024}
                """));
    assertThat(model.tied()).isTrue();
    assertThat(billions(model.shape(), true)).isCloseTo(0.1237, within(0.001));
  }

  /** The same keys without braces and quotes. */
  @Test
  void yaml_withTheKeysOfAConfigJson_isTheShape() throws IOException {
    Path yaml =
        Files.writeString(
            dir.resolve("model.yaml"),
            """
            # a small Qwen3 with experts
            model_type: qwen3_moe
            hidden_size: 64
            num_hidden_layers: 3
            num_attention_heads: 4
            num_key_value_heads: 2
            head_dim: 16
            intermediate_size: 96
            num_experts: 8
            num_experts_per_tok: 2
            moe_intermediate_size: 32
            norm_topk_prob: true
            mlp_only_layers: []
            vocab_size: 128
            max_position_embeddings: 256
            rope_theta: 1.0e+6
            rope_scaling:
            """);
    String json =
        """
        {"model_type": "qwen3_moe", "hidden_size": 64, "num_hidden_layers": 3,
         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
         "intermediate_size": 96, "num_experts": 8, "num_experts_per_tok": 2,
         "moe_intermediate_size": 32, "norm_topk_prob": true, "mlp_only_layers": [],
         "vocab_size": 128, "max_position_embeddings": 256, "rope_theta": 1000000.0}
        """;
    assertThat(ModelFile.read(yaml.toString()))
        .usingRecursiveComparison()
        .ignoringFields("shape.name")
        .isEqualTo(ModelFile.read(file(json)));
    Path dense =
        Files.writeString(dir.resolve("dense.yml"), Files.readString(yaml).replace("[]", "[0, 1]"));
    assertThatThrownBy(() -> ModelFile.read(dense.toString()))
        .hasMessageContaining("mlp_only_layers: got some; expected none");
    Path torn = Files.writeString(dir.resolve("torn.yaml"), "model_type: [llama\nhidden_size");
    assertThatThrownBy(() -> ModelFile.read(torn.toString())).hasMessageContaining("torn.yaml:");
    Path wrong =
        Files.writeString(dir.resolve("wrong.yaml"), "model_type: llama\nhidden_size: wide\n");
    assertThatThrownBy(() -> ModelFile.read(wrong.toString()))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("hidden_size");
  }

  @Test
  void configJson_wrong_saysWhichKey() throws IOException {
    String other = file("{\"model_type\": \"mamba\"}");
    assertThatThrownBy(() -> ModelFile.read(other))
        .isInstanceOf(UsageException.class)
        .hasMessage(
            other
                + ": model_type: got \"mamba\"; expected gpt2, llama, mistral, qwen2, qwen3,"
                + " mixtral, qwen3_moe, deepseek_v3");
    String scores = file("{\"model_type\": \"deepseek_v3\", \"scoring_func\": \"softmax\"}");
    assertThatThrownBy(() -> ModelFile.read(scores))
        .hasMessage(scores + ": scoring_func: got \"softmax\"; expected sigmoid");
    String few = file("{\"model_type\": \"llama\", \"hidden_size\": 64}");
    assertThatThrownBy(() -> ModelFile.read(few))
        .hasMessage(few + ": num_attention_heads is missing; expected a whole number of 1 or more");
    String none = dir.resolve("no.json").toString();
    assertThatThrownBy(() -> ModelFile.read(none)).isInstanceOf(UsageException.class);
  }

  private static void run(String... params) {
    RunOptions options = RunOptions.DEFAULT.withMode(Mode.TIME).withParams(List.of(params));
    Runner.of("test", Progress.SILENT).run(BenchRegistry.standard().find("train-step"), options);
  }

  private static double gflop(String bench, String... params) {
    RunOptions options = RunOptions.DEFAULT.withMode(Mode.TIME).withParams(List.of(params));
    Map<String, Object> metrics =
        Runner.of("test", Progress.SILENT)
            .run(BenchRegistry.standard().find(bench), options)
            .metrics();
    assertThat(metrics.get("expert_copies")).isEqualTo(48L * 2 * 2);
    return ((BigDecimal) metrics.get("rank_gflop")).doubleValue();
  }

  /**
   * A block of few is one with experts, the first of two has none. Multiply-adds for each of 96
   * tokens by hand: attention 48 x 24 + 24 x 96 + 48 x 20 + 16 x 120 + 72 x 48 of products and 24.5
   * keys of 12 heads of 8 + 6; 8 scores, three experts of 3 x 48 x 24; a dense part of 3 x 48 x 96;
   * 48 x 96 for the head.
   */
  @Test
  void blocksOfDeepSeek_haveExpertsButTheFirst() {
    double attention = 48 * 24 + 24 * 96 + 48 * 20 + 16 * 120 + 72 * 48 + 24.5 * 12 * 14;
    double experts = 48 * 8 + 3 * 3 * 48 * 24;
    double block = 6e-9 * 96 * (attention + experts);
    double step = block + 6e-9 * 96 * (attention + 3 * 48 * 96 + 48 * 96);
    assertThat(gflop("transformer-block", "model=tiny-deepseek", "tp=1", "spread=lead"))
        .isCloseTo(block, within(6e-5));
    assertThat(gflop("train-step", "model=tiny-deepseek", "tp=1", "spread=lead"))
        .isCloseTo(step, within(6e-5));
  }

  @Test
  void tooLarge_isRefusedBeforeTheRunWithLayoutsThatFit() {
    assertThatThrownBy(() ->
            run(
                "model=llama-3.1-8b",
                "layers=32",
                "vocabulary=128256",
                "tp=1",
                "rank_level=cube",
                "tokens=1024",
                "batch=1"))
        .isInstanceOf(UsageException.class)
        .hasMessageStartingWith("layout tp=1 cp=1 dp=1 pp=1 needs at least ")
        .hasMessageContaining("expected one that fits, e.g. tp=");
  }
}
