package org.kernbench.nn.autograd;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.nn.Ranks.Devices;
import org.kernbench.nn.autograd.Mapping.Move;
import org.kernbench.nn.autograd.TrainingRun.How;
import org.kernbench.nn.autograd.TrainingRun.Result;
import org.kernbench.nn.autograd.TrainingRun.Setup;
import org.kernbench.nn.autograd.TrainingRun.Training;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.DType;
import org.kernbench.torch.ProcessGroup;

/**
 * The mutation matrix of {@code docs/spec/megatron.md} 12.4, as far as it concerns one module: each
 * mistake that is made on purpose fails an oracle, in a layout where the right recipe passes all of
 * them.
 */
final class MutationTest {
  private static final TransformerConfig SMALL =
      new TransformerConfig("small", 8, 1, 4, 4, 2, 8, 8, 8, TransformerConfig.Style.GPT);
  private static final Setup SETUP =
      new Setup(SMALL, 8, 2, 1, Training.SGD, 2, 2, 2, true, How.PLAIN, Recipe.STANDARD);
  private static final Setup NO_SP =
      new Setup(SMALL, 8, 2, 1, Training.SGD, 2, 2, 2, false, How.PLAIN, Recipe.STANDARD);
  private static final Setup LLAMA =
      new Setup(
          new TransformerConfig("small", 8, 1, 4, 4, 2, 8, 8, 8, TransformerConfig.Style.LLAMA),
          8,
          2,
          1,
          Training.SGD,
          2,
          2,
          2,
          true,
          How.PLAIN,
          Recipe.STANDARD);
  private static final java.util.Map<Setup, Result> RIGHT =
      new java.util.concurrent.ConcurrentHashMap<>();

  /** What an oracle looks at. */
  private enum Oracle {
    LOSS,
    GRADIENTS,
    SCALE,
    REPLICAS,
    STEPS
  }

  /** What is done wrong. */
  private enum Mutant {
    // mappings: a collective that is missing, one too many, another one, another axis
    COPY_TO_FORGETS_THE_SUM(NO_SP, () -> back(Mapping.COPY_TO, Move.KEEP)),
    REDUCE_FROM_FORGETS_THE_SUM(NO_SP, () -> front(Mapping.REDUCE_FROM, "down", Move.KEEP)),
    REDUCE_FROM_SUMS_GRADIENTS_TOO(NO_SP, () -> back(Mapping.REDUCE_FROM, Move.ALL_REDUCE)),
    ENTRY_SPLITS_GRADIENTS_INSTEAD_OF_SUMMING(
        SETUP, () -> back(Mapping.GATHER_FROM_SEQUENCE, "", Move.SPLIT_FIRST)),
    EXIT_SPLITS_INSTEAD_OF_SUMMING(
        SETUP, () -> front(Mapping.REDUCE_SCATTER_TO_SEQUENCE, "output", Move.SPLIT_FIRST)),
    EXIT_CUTS_COLUMNS_INSTEAD_OF_ROWS(
        SETUP, () -> front(Mapping.REDUCE_SCATTER_TO_SEQUENCE, "down", Move.REDUCE_SCATTER_LAST)),
    ENTRY_JOINS_COLUMNS_INSTEAD_OF_ROWS(
        SETUP, () -> front(Mapping.GATHER_FROM_SEQUENCE, "", Move.GATHER_LAST)),
    EXIT_GATHERS_GRADIENTS_OF_COLUMNS(
        SETUP, () -> back(Mapping.REDUCE_SCATTER_TO_SEQUENCE, Move.GATHER_LAST)),
    // cross entropy
    LOSS_FORGETS_THE_SUM_OF_EXPONENTIALS(
        SETUP, () -> front(Mapping.REDUCE_FROM, "cross_entropy.sum", Move.KEEP)),
    LOSS_FORGETS_THE_TARGETS_OF_OTHERS(
        SETUP, () -> front(Mapping.REDUCE_FROM, "cross_entropy.target", Move.KEEP)),
    // context parallelism
    KEYS_FORGET_THE_GRADIENTS_OF_OTHER_PARTS(
        SETUP, () -> back(Mapping.GATHER_FROM_SEQUENCE, "context", Move.SPLIT_FIRST)),
    POSITIONS_ARE_THOSE_IN_THE_PART(SETUP, MutationTest::localPositions),
    POSITIONS_ARE_THOSE_IN_THE_PART_WITH_ROTATION(LLAMA, MutationTest::localPositions),
    GRADIENTS_SKIP_THE_CP_SUM(SETUP, () -> groups(List.of("tp", "dp"))),
    GRADIENTS_SKIP_THE_DP_SUM(SETUP, () -> groups(List.of("tp", "cp"))),
    // finalising gradients
    GRADIENTS_SKIP_THE_TP_SUM_OF_SEQUENCE_PARALLEL_PARAMETERS(SETUP, () -> groups(List.of("dpCp"))),
    GRADIENTS_OF_ALL_PARAMETERS_ARE_SUMMED_OVER_TP(NO_SP, MutationTest::alwaysOverTp),
    GRADIENTS_ARE_DIVIDED_BY_DP(SETUP, () -> factor(0.5)),
    GRADIENTS_ARE_MULTIPLIED_BY_CP(SETUP, () -> factor(2)),
    TOKENS_ARE_COUNTED_OVER_DP_ONLY(SETUP, () -> tokens("dp")),
    TOKENS_ARE_COUNTED_ON_TP_RANKS_TOO(SETUP, () -> tokens("tp")),
    // biases are 0 at first
    BIAS_IS_ADDED_BEFORE_THE_SUM(NO_SP.forSteps(2), MutationTest::biasBeforeSum),
    BIAS_IS_ADDED_BEFORE_THE_SUM_WITH_SEQUENCE_PARALLELISM(
        SETUP.forSteps(2), MutationTest::biasBeforeSum),
    NORM_COUNTS_REPLICATED_PARAMETERS_ON_EVERY_RANK(SETUP, () -> norm(true)),
    NORM_COUNTS_ONLY_THE_FIRST_RANKS_PARTS(SETUP, () -> norm(false));

