package org.kernbench.eval.training;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.kernbench.config.ConfigTree;
import org.kernbench.config.Problems;
import org.kernbench.config.UnreadableException;
import org.kernbench.config.UsageException;
import org.kernbench.config.UserFile;
import org.kernbench.eval.output.JsonObject;
import org.kernbench.nn.autograd.RotaryAngles;
import org.kernbench.nn.experts.ExpertsConfig;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.layers.TransformerConfig.Latent;
import org.kernbench.nn.layers.TransformerConfig.Style;
import org.kernbench.nn.parallel.LayoutException;

/**
 * The shape of a model from the {@code config.json} that its publisher gives out with the weights,
 * in the keys of Hugging Face's {@code transformers}, or from YAML with these keys.
 *
 * @param shape of the model
 * @param tied whether the head's weight is the table of the embedding
 */
record ModelFile(TransformerConfig shape, boolean tied) {
  /** Says that there is no file. */
  static final String NONE = "none";

  private static final List<String> LLAMAS = List.of("llama", "mistral", "qwen2", "qwen3");

  private static final List<String> MIXTURES = List.of("mixtral", "qwen3_moe");

  private static final String DEEPSEEK = "deepseek_v3";

  private static final String ORIGINAL = "original_max_position_embeddings";

  private static final long LONGEST = 1 << 20;

  /**
   * Reads a file.
   *
   * @throws UsageException naming file and key of what is missing, wrong or not known
   */
  static ModelFile read(String file) {
    JsonObject json;
    try {
      json = file.matches(".*\\.ya?ml") ? yaml(file) : json(file);
    } catch (UnreadableException | UsageException e) {
      throw new UsageException("config: " + file + ": " + e.getMessage());
    }
    return new ModelFile.Reader(file, json).model();
  }

  private static JsonObject json(String file) throws UnreadableException {
    return JsonObject.read(UserFile.bytes(UserFile.path(file), LONGEST, "a config.json"));
  }

  private static JsonObject yaml(String file) throws UnreadableException {
    String text = UserFile.text(UserFile.path(file), LONGEST, "a shape in YAML");
    Problems problems = new Problems();
    ConfigTree tree = ConfigTree.parse(file, text, problems);
    problems.throwIfAny();
    return JsonObject.ofTexts(tree.plain());
  }

  private record Reader(String file, JsonObject json) {
    ModelFile model() {
      String type = text("model_type");
      if (type.equals("gpt2")) {
        int hidden = number("n_embd");
        int heads = number("n_head");
        int ffn = has("n_inner") ? number("n_inner") : 4 * hidden;
        int vocabulary = number("vocab_size");
        int positions = number("n_positions");
        return model(
            new TransformerConfig(
                file,
                hidden,
                number("n_layer"),
                heads,
                heads,
                divided(hidden, heads, "n_embd", "n_head"),
                ffn,
                vocabulary,
                positions,
                Style.GPT),
            true);
      }
      if (type.equals(DEEPSEEK)) {
        return model(deepseek(), false);
      }
      boolean mixture = MIXTURES.contains(type);
      if (!mixture && !LLAMAS.contains(type)) {
        throw new UsageException(
            "%s: model_type: got \"%s\"; expected gpt2, %s, %s, %s"
                .formatted(
                    file, type, String.join(", ", LLAMAS), String.join(", ", MIXTURES), DEEPSEEK));
      }
      int hidden = number("hidden_size");
      int heads = number("num_attention_heads");
      TransformerConfig dense =
          new TransformerConfig(
              file,
              hidden,
              number("num_hidden_layers"),
              heads,
              has("num_key_value_heads") ? number("num_key_value_heads") : heads,
              has("head_dim")
                  ? number("head_dim")
                  : divided(hidden, heads, "hidden_size", "num_attention_heads"),
              number("intermediate_size"),
              number("vocab_size"),
              number("max_position_embeddings"),
              Style.LLAMA);
      TransformerConfig turned = dense.with(rotary(false));
      return model(mixture ? turned.with(experts(type)) : turned, false);
    }

    /** Latent attention, and experts in all blocks but the first ones. */
    private TransformerConfig deepseek() {
      String scoring = text("scoring_func");
      if (!scoring.equals("sigmoid")) {
        throw new UsageException(
            "%s: scoring_func: got \"%s\"; expected sigmoid".formatted(file, scoring));
      }
      int heads = number("num_attention_heads");
      Latent latent =
          new Latent(
              number("q_lora_rank"),
              number("kv_lora_rank"),
              number("qk_nope_head_dim"),
              number("qk_rope_head_dim"),
              number("v_head_dim"));
      int layers = number("num_hidden_layers");
      try {
        ExpertsConfig experts =
            ExpertsConfig.of(
                    number("n_routed_experts"),
                    number("num_experts_per_tok"),
                    number("moe_intermediate_size"))
                .with(
                    ExpertsConfig.Scoring.SIGMOID,
                    has("norm_topk_prob") && json.flag("norm_topk_prob"),
                    json.number("routed_scaling_factor"))
                .with(new ExpertsConfig.Groups(number("n_group"), number("topk_group")))
                .withBalance(0.001) // the report's; files of models do not say it
                .withDense(
                    has("n_shared_experts") ? number("n_shared_experts") : 0,
                    has("first_k_dense_replace") ? json.whole("first_k_dense_replace") : 0);
        return new TransformerConfig(
                file,
                number("hidden_size"),
                layers,
                heads,
                heads,
                latent.headSize(),
                number("intermediate_size"),
                number("vocab_size"),
                number("max_position_embeddings"),
                Style.LLAMA)
            .with(latent)
            .with(experts)
            .with(rotary(true));
      } catch (LayoutException e) {
        throw new UsageException(file + ": " + e.getMessage());
      }
    }

