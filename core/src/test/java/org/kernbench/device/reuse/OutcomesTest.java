package org.kernbench.device.reuse;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.ref.WeakReference;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.kernbench.device.log.Cause;
import org.kernbench.device.log.OpKind;

/** What is kept of stretches that have come, for 10 rows, 6 of them not used again. */
final class OutcomesTest {
  private static final int PE = 3;

  private final Outcomes outcomes = new Outcomes(10, 6);

  private static Key key(int number) {
    return new Key(List.of(), Optional.empty(), new long[] {number});
  }

  private static StretchOutcome outcome(int rows) {
    StretchOutcome o = new StretchOutcome(0, 0);
    for (int i = 0; i < rows; i++) {
      o.rows.add(i, i, 0, 0, OpKind.LOAD, Cause.values()[0], -1, 64, -1, 0, 0, 0, 0, 1, 0, 0, 0);
    }
    return o;
  }

  private StretchOutcome kept(int number, int rows) {
    StretchOutcome o = outcome(rows);
    outcomes.keep(key(number), o);
    return o;
  }

  @Test
  void theOldestNotUsedAgainIsForgotten() {
    StretchOutcome first = kept(1, 3);
    StretchOutcome second = kept(2, 3);
    assertThat(outcomes.of(key(1), PE)).containsExactly(first);

    StretchOutcome third = kept(3, 1);

    assertThat(outcomes.of(key(1), PE)).isEmpty();
    assertThat(outcomes.of(key(2), PE)).containsExactly(second);
    assertThat(outcomes.of(key(3), PE)).containsExactly(third);
  }

  @Test
  void whatIsUsedAgainStaysAndTakesRoom() {
    StretchOutcome first = kept(1, 6);
    outcomes.isProven(first);
    StretchOutcome second = kept(2, 4);
    assertThat(outcomes.of(key(2), PE)).containsExactly(second);

    kept(3, 2);

    assertThat(outcomes.of(key(1), PE)).containsExactly(first);
    assertThat(outcomes.of(key(2), PE)).as("10 rows in all").isEmpty();
    assertThat(outcomes.hasRoom()).isTrue();
    StretchOutcome fourth = kept(4, 4);
    outcomes.isProven(fourth);
    assertThat(outcomes.hasRoom()).as("6 and 4 have come again").isFalse();
  }

  @Test
  void whatCameAfterIsTheLikeliest() {
    StretchOutcome one = kept(1, 1);
    StretchOutcome other = kept(1, 1);
    StretchOutcome before = kept(2, 1);
    assertThat(outcomes.of(key(1), PE)).containsExactly(other, one);

    for (StretchOutcome each : List.of(before, one, before)) {
      outcomes.follows(PE, each);
    }

    assertThat(outcomes.of(key(1), PE)).containsExactly(one, other);
    assertThat(outcomes.of(key(1), PE + 1)).as("elsewhere").containsExactly(other, one);
  }

  /** A stretch may end, or be replayed to its end, when what came of it is no longer kept. */
  @Test
  void whatIsForgottenIsNotRememberedAsComingAfterOthers() {
    StretchOutcome before = kept(1, 1);
    outcomes.follows(PE, before);
    WeakReference<StretchOutcome> forgotten = new WeakReference<>(kept(2, 5));
    kept(3, 6);

    outcomes.follows(PE, forgotten.get());
    outcomes.follows(PE, before);

    System.gc();
    assertThat(forgotten.get()).as("kept for nobody").isNull();
  }

  @Test
  void whatHadQueuesThatAreGone_isForgotten() {
    StretchOutcome gone = outcome(2);
    Key ofGone = new Key(List.of(), Optional.of("gone"), new long[] {1});
    outcomes.keep(ofGone, gone);
    StretchOutcome stays = outcome(3);
    Key ofOther = new Key(List.of(), Optional.of("other"), new long[] {1});
    outcomes.keep(ofOther, stays);

    outcomes.forgetQueues("gone");

    assertThat(outcomes.of(ofGone, PE)).isEmpty();
    assertThat(outcomes.of(ofOther, PE)).containsExactly(stays);
    kept(3, 3); // 6 rows not used again, with those of the other set
    assertThat(outcomes.of(ofOther, PE)).as("room of the forgotten").containsExactly(stays);
  }
}
