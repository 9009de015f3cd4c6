package org.kernbench.eval.training;

import java.util.List;
import org.kernbench.config.UnreadableException;
import org.kernbench.config.UsageException;
import org.kernbench.config.UserFile;
import org.kernbench.device.Mode;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.nn.experts.ExpertsConfig;
import org.kernbench.nn.experts.Routing;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.parallel.ExpertGroups;
import org.kernbench.nn.parallel.LayoutException;

/** Parameters of benches that train a model with experts. */
final class ExpertParams {
  private static final long LONGEST = 64 << 20;
  private static final long SEED = 7;
  private static final String DRAWN = "drawn";

  private static final Param<Integer> EXPERTS =
      Param.integer("experts", 0, 0, 4096, "experts of a block; 0 for as many as the model has");
  private static final Param<Integer> TOPK =
      Param.integer("topk", 0, 0, 4096, "experts that a token goes to; 0 for the model's");
  private static final Param<Integer> EP =
      Param.integer("ep", 1, 1, 4096, "ranks over which experts are divided");
  private static final Param<Integer> ETP =
      Param.integer("etp", 1, 1, 4096, "ranks over which each expert is divided");
  private static final Param<String> ROUTING =
      Param.word(
          "routing",
          DRAWN,
          "drawn, even, top-k, or a file.csv",
          "how a token's experts are chosen; top-k by the router's scores, which needs values");
  private static final Param<Integer> SKEW =
      Param.integer(
          "skew", 0, 0, 1600, "how unlike experts are drawn: hundredths of Zipf's exponent");
  private static final Param<Integer> CAPACITY =
      Param.integer(
          "capacity", 0, 0, 100000, "tokens that an expert takes at most, % of the mean; 0: any");
  private static final Param<Integer> AUXILIARY =
      Param.integer("auxiliary", 0, 0, 1000, "factor of the auxiliary loss, thousandths");

  private static final Param<Integer> BALANCE =
      Param.integer(
          "balance",
          0,
          0,
          1000,
          "speed of the bias that makes experts equally busy, thousandths; 0 for the model's");

  static final List<Param<?>> ALL =
      List.of(EXPERTS, TOPK, EP, ETP, ROUTING, SKEW, CAPACITY, AUXILIARY, BALANCE);

  private ExpertParams() {}

  /**
   * A model with the experts that are asked for; one without if neither it nor the user has any.
   */
  static TransformerConfig of(TransformerConfig config, BenchContext context) {
    int experts = context.param(EXPERTS);
    int topK = context.param(TOPK);
    if (config.experts().isEmpty() && experts == 0) {
      if (topK > 0 || context.param(EP) > 1 || context.param(ETP) > 1) {
        throw new UsageException(
            "topk, ep and etp are for models with experts; %s has none: say experts=8, or take another model, e.g. tiny-moe"
                .formatted(config.name()));
      }
      if (context.param(SKEW) > 0
          || context.param(CAPACITY) > 0
          || context.param(AUXILIARY) > 0
          || context.param(BALANCE) > 0
          || !context.param(ROUTING).equals(DRAWN)) {
        throw new UsageException(
            """
            routing, skew, capacity, auxiliary and balance are for models with experts; %s has \
            none: say experts=8, or take another model, e.g. tiny-moe\
            """
                .formatted(config.name()));
      }
      return config;
    }
    if (config.style().isPlain()) {
      throw new UsageException(
          "experts of model %s: these have a gate, as those of Mixtral; expected a model in Llama's style, e.g. tiny-moe"
              .formatted(config.name()));
    }
    if (context.param(SKEW) > 0 && !context.param(ROUTING).equals(DRAWN)) {
      throw new UsageException(
          "skew: got %s with routing %s, which draws no experts; expected routing=drawn beside it"
              .formatted(context.param(SKEW), context.param(ROUTING)));
    }
    try {
      ExpertsConfig before =
          config.experts().orElseGet(() -> ExpertsConfig.of(Math.max(experts, 1), 1, config.ffn()));
      ExpertsConfig asked =
          before
              .with(experts == 0 ? before.experts() : experts, topK == 0 ? before.topK() : topK)
              .withLimits(context.param(AUXILIARY) / 1000.0, context.param(CAPACITY) / 100.0)
              .with(routing(context.param(ROUTING), context.param(SKEW) / 100.0));
      int balance = context.param(BALANCE);
      if (balance > 0 && asked.routing().isKnown()) {
        throw new UsageException(
            "balance: got %s with routing %s, which looks at no scores; expected routing=top-k beside it"
                .formatted(balance, asked.routing().text()));
      }
      asked = balance > 0 ? asked.withBalance(balance / 1000.0) : asked;
      if (asked.routing().isKnown()) {
        asked.routing().of(asked, 0, 0, 0, 1); // a list is of other experts?
      }
      return config.with(asked);
    } catch (LayoutException e) {
      throw new UsageException(String.valueOf(e.getMessage()));
    }
  }

  private static Routing routing(String word, double skew) {
    return switch (word) {
      case DRAWN -> new Routing.Drawn(SEED, skew);
      case "even" -> new Routing.Even();
      case "top-k" -> new Routing.ByScore();
      default -> listed(word);
    };
  }

  private static Routing listed(String word) {
    if (!word.endsWith(".csv")) {
      throw new UsageException(
          "routing: got \"%s\"; expected drawn, even, top-k, or a file.csv with a line for each token"
              .formatted(word));
    }
    try {
      String what = "experts of each token, a line each";
      byte[] text = UserFile.bytes(UserFile.path(word), LONGEST, what);
      return Routing.Listed.parse(word, new String(text, java.nio.charset.StandardCharsets.UTF_8));
    } catch (UnreadableException e) {
      throw new UsageException("routing: " + word + ": " + e.getMessage());
    }
  }

  /** Over which ranks experts are divided. */
  static ExpertGroups.Sizes sizes(BenchContext context) {
    return new ExpertGroups.Sizes(context.param(EP), context.param(ETP));
  }

  /** A part of a block that has no experts. */
  static TransformerConfig refused(TransformerConfig config) {
    if (config.experts().isPresent()) {
      throw new UsageException(
          "model %s has experts in place of the feed-forward part; expected a dense model, or bench transformer-block"
              .formatted(config.name()));
    }
    return config;
  }

  /** Refuses a choice of experts that needs values where there are none. */
  static void check(TransformerConfig config, Mode mode) {
    if (mode == Mode.TIME && config.experts().filter(e -> !e.routing().isKnown()).isPresent()) {
      throw new UsageException(
          "routing: got \"top-k\" in mode time, where there are no values and so no scores to choose experts by; expected drawn, even, a file.csv, or --mode full");
    }
  }

  /** Says what experts there are. */
  static void conditions(Outcome outcome, ExpertsConfig e) {
    outcome.condition("experts_of_block", e.experts()).condition("top", e.topK());
  }
}
