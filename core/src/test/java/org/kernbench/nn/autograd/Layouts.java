package org.kernbench.nn.autograd;

import java.util.stream.Stream;
import org.kernbench.nn.autograd.TrainingRun.How;
import org.kernbench.nn.autograd.TrainingRun.Setup;
import org.kernbench.nn.autograd.TrainingRun.Training;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.nn.optim.Zero;
import org.kernbench.nn.parallel.ParallelLayout.ContextExchange;

/** The grid of layouts that are compared with one rank: 40 on 2 to 16 ranks. */
public final class Layouts {
  private static final TransformerConfig GPT =
      new TransformerConfig("gpt", 24, 2, 12, 12, 2, 48, 24, 24, TransformerConfig.Style.GPT);
  private static final TransformerConfig LLAMA =
      new TransformerConfig("llama", 24, 2, 24, 12, 2, 36, 24, 24, TransformerConfig.Style.LLAMA);

  private Layouts() {}

  /** How ranks divide the work. */
  public record Layout(int tp, int cp, int dp, boolean sp) {
    static Layout parse(String text) {
      String[] n = text.split(",");
      return new Layout(
          Integer.parseInt(n[0]),
          Integer.parseInt(n[1]),
          Integer.parseInt(n[2]),
          Boolean.parseBoolean(n[3]));
    }
  }

  private static Stream<Layout> of(String... layouts) {
    return Stream.of(layouts).map(Layout::parse);
  }

  /** Some of each kind, for every run of the tests. */
  static Stream<Layout> some() {
    return of(
        "2,1,1,true",
        "1,2,1,false",
        "1,1,2,false", // 2 ranks
        "2,2,1,true",
        "2,1,2,false",
        "1,4,1,false", // 4
        "6,1,1,true",
        "3,2,1,false",
        "1,3,2,false",
        "2,1,3,true", // 6
        "2,2,2,true",
        "12,1,1,true",
        "4,2,2,true"); // 8, 12, 16
  }

  /** All of them. */
  public static Stream<Layout> all() {
    return Stream.concat(some(), others());
  }

  private static Stream<Layout> others() {
    return of(
        "2,1,1,false",
        "4,1,1,false",
        "4,1,1,true",
        "2,2,1,false",
        "2,1,2,true",
        "1,2,2,false",
        "1,1,4,false",
        "6,1,1,false",
        "3,2,1,true",
        "2,3,1,true",
        "3,1,2,true",
        "1,6,1,false",
        "4,2,1,true",
        "2,4,1,true",
        "2,2,2,false",
        "4,1,2,true",
        "1,2,4,false",
        "6,2,1,false",
        "3,4,1,true",
        "3,2,2,true",
        "2,3,2,true",
        "2,4,2,true",
        "2,2,4,true",
        "4,1,4,false",
        "1,1,3,false",
        "2,2,3,true",
        "1,4,3,false");
  }

  /**
   * Every layout runs one style with one set of options; together all of them occur in each kind.
   * Four samples over three data-parallel ranks are two, one and one.
   *
   * @param layers blocks of the model
   */
  public static Setup setup(Layout l, int layers) {
    int mix = l.tp + l.cp + (l.sp ? 1 : 0);
    return new Setup(
        (mix % 2 == 0 ? GPT : LLAMA).with(layers, 24),
        24,
        4,
        3,
        Training.SGD,
        l.tp,
        l.cp,
        l.dp,
        l.sp,
        how(l),
        Recipe.STANDARD);
  }

  private static How how(Layout l) {
    ContextExchange exchange =
        (l.cp + l.dp) % 3 == 0 || l.cp == 4 ? ContextExchange.RING : ContextExchange.ALL_GATHER;
    return data(l).with(exchange);
  }

  private static How data(Layout l) {
    return switch ((l.tp + 2 * l.cp + 3 * l.dp) % 4) {
      case 0 -> How.PLAIN;
      case 1 -> How.of(DataParallel.DEFAULT);
      case 2 -> How.of(new DataParallel.Options(4000, true, Zero.OPTIMIZER));
      default -> How.of(new DataParallel.Options(4000, false, Zero.OPTIMIZER));
    };
  }
}