    /** Experts of all blocks: each has the inner width of Mixtral's, or one of its own. */
    private ExpertsConfig experts(String type) {
      boolean mixtral = type.equals("mixtral");
      if (has("mlp_only_layers") && !json.list("mlp_only_layers").isEmpty()) {
        throw new UsageException(
            file + ": mlp_only_layers: got some; expected none: all blocks have experts here");
      }
      int experts = number(mixtral ? "num_local_experts" : "num_experts");
      int topK = number("num_experts_per_tok");
      if (topK > experts) {
        throw new UsageException(
            "%s: num_experts_per_tok: got %s; expected at most the experts there are, %s"
                .formatted(file, topK, experts));
      }
      boolean normalised = mixtral || (has("norm_topk_prob") && json.flag("norm_topk_prob"));
      return ExpertsConfig.of(
              experts, topK, number(mixtral ? "intermediate_size" : "moe_intermediate_size"))
          .with(ExpertsConfig.Scoring.SOFTMAX, normalised, 1);
    }

    /** Base and stretch of rotary angles. */
    private RotaryAngles rotary(boolean sharpens) {
      try {
        RotaryAngles plain =
            has("rope_theta") ? RotaryAngles.ofBase(json.number("rope_theta")) : RotaryAngles.PLAIN;
        return has("rope_scaling")
            ? stretched(plain, json.object("rope_scaling"), sharpens)
            : plain;
      } catch (UsageException | IllegalArgumentException e) {
        throw new UsageException(file + ": " + e.getMessage());
      }
    }

    private RotaryAngles stretched(RotaryAngles plain, JsonObject how, boolean sharpens) {
      String type = how.text(how.has("rope_type") ? "rope_type" : "type");
      return switch (type) {
        case "default" -> plain;
        case "linear" -> plain.with(new RotaryAngles.Linear(how.number("factor")));
        case "llama3" ->
            plain.with(
                new RotaryAngles.Llama3(
                    how.number("factor"),
                    how.number("low_freq_factor"),
                    how.number("high_freq_factor"),
                    how.number(ORIGINAL)));
        case "yarn" -> yarn(plain, how, sharpens);
        default ->
            throw new UsageException(
                "rope_scaling: type: got \"%s\"; expected default, linear, llama3 or yarn"
                    .formatted(type));
      };
    }

    /**
     * As {@code transformers} reads it.
     *
     * @param sharpens whether scores are multiplied as well, as DeepSeek's are
     */
    private RotaryAngles yarn(RotaryAngles plain, JsonObject how, boolean sharpens) {
      RotaryAngles.Yarn yarn =
          new RotaryAngles.Yarn(
              how.number("factor"),
              how.has("beta_fast") ? how.number("beta_fast") : 32,
              how.has("beta_slow") ? how.number("beta_slow") : 1,
              how.has(ORIGINAL) ? how.number(ORIGINAL) : number("max_position_embeddings"));
      double all = how.has("mscale_all_dim") ? how.number("mscale_all_dim") : 0;
      double one = how.has("mscale") ? how.number("mscale") : 0;
      double length =
          one != 0 && all != 0 ? yarn.sharper(one) / yarn.sharper(all) : yarn.sharper(1);
      return plain
          .with(yarn)
          .with(
              how.has("attention_factor") ? how.number("attention_factor") : length,
              sharpens && all != 0 ? StrictMath.pow(yarn.sharper(all), 2) : 1);
    }

    private ModelFile model(TransformerConfig shape, boolean tiedByDefault) {
      if (shape.heads() % shape.keyHeads() != 0) {
        throw new UsageException(
            "%s: num_key_value_heads: got %s; expected a divisor of num_attention_heads, %s"
                .formatted(file, shape.keyHeads(), shape.heads()));
      }
      boolean tied = has("tie_word_embeddings") ? json.flag("tie_word_embeddings") : tiedByDefault;
      return new ModelFile(shape, tied);
    }

    private boolean has(String key) {
      return json.has(key);
    }

    private String text(String key) {
      return json.textIfAny(key)
          .map(t -> t.toLowerCase(Locale.ROOT))
          .orElseThrow(() -> missing(key, "a text, e.g. \"llama\""));
    }

    private int number(String key) {
      if (!has(key)) {
        throw missing(key, "a whole number of 1 or more");
      }
      int value;
      try {
        value = json.whole(key);
      } catch (UsageException e) {
        throw new UsageException(file + ": " + e.getMessage());
      }
      if (value < 1) {
        throw new UsageException(
            "%s: %s: got %s; expected a whole number of 1 or more".formatted(file, key, value));
      }
      return value;
    }

    private int divided(int all, int heads, String of, String by) {
      if (all % heads != 0) {
        throw new UsageException(
            "%s: %s %s is not a multiple of %s, %s".formatted(file, of, all, by, heads));
      }
      return all / heads;
    }

    private UsageException missing(String key, String expected) {
      return new UsageException(file + ": " + key + " is missing; expected " + expected);
    }
  }

  /** The file that a parameter names; empty for the word that says none. */
  static Optional<ModelFile> ifAny(String file) {
    return file.equals(NONE) ? Optional.empty() : Optional.of(read(file));
  }
}
