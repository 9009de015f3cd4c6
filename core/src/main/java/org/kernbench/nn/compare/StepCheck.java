package org.kernbench.nn.compare;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.kernbench.nn.compare.StepRecord.Kind;
import org.kernbench.nn.compare.StepRecord.Part;
import org.kernbench.nn.compare.StepRecord.Whole;
import org.kernbench.nn.optim.AdamW;
import org.kernbench.tensor.DType;

/**
 * Whether a step in a layout computed what one rank computes in f64, up to rounding.
 *
 * <p>How much rounding does to a tensor is not guessed but measured: the <em>shadow</em> is the
 * same step on one rank in the type of the run, from the same first values, and so rounds where the
 * run does. Its distance from the reference in f64 is the rounding of that tensor's own
 * computation, with all that went into it. A layout may be further off by what its sums over ranks
 * round in addition; anything beyond is a mistake. The stepped parameters are compared with the
 * optimizer's formula, applied in f64 to the gradients of the run itself, which have been compared
 * before.
 */
public final class StepCheck {
  /** How many times the distance of the shadow a run may be away; measured, see ADR 70. */
  static final double MARGIN = 2;

  /**
   * How many times that distance a tensor may be away that is zero but for rounding, such as the
   * gradient of a bias of keys: what is compared there are two draws of one noise, and a mistake is
   * many orders above it (ADR 305).
   */
  static final double MARGIN_OF_NOISE = 6;

  /** Up to how many times the shadow's rounding a tensor is taken for rounding alone. */
  private static final double NOISE = 4;

  private final StepRecord subject;
  private final StepRecord reference;
  private final StepRecord shadow;
  private final Rounding rounding;
  private final List<Compared> compared = new ArrayList<>();

  /**
   * How a run rounds.
   *
   * @param unit half the distance from 1 to the next value of its type
   * @param smallest the smallest positive value of its type
   * @param shadowUnit the same of the shadow's type, which is f32 for a run in f64: rounding is
   *     proportional to it
   * @param growth how many times as far as the shadow's its layout may round, see {@link #growthOf}
   */
  public record Rounding(double unit, double smallest, double shadowUnit, double growth) {
    /** Of a run in a type, in which sums go over groups of these sizes. */
    public static Rounding of(DType type, int... groups) {
      return new Rounding(
          type.unitRoundoff(),
          type.minPositive(),
          shadowType(type).unitRoundoff(),
          growthOf(groups));
    }

    /**
     * With a shadow in a type that rounds more than the run, whose distance is taken as it is.
     * Which of two neighbours in 8 bits a value becomes depends on its last bit, so what that does
     * is no share of the rounding of the run's type.
     */
    public Rounding asTheShadow() {
      return new Rounding(unit, smallest, unit, growth);
    }
  }

  /**
   * A rank's part of a tensor that was compared.
   *
   * @param rank whose
   * @param values number of elements
   * @param wrong how many of them are off by more than allowed
   * @param error the largest difference; infinite if one is not finite
   * @param allowed what it is compared with
   * @param of what the part is of its tolerance: wrong above 1
   * @param first the first wrong element, or the worst if none is wrong
   * @param got this element
   * @param expected this element on one rank in f64
   */
  public record Compared(
      Kind kind,
      String name,
      int rank,
      long values,
      long wrong,
      double error,
      double allowed,
      double of,
      int first,
      double got,
      double expected) {}

  /** The type in which the shadow of a run is computed. */
  public static DType shadowType(DType type) {
    return type == DType.F64 ? DType.F32 : type;
  }

  /**
   * How many times further a layout rounds, in the square mean. A row-parallel sum of {@code p}
   * parts, alike in size and independent, has {@code p} roundings of parts of {@code 1/p} of its
   * square and {@code p - 1} of partial sums that grow to it: {@code 1 + (p + 1)/2 - 1/p} times the
   * square of one rounding. Sums over several groups meet in one tensor.
   */
  static double growthOf(int... groups) {
    double square = 1;
    for (int p : groups) {
      square += (p + 1) / 2.0 - 1.0 / p;
    }
    return Math.sqrt(square);
  }