    private final Setup setup;
    private final Supplier<Recipe> recipe;

    Mutant(Setup setup, Supplier<Recipe> recipe) {
      this.setup = setup;
      this.recipe = recipe;
    }
  }

  // ---- mutants ----

  private static Recipe back(Mapping wrong, Move move) {
    return back(wrong, "", move);
  }

  /** Another move backwards, of mappings whose place contains a word; no word, no context. */
  private static Recipe back(Mapping wrong, String word, Move move) {
    return new Recipe() {
      @Override
      public Move backward(Mapping mapping, String place) {
        return mapping == wrong && at(place, word) ? move : mapping.backward();
      }
    };
  }

  private static Recipe front(Mapping wrong, String word, Move move) {
    return new Recipe() {
      @Override
      public Move forward(Mapping mapping, String place) {
        return mapping == wrong && at(place, word) ? move : mapping.forward();
      }
    };
  }

  /** The exchange of keys and values has the same mapping as the entry of a region. */
  private static boolean at(String place, String word) {
    String part = place.replace(".grad", "");
    return word.isEmpty() ? !part.endsWith("context") : part.endsWith(word);
  }

  private static Recipe localPositions() {
    return new Recipe() {
      @Override
      public int[] positions(SequencePart part) {
        int[] local = new int[part.own().length];
        for (int i = 0; i < local.length; i++) {
          local[i] = i;
        }
        return local;
      }
    };
  }

  private static ProcessGroup group(ParallelLayout layout, String name) {
    return switch (name) {
      case "tp" -> layout.tp();
      case "cp" -> layout.cp();
      case "dp" -> layout.dp();
      default -> layout.dpCp();
    };
  }

  private static Recipe groups(List<String> names) {
    return new Recipe() {
      @Override
      public List<ProcessGroup> gradientGroups(Parameter p, ParallelLayout layout) {
        List<ProcessGroup> groups = new ArrayList<>();
        for (String name : names) {
          if (!name.equals("tp") || p.sharding().sequenceParallel()) {
            groups.add(group(layout, name));
          }
        }
        return groups;
      }
    };
  }

