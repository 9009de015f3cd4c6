package org.kernbench.nn.compare;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.function.DoubleUnaryOperator;
import org.junit.jupiter.api.Test;
import org.kernbench.nn.compare.StepCheck.Compared;
import org.kernbench.nn.compare.StepCheck.Rounding;
import org.kernbench.nn.compare.StepRecord.Kind;
import org.kernbench.nn.optim.AdamW;
import org.kernbench.tensor.DType;

/** Tolerances of a step, on made-up tensors: what they follow from, and what they let through. */
final class StepCheckTest {
  private static final int N = 64;
  private static final Rounding BF16 = Rounding.of(DType.BF16);

  private static double[] exact() {
    return new Random(1).doubles(N, 1, 2).toArray();
  }

  /** Off by up to a share of each value, at random. */
  private static double[] off(double share, long seed) {
    Random random = new Random(seed);
    return Arrays.stream(exact()).map(v -> v * (1 + share * random.nextDouble(-1, 1))).toArray();
  }

  private static StepRecord record(Kind kind, double[] values) {
    StepRecord record = new StepRecord();
    record.add(kind, "x", 0, values, values.length, i -> i);
    return record;
  }

  private static Compared check(double[] subject, double[] shadow, Rounding rounding) {
    List<Compared> all =
        StepCheck.of(
            record(Kind.GRADIENT, subject),
            record(Kind.GRADIENT, exact()),
            record(Kind.GRADIENT, shadow),
            rounding,
            Optional.empty());
    assertThat(all).hasSize(1);
    return all.getFirst();
  }

  @Test
  void tensor_asFarAsItsShadow_isRight_threeTimesAsFar_isWrong() {
    double[] shadow = off(0.03, 2);
    assertThat(check(off(0.03, 3), shadow, BF16).wrong()).isZero();
    Compared far = check(off(0.09, 3), shadow, BF16);
    assertThat(far.wrong()).isPositive();
    assertThat(far.of()).isGreaterThan(1);
  }

  /** Draws of noise, of which the reference is one. */
  private static long wrongInNoise(double times, double reference) {
    double noise = 0x1p-60;
    double[][] draws = new double[3][];
    for (int i = 0; i < draws.length; i++) {
      Random random = new Random(i);
      draws[i] = random.doubles(N, -noise, noise).toArray();
    }
    double[] expected = Arrays.stream(draws[0]).map(v -> v * reference).toArray();
    double[] subject = new double[N];
    double[] shadow = new double[N];
    for (int i = 0; i < N; i++) {
      subject[i] = expected[i] + times * draws[1][i];
      shadow[i] = expected[i] + 0x1p29 * draws[2][i]; // in f32
    }
    return StepCheck.of(
            record(Kind.GRADIENT, subject),
            record(Kind.GRADIENT, expected),
            record(Kind.GRADIENT, shadow),
            Rounding.of(DType.F64),
            Optional.empty())
        .getFirst()
        .wrong();
  }

  /** What is zero but for rounding may be six times as far off as its shadow, all else twice. */
  @Test
  void tensor_ofRoundingAlone_hasMoreRoom_butNotMuch() {
    assertThat(wrongInNoise(4, 1)).isZero();
    assertThat(wrongInNoise(8, 1)).isPositive();
    assertThat(wrongInNoise(1.5, 10)).isZero();
    assertThat(wrongInNoise(4, 10)).as("ten times its noise is a value").isPositive();
  }

  /**
   * A gradient that is zero, exactly so in the shadow, is one of the numbers next to zero in the
   * run: that is what f16 rounds there, and is nothing in a type that reaches farther down.
   */
  @Test
  void zero_mayBeWhatTheTypeCannotTellFromIt() {
    double next = DType.F16.minPositive();
    assertThat(wrongBesideZero(next, DType.F16)).isZero();
    assertThat(wrongBesideZero(4 * next, DType.F16)).isEqualTo(N);
    assertThat(wrongBesideZero(next, DType.BF16)).isEqualTo(N);
    assertThat(wrongBesideZero(next, DType.F32)).isEqualTo(N);
  }

  private static long wrongBesideZero(double value, DType type) {
    double[] subject = new double[N];
    Arrays.fill(subject, value);
    return StepCheck.of(
            record(Kind.GRADIENT, subject),
            record(Kind.GRADIENT, new double[N]),
            record(Kind.GRADIENT, new double[N]),
            Rounding.of(type),
            Optional.empty())
        .getFirst()
        .wrong();
  }