  private StepCheck(
      StepRecord subject, StepRecord reference, StepRecord shadow, Rounding rounding) {
    this.subject = subject;
    this.reference = reference;
    this.shadow = shadow;
    this.rounding = rounding;
  }

  /**
   * Compares everything that was recorded of a run.
   *
   * @param reference the same on one rank in f64
   * @param shadow the same on one rank in {@link #shadowType}
   * @param optimizer that made the step from nothing; empty if there was no step
   * @return in the order of kinds, then of names, then of ranks
   */
  public static List<Compared> of(
      StepRecord subject,
      StepRecord reference,
      StepRecord shadow,
      Rounding rounding,
      Optional<AdamW.Settings> optimizer) {
    StepCheck check = new StepCheck(subject, reference, shadow, rounding);
    for (Kind kind : Kind.values()) {
      if (kind == Kind.PARAMETER) {
        optimizer.ifPresent(check::parameters);
      } else {
        subject.of(kind).forEach((name, whole) -> check.tensor(kind, name, whole));
      }
    }
    return check.compared;
  }

  // ---- tolerances ----

  /**
   * What rounding may do to a tensor.
   *
   * @param mean largest root of the mean square of differences
   * @param most largest single difference
   */
  private record Allowed(double mean, double most) {}

  private static double[] values(StepRecord of, Kind kind, String name) {
    Whole whole = of.of(kind).get(name);
    return whole == null ? new double[0] : whole.values();
  }

  /** From the shadow, and at least a rounding of the operands, which may have met exact values. */
  private Allowed allowed(Kind kind, String name, double[] expected) {
    return allowed(values(shadow, kind, name), expected);
  }

  private Allowed allowed(double[] shadowed, double[] expected) {
    double[] rounded = Vectors.minus(shadowed, expected);
    double unit = rounding.unit;
    double noise = most(rounded) * unit / rounding.shadowUnit;
    double margin = most(expected) <= NOISE * noise ? MARGIN_OF_NOISE : MARGIN;
    double factor = rounding.growth * margin * unit / rounding.shadowUnit;
    double floor = rounding.growth * unit;
    double least = rounding.growth * rounding.smallest; // what the type cannot tell from zero
    return new Allowed(
        factor * mean(rounded) + floor * mean(expected) + least,
        factor * most(rounded) + MARGIN * (floor * most(expected) + least));
  }

  /** NaN if an element is not finite: a shadow that overflows allows nothing. */
  private static double mean(double[] a) {
    double norm = Vectors.norm(a);
    return a.length == 0 ? 0 : Double.isFinite(norm) ? norm / Math.sqrt(a.length) : Double.NaN;
  }

  private static double most(double[] a) {
    return Arrays.stream(a).map(Math::abs).max().orElse(0);
  }

  /** A sum of losses is off by at most the sum of what each token's is. */
  private Allowed ofLoss() {
    double most = 0;
    for (String name : reference.of(Kind.OUTPUT).keySet()) {
      double[] expected = values(reference, Kind.OUTPUT, name);
      most += allowed(Kind.OUTPUT, name, expected).mean * expected.length;
    }
    return new Allowed(most, most);
  }

  /** A norm is off by at most the norm of what the gradients are, whose own norm is shrunk. */
  private Allowed ofNorm(double norm) {
    double size = 0;
    double off = 0;
    for (String name : reference.of(Kind.GRADIENT).keySet()) {
      double[] expected = values(reference, Kind.GRADIENT, name);
      size += StrictMath.pow(Vectors.norm(expected), 2);
      off += StrictMath.pow(allowed(Kind.GRADIENT, name, expected).mean, 2) * expected.length;
    }
    double most = size == 0 ? 0 : norm * Math.sqrt(off / size);
    return new Allowed(most, most);
  }