  private static Recipe alwaysOverTp() {
    return new Recipe() {
      @Override
      public List<ProcessGroup> gradientGroups(Parameter p, ParallelLayout layout) {
        return p.sharding().axis().isPresent()
            ? List.of(layout.dpCp())
            : List.of(layout.tp(), layout.dpCp());
      }
    };
  }

  private static Recipe factor(double factor) {
    return new Recipe() {
      @Override
      public double gradientFactor(ParallelLayout layout) {
        return factor;
      }
    };
  }

  private static Recipe tokens(String group) {
    return new Recipe() {
      @Override
      public ProcessGroup tokenGroup(ParallelLayout layout) {
        return group(layout, group);
      }
    };
  }

  private static Recipe biasBeforeSum() {
    return new Recipe() {
      @Override
      public boolean addsBiasToTheSum() {
        return false;
      }
    };
  }

  private static Recipe norm(boolean everything) {
    return new Recipe() {
      @Override
      public boolean countsInNorm(Parameter parameter, ParallelLayout layout) {
        return everything || layout.tp().rank() == 0;
      }
    };
  }

  // ---- oracles ----

  private static Result oneRank(Setup setup) {
    return RIGHT.computeIfAbsent(setup.onOneRank(), TrainingRun::of);
  }

  private static List<Oracle> failing(Setup setup) {
    return failing(setup, Devices.ONE_PE);
  }

  private static List<Oracle> failing(Setup setup, Devices devices) {
    Result expected = oneRank(setup);
    Result got = TrainingRun.of(setup, devices, DType.F64);
    List<Oracle> failing = new ArrayList<>();
    if (!(TrainingRun.lossError(got, expected) < 1e-10)) {
      failing.add(Oracle.LOSS);
    }
    if (!(TrainingRun.worst(got.grads(), expected.grads()) < 1e-10)) {
      failing.add(Oracle.GRADIENTS);
    }
    double ratio = TrainingRun.norm(got.grads()) / TrainingRun.norm(expected.grads());
    if (!(Math.abs(ratio - 1) < 1e-9)) {
      failing.add(Oracle.SCALE);
    }
    if (!got.unequal().isEmpty()) {
      failing.add(Oracle.REPLICAS);
    }
    if (!(TrainingRun.worst(got.parameters(), expected.parameters()) < 1e-10)) {
      failing.add(Oracle.STEPS);
    }
    return failing;
  }

  @Test
  void rightRecipe_passesEveryOracle() {
    for (Setup setup : List.of(SETUP, NO_SP, LLAMA)) {
      assertThat(failing(setup)).isEmpty();
    }
  }

  @ParameterizedTest
  @EnumSource
  void mutant_failsAnOracle(Mutant mutant) {
    List<Oracle> failing = failing(mutant.setup.with(mutant.recipe.get()));
    if (Boolean.getBoolean("kernbench.tests.show")) {
      System.out.println(mutant + " " + failing);
    }
    assertThat(failing).isNotEmpty();
  }

  @Test
  void rightRecipe_onPackages_passesEveryOracle() {
    assertThat(failing(SETUP, Devices.PACKAGES)).isEmpty();
  }

  /** One of several ranks that are packages, all PEs of which compute. */
  @ParameterizedTest
  @EnumSource(names = {"COPY_TO_FORGETS_THE_SUM", "BIAS_IS_ADDED_BEFORE_THE_SUM"})
  void mutant_onPackages_failsAnOracle(Mutant mutant) {
    assertThat(failing(mutant.setup.with(mutant.recipe.get()), Devices.PACKAGES)).isNotEmpty();
  }

  @Tag("slow")
  @ParameterizedTest
  @EnumSource
  void everyMutant_onPackages_failsTheSameOracles(Mutant mutant) {
    Setup wrong = mutant.setup.with(mutant.recipe.get());
    assertThat(failing(wrong, Devices.PACKAGES)).isNotEmpty().isEqualTo(failing(wrong));
  }
}
