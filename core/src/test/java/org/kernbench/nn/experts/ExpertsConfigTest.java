package org.kernbench.nn.experts;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.nn.experts.ExpertsConfig.Groups;
import org.kernbench.nn.experts.ExpertsConfig.Scoring;
import org.kernbench.nn.parallel.ExpertGroups;
import org.kernbench.nn.parallel.LayoutException;

/** Numbers of experts at their limits, and copies that change what they say and nothing else. */
final class ExpertsConfigTest {
  private static final ExpertsConfig EIGHT =
      new ExpertsConfig(
          8,
          2,
          16,
          Scoring.SIGMOID,
          false,
          2.5,
          0.01,
          1.25,
          new Routing.Even(),
          new Groups(4, 2),
          1,
          3,
          0.5);

  private static void isRefused(ThrowingCallable call, String message) {
    assertThatThrownBy(call).isInstanceOf(LayoutException.class).hasMessageContaining(message);
  }

  @Test
  void numbers_areTakenUpToTheirLimits_andNoFurther() {
    assertThat(ExpertsConfig.of(1, 1, 1).experts()).isEqualTo(1);
    assertThat(ExpertsConfig.of(3, 3, 1).topK()).isEqualTo(3);
    isRefused(() -> ExpertsConfig.of(0, 1, 1), "0 experts of inner width 1, top 1");
    isRefused(() -> ExpertsConfig.of(1, 0, 1), "top 0");
    isRefused(() -> ExpertsConfig.of(3, 4, 1), "3 experts of inner width 1, top 4");
    isRefused(() -> ExpertsConfig.of(3, 2, 0), "inner width 0");

    assertThat(EIGHT.with(new Groups(4, 1)).groups()).isEqualTo(new Groups(4, 1)); // 2 of 2
    assertThat(EIGHT.with(new Groups(8, 2)).groups()).isEqualTo(new Groups(8, 2)); // 2 of 2
    isRefused(() -> EIGHT.with(new Groups(8, 1)), "8 experts in 8 groups, 2 choices from 1");
    isRefused(() -> EIGHT.with(new Groups(3, 3)), "8 experts in 3 groups");
    assertThat(new Groups(1, 1)).isEqualTo(Groups.NONE);
    isRefused(() -> new Groups(0, 0), "0 groups of experts, of which a token takes 0");
    isRefused(() -> new Groups(2, 0), "2 groups of experts, of which a token takes 0");
    isRefused(() -> new Groups(2, 3), "2 groups of experts, of which a token takes 3");
    assertThat(new Groups(2, 2).limitsNothing()).isTrue();
    assertThat(new Groups(2, 1).limitsNothing()).isFalse();

    assertThat(EIGHT.withDense(0, 0).shared()).isZero();
    isRefused(() -> EIGHT.withDense(-1, 0), "-1 shared experts, 0 dense blocks");
    isRefused(() -> EIGHT.withDense(0, -1), "0 shared experts, -1 dense blocks");
    assertThat(EIGHT.withLimits(0, 0).capacity()).isZero();
    isRefused(() -> EIGHT.withLimits(-0.001, 0), "auxiliary -0.001, capacity 0.0");
    isRefused(() -> EIGHT.withLimits(0, -0.001), "auxiliary 0.0, capacity -0.001");
    isRefused(() -> EIGHT.withLimits(Double.NaN, 0), "auxiliary NaN");
    isRefused(() -> EIGHT.withLimits(0, Double.NaN), "capacity NaN");

    isRefused(() -> EIGHT.withBalance(-0.001), "balance -0.001");
    isRefused(() -> EIGHT.withBalance(Double.NaN), "balance NaN");

    assertThat(new Routing.Drawn(1, 0).skew()).isZero();
    assertThat(new Routing.Drawn(1, 16).skew()).isEqualTo(16);
    isRefused(() -> new Routing.Drawn(1, 16.01), "skew 16.01; expected 0");
    isRefused(() -> new Routing.Drawn(1, -0.01), "skew -0.01; expected 0");
    isRefused(() -> new Routing.Drawn(1, Double.NaN), "skew NaN");
  }

  /** Names of the parts in which two differ. */
  private static List<String> changed(ExpertsConfig a, ExpertsConfig b)
      throws ReflectiveOperationException {
    List<String> changed = new ArrayList<>();
    for (RecordComponent part : ExpertsConfig.class.getRecordComponents()) {
      if (!part.getAccessor().invoke(a).equals(part.getAccessor().invoke(b))) {
        changed.add(part.getName());
      }
    }
    return changed;
  }