  /** The shadow of f32 in bf16, taken as it is: no more, and not a share of it. */
  @Test
  void shadowInACoarserType_isTakenAsItIs() {
    double[] shadow = off(0.03, 2);
    Rounding coarse = Rounding.of(DType.F32).asTheShadow();
    assertThat(check(off(0.03, 3), shadow, coarse).wrong()).isZero();
    assertThat(check(off(0.09, 3), shadow, coarse).wrong()).isPositive();
  }

  /** A tolerance that a large element would set let all others be wrong. */
  @Test
  void tensor_oneElementWrong_isFound() {
    double[] subject = off(0.01, 3);
    subject[17] *= 1.1;
    Compared found = check(subject, off(0.01, 2), BF16);
    assertThat(found.wrong()).isEqualTo(1);
    assertThat(found.first()).isEqualTo(17);
  }

  @Test
  void tensor_factorOfTwo_isFoundInEveryType() {
    double[] doubled = Arrays.stream(exact()).map(v -> 2 * v).toArray();
    for (DType type : List.of(DType.BF16, DType.F16, DType.F32, DType.F64)) {
      double[] shadow = off(4 * StepCheck.shadowType(type).unitRoundoff(), 2);
      assertThat(check(doubled, shadow, Rounding.of(type, 16, 16)).wrong())
          .as("%s", type)
          .isPositive();
    }
  }

  /** Of f64 the shadow is in f32: a run that rounds as f32 does is wrong. */
  @Test
  void f64_toleranceIsThatOfF64() {
    double[] shadow = off(0x1p-24, 2);
    assertThat(check(off(0x1p-53, 3), shadow, Rounding.of(DType.F64)).wrong()).isZero();
    assertThat(check(off(0x1p-48, 3), shadow, Rounding.of(DType.F64)).wrong()).isPositive();
  }

  @Test
  void nan_isWrong_whateverTheShadowHas() {
    double[] subject = exact();
    subject[3] = Double.NaN;
    assertThat(check(subject, off(0.01, 2), BF16).wrong()).isPositive();
    double[] shadow = off(0.01, 2);
    shadow[5] = Double.POSITIVE_INFINITY;
    Compared found = check(exact(), shadow, BF16);
    assertThat(check(off(0.5, 3), shadow, BF16).wrong()).isPositive();
    assertThat(found.wrong()).isZero(); // nothing is off
  }

  /** By simulation: parts alike and independent, rounded one by one and at each partial sum. */
  @Test
  void growth_isThatOfSumsInShortTypes() {
    Random random = new Random(7);
    for (int p : new int[] {2, 4, 8}) {
      double one = 0;
      double many = 0;
      for (int k = 0; k < 20_000; k++) {
        double sum = 0;
        double rounded = 0;
        for (int r = 0; r < p; r++) {
          double part = random.nextGaussian();
          sum += part;
          rounded = DType.BF16.round(rounded + DType.BF16.round(part));
        }
        one += Math.pow(DType.BF16.round(sum) - sum, 2);
        many += Math.pow(rounded - sum, 2);
      }
      assertThat(Math.sqrt(many / one) / StepCheck.growthOf(p)).as("%d", p).isBetween(0.85, 1.15);
    }
    assertThat(StepCheck.growthOf(1, 1)).isEqualTo(1);
  }

  // ---- the optimizer ----

  private static Compared stepped(DoubleUnaryOperator change) {
    double[] first = exact();
    double[] gradient = new Random(4).doubles(N, -1, 1).toArray();
    StepRecord subject = record(Kind.GRADIENT, gradient);
    double[] after = new double[N];
    AdamW.Settings adam = AdamW.Settings.of(0.01);
    for (int i = 0; i < N; i++) {
      double step = change.applyAsDouble(Math.signum(gradient[i]));
      after[i] = (float) (first[i] - adam.rate() * step);
    }
    subject.add(Kind.PARAMETER, "x", 0, after, N, i -> i);
    StepRecord reference = record(Kind.GRADIENT, gradient);
    reference.keepFirst("x", first, false);
    return StepCheck.of(subject, reference, reference, Rounding.of(DType.F32), Optional.of(adam))
        .getLast();
  }

  @Test
  void parameter_steppedByTheFormula_isRight_byAnother_isWrong() {
    assertThat(stepped(sign -> sign).wrong()).isZero();
    assertThat(stepped(sign -> 2 * sign).wrong()).isEqualTo(N);
    assertThat(stepped(sign -> 0).wrong()).isEqualTo(N);
    assertThat(stepped(sign -> sign * 1.001).wrong()).isPositive();
  }
}