  private void tensor(Kind kind, String name, Whole whole) {
    double[] expected = values(reference, kind, name);
    Allowed allowed =
        switch (kind) {
          case LOSS -> ofLoss();
          case NORM -> ofNorm(expected[0]);
          case OUTPUT, INPUT_GRADIENT, GRADIENT, PARAMETER -> allowed(kind, name, expected);
        };
    for (Part part : whole.parts()) {
      double[] own = new double[part.values().length];
      Arrays.setAll(own, i -> expected[part.at().applyAsInt(i)]);
      double[] most = new double[own.length];
      double off = mean(Vectors.minus(part.values(), own));
      double mean = Math.max(allowed.mean, ofPart(kind, name, part, own));
      boolean isOff = !(off <= mean);
      Arrays.fill(most, isOff ? mean : allowed.most);
      add(kind, name, part, own, most, off == 0 ? 0 : finite(off / mean));
    }
  }

  /**
   * What rounding may do on average to the elements of a part: more than to the whole, where these
   * are all that is not zero in it.
   */
  private double ofPart(Kind kind, String name, Part part, double[] expected) {
    double[] all = values(shadow, kind, name);
    double[] own = new double[expected.length];
    Arrays.setAll(own, i -> all[part.at().applyAsInt(i)]);
    return allowed(own, expected).mean;
  }

  /** What is no number is as far off as can be. */
  private static double finite(double distance) {
    return Double.isFinite(distance) ? distance : Double.POSITIVE_INFINITY;
  }

  /**
   * Compares a part element by element.
   *
   * @param off what the whole part is of its tolerance
   */
  private void add(
      Kind kind, String name, Part part, double[] expected, double[] allowed, double off) {
    double[] got = part.values();
    long wrong = 0;
    int first = -1;
    int worst = 0;
    double worstOf = -1;
    double error = 0;
    for (int i = 0; i < got.length; i++) {
      double distance = finite(Math.abs(got[i] - expected[i]));
      error = Math.max(error, distance);
      double of = distance == 0 ? 0 : finite(distance / allowed[i]);
      if (of > worstOf) {
        worst = i;
        worstOf = of;
      }
      if (of > 1) {
        wrong++;
        first = first < 0 ? i : first;
      }
    }
    int shown = first < 0 ? worst : first;
    boolean empty = got.length == 0;
    compared.add(
        new Compared(
            kind,
            name,
            part.rank(),
            got.length,
            wrong,
            error,
            empty ? 0 : allowed[shown],
            Math.max(off, worstOf),
            shown,
            empty ? 0 : got[shown],
            empty ? 0 : expected[shown]));
  }

  // ---- the optimizer ----

  /**
   * Compares parameters with what the first step of AdamW makes of their first values and the run's
   * own gradients: computed in f32 or better, and rounded once to the parameter's type.
   */
  private void parameters(AdamW.Settings adam) {
    subject
        .of(Kind.PARAMETER)
        .forEach((name, whole) -> {
          double[] gradient = values(subject, Kind.GRADIENT, name);
          double decay = reference.isMatrix(name) ? adam.decay() : 0;
          double[] expected = stepped(reference.first(name), gradient, adam, decay);
          for (Part part : whole.parts()) {
            double[] own = new double[part.values().length];
            Arrays.setAll(own, i -> expected[part.at().applyAsInt(i)]);
            double[] allowed = new double[own.length];
            Arrays.setAll(allowed, i -> ofStep(own[i], adam.rate()));
            add(Kind.PARAMETER, name, part, own, allowed, 0);
          }
        });
  }

  private double ofStep(double value, double rate) {
    double working = Math.min(rounding.unit, DType.F32.unitRoundoff());
    double size = Math.abs(value);
    double ofStep = 2 * working * size + 16 * working * rate * (1 + size);
    return rounding.unit * size + rounding.smallest / 2 + ofStep;
  }

  private static double[] stepped(
      double[] before, double[] gradient, AdamW.Settings adam, double decay) {
    double[] after = new double[before.length];
    for (int i = 0; i < after.length; i++) {
      double g = gradient[i];
      // with bias correction the first mean is g, the first mean of squares is g g
      double change = g / (Math.abs(g) + adam.epsilon()) + decay * before[i];
      after[i] = before[i] - adam.rate() * change;
    }
    return after;
  }
}