  @Test
  void copies_changeWhatTheySay_andNothingElse() throws ReflectiveOperationException {
    ExpertsConfig routed = EIGHT.with(new Routing.ByScore());
    assertThat(changed(EIGHT, routed)).containsExactly("routing");
    ExpertsConfig scored = EIGHT.with(Scoring.SOFTMAX, true, 4);
    assertThat(changed(EIGHT, scored)).containsExactly("scoring", "normalised", "scale");
    assertThat(scored.scale()).isEqualTo(4);
    ExpertsConfig limited = EIGHT.withLimits(0.5, 3);
    assertThat(changed(EIGHT, limited)).containsExactly("auxiliary", "capacity");
    assertThat(limited.auxiliary()).isEqualTo(0.5);
    assertThat(limited.capacity()).isEqualTo(3);
    assertThat(changed(EIGHT, EIGHT.with(new Groups(2, 1)))).containsExactly("groups");
    ExpertsConfig dense = EIGHT.withDense(5, 6);
    assertThat(changed(EIGHT, dense)).containsExactly("shared", "dense");
    assertThat(dense.shared()).isEqualTo(5);
    assertThat(dense.dense()).isEqualTo(6);
    assertThat(changed(EIGHT, EIGHT.withBalance(0.25))).containsExactly("balance");
  }

  /** Groups stay where they still divide the experts and leave room for the choices. */
  @ParameterizedTest
  @CsvSource({
    "16, 8, true",
    "16, 9, false",
    "4, 2, true",
    "4, 3, false",
    "6, 2, false",
    "8, 4, true"
  })
  void otherNumbers_keepGroupsThatFit(int experts, int choices, boolean kept)
      throws ReflectiveOperationException {
    ExpertsConfig other = EIGHT.with(experts, choices);

    assertThat(other.experts()).isEqualTo(experts);
    assertThat(other.topK()).isEqualTo(choices);
    assertThat(other.groups()).isEqualTo(kept ? EIGHT.groups() : Groups.NONE);
    assertThat(changed(EIGHT, other)).isSubsetOf("experts", "topK", "groups");
  }

  /** {@code ceil(c T k / E)}, at most T; all if there is no limit. */
  @ParameterizedTest
  @CsvSource({
    "1.25, 16, 5",
    "1, 16, 4",
    "1.01, 16, 5",
    "4, 16, 16",
    "3.9, 16, 16",
    "100, 16, 16",
    "0, 16, 16",
    "1, 0, 0"
  })
  void capacity_isAShareOfTheTokens(double factor, int tokens, int expected) {
    assertThat(EIGHT.withLimits(0, factor).capacityOf(tokens)).isEqualTo(expected);
  }

  /** {@code a E n / (k T)}. */
  @Test
  void auxiliary_isPerChoice() {
    assertThat(EIGHT.withLimits(0.01, 0).auxiliaryPer(3, 16)).isEqualTo(0.01 * 8 * 3 / (2 * 16.0));
  }

  @Test
  void sizesOfExpertGroups_divideTheStage_orSayWhatTheyShould() {
    new ExpertGroups.Sizes(2, 3).check(3, 1, 2);
    isRefused(
        () -> new ExpertGroups.Sizes(2, 2).check(3, 1, 2),
        "ep 2 x etp 2 do not divide the 6 ranks of a stage, tp 3 x cp 1 x dp 2");
    isRefused(() -> new ExpertGroups.Sizes(0, 1), "ep 0, etp 1; expected 1 or more");
    isRefused(() -> new ExpertGroups.Sizes(1, 0), "ep 1, etp 0; expected 1 or more");
  }

  @Test
  void routing_saysItsName() {
    assertThat(new Routing.ByScore().text()).isEqualTo("top-k");
    assertThat(new Routing.Even().text()).isEqualTo("even");
    assertThat(new Routing.Drawn(7, 1.5).text()).isEqualTo("drawn, skew 1.5, seed 7");
    assertThat(Routing.Listed.parse("a.csv", "0\n").text()).isEqualTo("a.csv");
    assertThat(new Routing.ByScore().isKnown()).isFalse();
    assertThat(new Routing.Even().isKnown()).isTrue();
  }

  /** A list begins again when it ends; tokens are numbered by sample, then position. */
  @Test
  void listed_goesTokenByToken() {
    ExpertsConfig two = ExpertsConfig.of(4, 2, 1);
    Routing listed = Routing.Listed.parse("x", "# head\n0,1\n\n 2 , 3 \n1,3\n");

    int token = 0;
    int[][] rows = {{0, 1}, {2, 3}, {1, 3}};
    for (int sample = 0; sample < 2; sample++) {
      for (int position = 0; position < 5; position++) {
        assertThat(listed.of(two, 0, sample, position, 5)).isEqualTo(rows[token++ % 3]);
      }
    }
    isRefused(
        () -> listed.of(ExpertsConfig.of(3, 2, 1), 0, 0, 1, 5),
        "x: token 1 goes to [2, 3]; expected 2 different experts of 0 to 2");
    isRefused(
        () -> Routing.Listed.parse("y", "1,1").of(two, 0, 0, 0, 1),
        "y: token 0 goes to [1, 1]; expected 2 different experts of 0 to 3");
    isRefused(
        () -> listed.of(ExpertsConfig.of(4, 1, 1), 0, 0, 0, 5),
        "x: token 0 goes to [0, 1]; expected 1 different experts of 0 to 3");
  }
}
