package org.kernbench.nn.compare;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.kernbench.nn.autograd.Mistake;
import org.kernbench.nn.compare.StepRecord.Kind;
import org.kernbench.nn.compare.StepRecord.Part;
import org.kernbench.nn.compare.StepRecord.Whole;

/**
 * Whether a model that is cut into stages computed what one rank computes, both in f64; and if not,
 * which of some guesses gives exactly what the first wrong rank has.
 */
public final class StageCheck {
  /** Tensors smaller than this share of the largest are measured by it. */
  private static final double SMALL = 1e-4;

  /**
   * A mistake that may have been made.
   *
   * @param cause which
   * @param evidence what is said if it explains the difference
   * @param predicted what one rank has if it makes the mistake; asked only if something is wrong
   */
  public record Guess(Mistake cause, String evidence, Supplier<StepRecord> predicted) {}

  /**
   * A mistake by which ranks have different values of what they should all have, so that no rank
   * alone can show it.
   *
   * @param holds whether it can be; asked only if ranks have different gradients of a parameter
   */
  public record Doubt(Mistake cause, String evidence, BooleanSupplier holds) {}

  /** A rank's part of a tensor, beside what it should be. */
  private record Compared(Kind kind, String name, Part part, double[] expected, double error) {}

  private final StepRecord subject;
  private final StepRecord one;

  private StageCheck(StepRecord subject, StepRecord one) {
    this.subject = subject;
    this.one = one;
  }

  /**
   * Compares losses, gradients and stepped parameters, in the order in which they are computed, and
   * then the gradients of ranks that should have the same bits.
   *
   * @param one the same step on one rank
   */
  public static LayoutVerdict of(
      StepRecord subject, StepRecord one, List<Guess> guesses, List<Doubt> doubts) {
    return new StageCheck(subject, one).verdict(guesses, doubts);
  }

  private LayoutVerdict verdict(List<Guess> guesses, List<Doubt> doubts) {
    List<Compared> all = new ArrayList<>();
    for (Kind kind : List.of(Kind.OUTPUT, Kind.LOSS)) {
      subject.of(kind).forEach((name, whole) -> all.addAll(parts(kind, name, whole, one)));
    }
    // the last layer's gradients are computed first
    List<String> names = new ArrayList<>(one.of(Kind.GRADIENT).keySet());
    Collections.reverse(names);
    List<String> unequal = new ArrayList<>();
    int gradients = 0;
    for (String name : names) {
      Whole whole = subject.of(Kind.GRADIENT).get(name);
      if (whole == null) {
        throw new IllegalStateException("bug: no rank has " + name);
      }
      List<Compared> parts = parts(Kind.GRADIENT, name, whole, one);
      gradients += parts.size();
      all.addAll(parts);
      if (!areReplicas(whole)) {
        unequal.add(name);
      }
    }
    subject
        .of(Kind.PARAMETER)
        .forEach((name, whole) -> all.addAll(parts(Kind.PARAMETER, name, whole, one)));
    Compared worst = Collections.max(all, (a, b) -> Double.compare(a.error, b.error));
    Optional<Compared> first =
        all.stream().filter(c -> !(c.error <= LayoutVerdict.TOLERANCE)).findFirst();
    double ratio = norm(subject) / norm(one);
    return new LayoutVerdict(
        gradients,
        worst.error,
        told(worst),
        Map.of("model", ratio),
        unequal,
        OptionalDouble.empty(),
        first
            .map(f -> difference(f, guesses, doubts))
            .or(() -> unequal.stream().findFirst().map(FirstDifference::ofReplicas)));
  }

  private static String told(Compared c) {
    return switch (c.kind) {
      case GRADIENT -> "gradient of " + c.name;
      case PARAMETER -> "stepped " + c.name;
      case OUTPUT, LOSS, INPUT_GRADIENT, NORM -> c.name;
    };
  }

  private static double norm(StepRecord of) {
    double square = 0;
    for (Whole whole : of.of(Kind.GRADIENT).values()) {
      square += StrictMath.pow(Vectors.norm(whole.values()), 2);
    }
    return Math.sqrt(square);
  }

  private static List<Compared> parts(Kind kind, String name, Whole whole, StepRecord with) {
    Whole other = with.of(kind).get(name);
    double[] expected = other == null ? new double[0] : other.values();
    double largest = with.largestNorm(kind);
    List<Compared> all = new ArrayList<>();
    for (Part part : whole.parts()) {
      double[] own = new double[part.values().length];
      Arrays.setAll(own, i -> expected[part.at().applyAsInt(i)]);
      double size = Math.max(Vectors.norm(own), SMALL * largest);
      double distance = Vectors.norm(Vectors.minus(part.values(), own));
      double error = distance == 0 ? 0 : distance / size;
      all.add(new Compared(kind, name, part, own, error));
    }
    return all;
  }

  /** Whether ranks that have the same element have the same bits. */
  private static boolean areReplicas(Whole whole) {
    double[] values = whole.values();
    for (Part part : whole.parts()) {
      for (int i = 0; i < part.values().length; i++) {
        if (Double.compare(part.values()[i], values[part.at().applyAsInt(i)]) != 0) {
          return false;
        }
      }
    }
    return true;
  }

  private FirstDifference difference(Compared first, List<Guess> guesses, List<Doubt> doubts) {
    int worst = 0;
    double most = -1;
    double[] got = first.part.values();
    for (int i = 0; i < got.length; i++) {
      double distance = Math.abs(got[i] - first.expected[i]);
      if (distance > most) {
        worst = i;
        most = distance;
      }
    }
    Why right = explaining(first, guesses).or(() -> doubted(doubts)).orElse(Why.UNKNOWN);
    return new FirstDifference(
        told(first),
        "rank " + first.part.rank() + ", element " + first.part.at().applyAsInt(worst),
        first.part.rank(),
        got[worst],
        first.expected[worst],
        first.error,
        right.cause,
        right.evidence);
  }

  /** A cause and what speaks for it. */
  private record Why(Mistake cause, String evidence) {
    static final Why UNKNOWN =
        new Why(Mistake.UNKNOWN, "none of the mistakes that were tried gives these values");
  }

  private Optional<Why> doubted(List<Doubt> doubts) {
    boolean differ = !subject.of(Kind.GRADIENT).values().stream().allMatch(StageCheck::areReplicas);
    return doubts.stream()
        .filter(doubt -> differ && doubt.holds.getAsBoolean())
        .findFirst()
        .map(doubt -> new Why(doubt.cause, doubt.evidence));
  }

  private static Optional<Why> explaining(Compared first, List<Guess> guesses) {
    for (Guess guess : guesses) {
      Whole only = new Whole(0, List.of(first.part));
      StepRecord predicted = guess.predicted.get();
      if (!predicted.of(first.kind).containsKey(first.name)) {
        continue;
      }
      List<Compared> with = parts(first.kind, first.name, only, predicted);
      if (with.getFirst().error <= LayoutVerdict.TOLERANCE) {
        return Optional.of(new Why(guess.cause, guess.evidence));
      }
    }
    return Optional.empty();
  }
}
