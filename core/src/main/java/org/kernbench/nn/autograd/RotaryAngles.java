package org.kernbench.nn.autograd;

/**
 * By which angles rotary embeddings turn pairs of elements: pair {@code i} of {@code d/2} by the
 * position times a frequency, {@code base^(-2 i / d)} or what becomes of it for sequences that are
 * longer than those that a model has first seen.
 *
 * @param base of the frequencies ({@code rope_theta})
 * @param stretch what becomes of them
 * @param length factor of what is turned
 * @param scores factor of attention's scores
 */
public record RotaryAngles(double base, Stretch stretch, double length, double scores) {
  /** As first published: base 10,000. */
  public static final RotaryAngles PLAIN = ofBase(10_000);

  /** Checks the numbers. */
  public RotaryAngles {
    check("base", base, base > 1);
    check("factor of what is turned", length, length > 0);
    check("factor of scores", scores, scores > 0);
  }

  private static void check(String what, double got, boolean right) {
    if (!right || Double.isInfinite(got)) {
      throw new IllegalArgumentException(
          "rotary angles: %s %s; expected a positive number, of a base above 1"
              .formatted(what, got));
    }
  }

  /** Frequencies as they are. */
  public static RotaryAngles ofBase(double base) {
    return new RotaryAngles(base, new AsTheyAre(), 1, 1);
  }

  /** A copy that is stretched. */
  public RotaryAngles with(Stretch other) {
    return new RotaryAngles(base, other, length, scores);
  }

  /** A copy with other factors. */
  public RotaryAngles with(double ofLength, double ofScores) {
    return new RotaryAngles(base, stretch, ofLength, ofScores);
  }

  /** What becomes of frequencies. */
  public sealed interface Stretch {}

  /** Nothing. */
  public record AsTheyAre() implements Stretch {}

  /** All are divided by a factor: positions lie closer together (Chen et al. 2023). */
  public record Linear(double factor) implements Stretch {
    /** Checks the factor. */
    public Linear {
      check("factor", factor, factor >= 1);
    }
  }

  /**
   * Llama 3.1's: waves longer than {@code original / low} positions are divided, shorter than
   * {@code original / high} stay, those between go from one to the other.
   *
   * @param original length of the sequences that the model has first seen
   */
  public record Llama3(double factor, double low, double high, double original) implements Stretch {
    /** Checks the numbers. */
    public Llama3 {
      check("factor", factor, factor >= 1);
      check("low and high", high - low, low > 0 && high > low);
      check("original length", original, original >= 1);
    }
  }

  /**
   * YaRN (Peng et al. 2023): pairs that turn more than {@code fast} times over the original length
   * stay, those that turn less than {@code slow} times are divided, and between them a ramp over
   * the number of the pair.
   *
   * @param original length of the sequences that the model has first seen
   */
  public record Yarn(double factor, double fast, double slow, double original) implements Stretch {
    /** Checks the numbers. */
    public Yarn {
      check("factor", factor, factor >= 1);
      check("beta_fast and beta_slow", fast - slow, slow > 0 && fast > slow);
      check("original length", original, original >= 1);
    }

    /** {@code 0.1 by ln(factor) + 1}: how much sharper attention is made for a longer sequence. */
    public double sharper(double by) {
      return 0.1 * by * StrictMath.log(factor) + 1;
    }
  }

  /**
   * The frequency of each pair.
   *
   * @param turned elements of a head that are turned, twice as many as pairs
   */
  public double[] frequencies(int turned) {
    double[] all = new double[turned / 2];
    for (int i = 0; i < all.length; i++) {
      double plain = StrictMath.pow(base, -2.0 * i / turned);
      all[i] =
          switch (stretch) {
            case AsTheyAre() -> plain;
            case Linear(double factor) -> plain / factor;
            case Llama3 s -> between(plain, s.factor, divided(s, plain));
            case Yarn s -> between(plain, s.factor, divided(s, i, turned));
          };
    }
    return all;
  }

  /** A frequency, of which a share is divided by a factor. */
  private static double between(double plain, double factor, double share) {
    return share == 0 ? plain : plain * (1 - share) + plain / factor * share;
  }

  private static double divided(Llama3 s, double plain) {
    double turns = s.original * plain / (2 * Math.PI); // over the original length
    return 1 - Math.clamp((turns - s.low) / (s.high - s.low), 0, 1);
  }

  private double divided(Yarn s, int pair, int turned) {
    double first = Math.max(0, Math.floor(pairOf(s.fast, s, turned)));
    double last = Math.min(turned - 1, Math.ceil(pairOf(s.slow, s, turned)));
    double width = last == first ? 0.001 : last - first; // as its authors have it
    return Math.clamp((pair - first) / width, 0, 1);
  }

  /** The pair, or a place between two, that turns so often over the original length. */
  private double pairOf(double turns, Yarn s, int turned) {
    return turned * StrictMath.log(s.original / (turns * 2 * Math.PI)) / (2 * StrictMath.log(base));
  }
}
