package org.kernbench.nn.experts;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.kernbench.nn.parallel.LayoutException;

/**
 * How the experts of a token are chosen. What a choice depends on is the same in every layout: the
 * layer, the token's sample and its position.
 *
 * <p>All but {@link ByScore} are known before the run, so they go in mode {@code time}, too; the
 * router's scores then decide only how much each expert's output counts.
 */
public sealed interface Routing {
  /** The experts with the highest scores of the router; of equal ones the lower numbers. */
  record ByScore() implements Routing {}

  /**
   * Experts in turn: choice {@code j} of token {@code t} is expert {@code (t k + j) mod E}, so all
   * have as many tokens wherever {@code E} divides {@code t k}.
   */
  record Even() implements Routing {}

  /**
   * Different experts at random, the same for a seed. Expert {@code e} is drawn with a probability
   * in proportion to {@code (e + 1)^-skew} (Zipf), without those drawn before. Where experts are in
   * groups, groups are taken first, by their two experts that would be drawn first.
   *
   * @param seed of the draw
   * @param skew 0 if all are alike, more if the first ones have more tokens
   */
  record Drawn(long seed, double skew) implements Routing {
    /** Checks the skew. */
    public Drawn {
      if (!(skew >= 0) || skew > MOST_SKEW) {
        throw LayoutException.argument(
            "skew %s; expected 0, where all experts are alike, to %s".formatted(skew, MOST_SKEW));
      }
    }

    private static final double MOST_SKEW = 16;
  }

  /**
   * As a list says, token by token; it begins again when it ends.
   *
   * @param name for messages
   * @param experts of each token, all different
   */
  record Listed(String name, List<List<Integer>> experts) implements Routing {
    /** Keeps a copy. */
    public Listed {
      experts = experts.stream().map(List::copyOf).toList();
    }

    /**
     * Reads a list: a line for each token, its experts joined by commas.
     *
     * @throws LayoutException naming the line of what is wrong
     */
    public static Listed parse(String name, String text) {
      List<List<Integer>> all = new ArrayList<>();
      int number = 0;
      for (String line : text.split("\n", -1)) {
        number++;
        if (line.isBlank() || line.startsWith("#")) {
          continue;
        }
        List<Integer> one = new ArrayList<>();
        for (String word : line.strip().split("\\s*,\\s*", -1)) {
          if (!word.matches("[0-9]{1,6}")) {
            throw LayoutException.argument(
                "%s:%s: got \"%s\"; expected numbers of experts joined by commas, e.g. 3,0"
                    .formatted(name, number, word));
          }
          one.add(Integer.parseInt(word));
        }
        all.add(one);
      }
      if (all.isEmpty()) {
        throw LayoutException.argument(
            name + ": no line with experts; expected one for each token, e.g. 3,0");
      }
      return new Listed(name, all);
    }

    private int[] of(long token, int experts, int topK) {
      int index = Math.toIntExact(token % this.experts.size());
      List<Integer> one = this.experts.get(index);
      Set<Integer> different = new HashSet<>(one);
      if (one.size() != topK
          || different.size() != topK
          || one.stream().anyMatch(e -> e >= experts)) {
        throw LayoutException.argument(
            "%s: token %s goes to %s; expected %s different experts of 0 to %s"
                .formatted(name, index, one, topK, experts - 1));
      }
      return one.stream().mapToInt(Integer::intValue).toArray();
    }
  }

  /** Whether the choice is known before the run. */
  default boolean isKnown() {
    return !(this instanceof ByScore);
  }

  /**
   * The experts of a token, where these are known before the run.
   *
   * @param layer from 0
   * @param sequence length of a sample
   * @throws IllegalStateException if scores decide
   */
  default int[] of(ExpertsConfig config, int layer, int sample, int position, int sequence) {
    long token = (long) sample * sequence + position;
    return switch (this) {
      case ByScore scores ->
          throw new IllegalStateException("bug: scores decide, which nobody knows here");
      case Even even -> even(config, token);
      case Drawn drawn -> drawn(config, drawn, layer, token);
      case Listed listed -> listed.of(token, config.experts(), config.topK());
    };
  }

  private static int[] even(ExpertsConfig config, long token) {
    int[] chosen = new int[config.topK()];
    for (int j = 0; j < chosen.length; j++) {
      chosen[j] = Math.toIntExact((token * chosen.length + j) % config.experts());
    }
    return chosen;
  }

  /** Exponential times with the experts' rates: those with the shortest are drawn in order. */
  private static int[] drawn(ExpertsConfig config, Drawn by, int layer, long token) {
    int experts = config.experts();
    long stream = mix(by.seed + 0x9E3779B97F4A7C15L * (layer + 1L)) + mix(token);
    double[] times = new double[experts];
    for (int e = 0; e < experts; e++) {
      double uniform = ((mix(stream + e * 0x9E3779B97F4A7C15L) >>> 11) + 0.5) * 0x1p-53;
      double slower = by.skew == 0 ? 1 : StrictMath.pow(e + 1.0, by.skew);
      times[e] = -StrictMath.log(uniform) * slower;
    }
    if (!config.groups().limitsNothing()) {
      leaveGroups(config, times);
    }
    int[] chosen = new int[config.topK()];
    for (int j = 0; j < chosen.length; j++) {
      int first = 0;
      for (int e = 1; e < experts; e++) {
        first = times[e] < times[first] ? e : first;
      }
      chosen[j] = first;
      times[first] = Double.POSITIVE_INFINITY;
    }
    return chosen;
  }

  /** Leaves experts of the groups alone whose two shortest times have the smallest sums. */
  private static void leaveGroups(ExpertsConfig config, double[] times) {
    int count = config.groups().count();
    int each = times.length / count;
    double[] sums = new double[count];
    for (int g = 0; g < count; g++) {
      double[] own = Arrays.copyOfRange(times, g * each, (g + 1) * each);
      Arrays.sort(own);
      sums[g] = own[0] + (each > 1 ? own[1] : 0);
    }
    double[] sorted = sums.clone();
    Arrays.sort(sorted);
    double most = sorted[config.groups().taken() - 1];
    for (int g = 0; g < count; g++) {
      if (sums[g] > most) {
        Arrays.fill(times, g * each, (g + 1) * each, Double.POSITIVE_INFINITY);
      }
    }
  }

  /** The finaliser of SplitMix64 (Steele, Lea and Flood 2014). */
  private static long mix(long z) {
    long a = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    long b = (a ^ (a >>> 27)) * 0x94D049BB133111EBL;
    return b ^ (b >>> 31);
  }

  /** As users write it. */
  default String text() {
    return switch (this) {
      case ByScore scores -> "top-k";
      case Even even -> "even";
      case Drawn drawn ->
          String.format(Locale.ROOT, "drawn, skew %s, seed %s", drawn.skew, drawn.seed);
      case Listed listed -> listed.name;
    };
  }
}
