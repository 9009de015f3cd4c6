package org.kernbench.eval.training;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.kernbench.eval.training.TrainingBench.Scope;
import org.kernbench.nn.experts.ExpertsConfig;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.parallel.ParallelLayout.ContextExchange;

/** What must divide what, so that each rank of a layout has as much as the others. */
final class LayoutRules {
  private final Setup setup;
  private final LayoutGrid grid;
  private final TransformerConfig config;
  private final List<String> broken = new ArrayList<>();

  private LayoutRules(Setup setup, LayoutGrid grid) {
    this.setup = setup;
    this.grid = grid;
    this.config = setup.config();
  }

  /** The rules that a step breaks in a layout, each with what was expected. */
  static List<String> broken(Setup setup, LayoutGrid grid) {
    LayoutRules rules = new LayoutRules(setup, grid);
    rules.samples();
    rules.experts();
    rules.heads();
    rules.tokens();
    return List.copyOf(rules.broken);
  }

  private void breaks(String form, Object... values) {
    broken.add(form.formatted(values));
  }

  private void samples() {
    if (setup.batch() % grid.dp() != 0) {
      int dp = grid.dp();
      breaks(
          "batch is %s, dp %s; expected a batch that dp divides, e.g. batch=%s",
          setup.batch(), dp, Math.ceilDiv(setup.batch(), dp) * (long) dp);
      return;
    }
    int microbatches = setup.pipe().microbatches();
    if (setup.batch() / grid.dp() % microbatches != 0) {
      breaks(
          "batch is %s, dp %s, microbatches %s; expected a batch that dp x microbatches, %s, divides",
          setup.batch(), grid.dp(), microbatches, grid.dp() * microbatches);
    }
  }

  private void experts() {
    Optional<ExpertsConfig> experts = config.experts();
    if (experts.isEmpty()) {
      return;
    }
    int ep = setup.experts().ep();
    int etp = setup.experts().etp();
    if (experts.get().experts() % ep != 0 || experts.get().ffn() % etp != 0) {
      breaks(
          "ep is %s, etp %s; expected a divisor of %s experts, and one of %s inner features",
          ep, etp, experts.get().experts(), experts.get().ffn());
    }
    try {
      setup.experts().check(grid.tp(), grid.cp(), grid.dp());
    } catch (LayoutException refused) {
      broken.add(String.valueOf(refused.getMessage()));
    }
    if (grid.tp() > 1 && !setup.sp()) {
      breaks(
          "experts with tp %s and sp=off: every tensor-parallel rank would send the same tokens; expected sp=on",
          grid.tp());
    }
  }

  private void heads() {
    int tp = grid.tp();
    if (setup.context() == ContextExchange.ALL_TO_ALL
        && config.keyHeads() % (tp * grid.cp()) != 0) {
      breaks(
          "context=ulysses divides heads over tp x cp, %s x %s; expected a divisor of %s heads of keys, or context=ring",
          tp, grid.cp(), config.keyHeads());
    }
    Map<String, Integer> divided = new LinkedHashMap<>();
    if (setup.scope() != Scope.MLP) {
      divided.put("heads", config.heads());
      if (!sharesKeys(tp)) {
        divided.put("heads of keys", config.keyHeads());
      }
    }
    if (config.experts().filter(e -> e.dense() == 0).isEmpty()) {
      divided.put("inner features", config.ffn());
    }
    config
        .experts()
        .filter(e -> e.shared() > 0)
        .ifPresent(e -> divided.put("shared inner features", e.shared() * e.ffn()));
    if (setup.scope() == Scope.STEP) {
      divided.put("ids", config.vocabulary());
    }
    int most = divided.values().stream().reduce(0, LayoutRules::commonDivisor);
    if (!divided.isEmpty() && most % tp != 0) {
      List<String> left = new ArrayList<>();
      List<String> each = new ArrayList<>();
      divided.forEach((what, n) -> {
        each.add(n + " " + what);
        if (n % tp != 0) {
          left.add(n + " " + what);
        }
      });
      breaks(
          "tp is %s, which does not divide %s; expected a divisor of %s, so that every rank has as many of %s",
          tp, String.join(", ", left), most, String.join(", ", each));
    }
  }

  /** Whether ranks have parts of a head of keys each, and gather it. */
  private boolean sharesKeys(int tp) {
    int heads = config.keyHeads();
    return config.latent().isEmpty()
        && tp > heads
        && tp % heads == 0
        && config.headSize() % (tp / heads) == 0;
  }

  private void tokens() {
    int rows = setup.sp() ? grid.cp() * grid.tp() : grid.cp();
    int chunks = grid.cp() > 1 ? 2 * grid.cp() : 1;
    int multiple = rows / commonDivisor(rows, chunks) * chunks;
    if (setup.tokens() % multiple != 0) {
      breaks(
          "tokens is %s; expected a multiple of %s, so that every rank has as many",
          setup.tokens(), multiple);
    }
    boolean learnsPositions =
        setup.scope() == Scope.STEP && config.style() == TransformerConfig.Style.GPT;
    if (learnsPositions && setup.tokens() > config.maxSequence()) {
      breaks(
          "tokens is %s; expected at most %s, the positions that %s learns",
          setup.tokens(), config.maxSequence(), config.name());
    }
  }

  private static int commonDivisor(int a, int b) {
    return b == 0 ? a : commonDivisor(b, a % b);
  }
}
