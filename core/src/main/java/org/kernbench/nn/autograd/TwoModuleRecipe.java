package org.kernbench.nn.autograd;

import java.util.List;
import org.kernbench.nn.autograd.Mapping.Move;
import org.kernbench.nn.parallel.ModuleRole;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.torch.ProcessGroup;

/**
 * The decisions of {@link Recipe} for one of two modules: gradients of both are divided by the
 * tokens of the language model. A single module is the language model. Here the {@link Fault}s come
 * in that are not the bridge's.
 */
public final class TwoModuleRecipe implements Recipe {
  private static final String FIRST_LAYER = "layers.0.";

  /** More rows than any batch has. */
  private static final long FAR = 1L << 32;

  private final ModuleRole role;
  private final ParallelLayout language;
  private final Fault fault;

  public TwoModuleRecipe(ModuleRole role, ParallelLayout language, Fault fault) {
    this.role = role;
    this.language = language;
    this.fault = fault;
  }

  /** That of a single module. */
  public static Recipe of(ParallelLayout layout, Fault fault) {
    return new TwoModuleRecipe(ModuleRole.LANGUAGE, layout, fault);
  }

  @Override
  public Move forward(Mapping mapping, String place) {
    boolean isRow = !place.endsWith("embedding") && !place.contains("cross_entropy");
    if (fault == Fault.SKIP_ROW_SUM && isRow) {
      return unsummed(mapping.forward());
    }
    return mapping.forward();
  }

  @Override
  public Move backward(Mapping mapping, String place) {
    // keys and values are gathered by the same mapping as rows that enter a region
    boolean isContext = place.endsWith(CONTEXT + "." + GRAD);
    if (fault == (isContext ? Fault.SKIP_CONTEXT_SUM : Fault.SKIP_COLUMN_SUM)) {
      return unsummed(mapping.backward());
    }
    return mapping.backward();
  }

  /** A move of which each rank takes its own part for the sum. */
  private static Move unsummed(Move move) {
    return switch (move) {
      case ALL_REDUCE -> Move.KEEP;
      case REDUCE_SCATTER_FIRST -> Move.SPLIT_FIRST;
      case REDUCE_SCATTER_LAST -> Move.SPLIT_LAST;
      case KEEP,
          SPLIT_FIRST,
          GATHER_FIRST,
          SPLIT_LAST,
          GATHER_LAST,
          ROWS_TO_COLUMNS,
          COLUMNS_TO_ROWS ->
          move;
    };
  }

  @Override
  public boolean addsBiasToTheSum() {
    return fault != Fault.BIAS_BEFORE_REDUCE;
  }

  @Override
  public List<ProcessGroup> gradientGroups(Parameter parameter, ParallelLayout layout) {
    List<ProcessGroup> right = Recipe.super.gradientGroups(parameter, layout);
    if (fault == Fault.SKIP_SEQUENCE_SUM && !parameter.sharding().ofExpert()) {
      return List.of(layout.dpCp());
    }
    if (fault == Fault.SKIP_GRADIENT_SUM
        || (fault == Fault.SKIP_ENCODER_SUM && role == ModuleRole.ENCODER)) {
      return List.of();
    }
    if (fault == Fault.SKIP_LANGUAGE_CP_SUM && role == ModuleRole.LANGUAGE) {
      return right.stream().map(g -> g == layout.dpCp() ? layout.dp() : g).toList();
    }
    return right;
  }

  @Override
  public int expert(String place, int sample, int position, int choice, int chosen, int experts) {
    boolean wrong =
        fault == Fault.WRONG_EXPERT
            && place.startsWith(FIRST_LAYER)
            && sample == 0
            && position == 0
            && choice == 0;
    return wrong ? (chosen + 1) % experts : chosen;
  }

  @Override
  public boolean teachesRouter(String place) {
    return fault != Fault.SKIP_ROUTER_GRADIENT;
  }

  @Override
  public boolean freesGathered() {
    return fault != Fault.STALE_PARAMETER;
  }

  @Override
  public long maskRow(SequencePart part, int sample, int position, int row) {
    long right = Recipe.super.maskRow(part, sample, position, row);
    return fault == Fault.REPEAT_MASKS
        ? row
        : fault == Fault.SPLIT_MASKS ? right + language.tp().rank() * FAR : right;
  }

  @Override
  public long maskHead(int sample, int head, int heads, int own) {
    return fault == Fault.REPEAT_MASKS ? own : Recipe.super.maskHead(sample, head, heads, own);
  }

  @Override
  public long maskKey(long key, boolean again) {
    return fault == Fault.REDRAW_MASKS && again ? key ^ 1 : key;
  }

  @Override
  public double gradientFactor(ParallelLayout layout) {
    if (fault == Fault.LOSS_TIMES_CP) {
      return (double) language.dpCp().size() / language.dp().size();
    }
    if (fault == Fault.TOKENS_OVER_TP) {
      return 1.0 / language.tp().size();
    }
    boolean averages =
        fault
            == switch (role) {
              case ENCODER -> Fault.AVERAGE_ENCODER;
              case LANGUAGE -> Fault.AVERAGE_LANGUAGE;
            };
    return averages ? 1.0 / layout.dpCp().size() : 1;
  }

  @Override
  public ProcessGroup tokenGroup(ParallelLayout layout) {
    return fault == Fault.TOKENS_OVER_DP ? language.dp() : language.dpCp();
  }
}
