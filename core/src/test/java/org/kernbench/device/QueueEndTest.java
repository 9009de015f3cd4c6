package org.kernbench.device;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.machine.Pe;

/**
 * The peak of slots in use, which is counted only when it may have grown, against counting always.
 */
final class QueueEndTest {
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 8, 64, 4096})
  void slotsInUsePeak_creditsInAnyOrder_isTheMostEverCounted(int slots) {
    for (int seed = 0; seed < (slots > 100 ? 3 : 200); seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      int most = 1 + random.nextInt(slots); // slots that the receiver likes to hold
      QueueEnd end = new QueueEnd(0, 0, new Pe(0, 0, 0), "E", 0, slots);
      List<Integer> filled = new ArrayList<>();
      long nowPs = 0;
      int peak = 0;
      for (int k = 0; k < 4 * slots + 20; k++) {
        while (filled.size() >= most || !end.hasCredit()) {
          boolean inOrder = !end.hasCredit() || random.nextBoolean();
          int slot = filled.remove(inOrder ? 0 : random.nextInt(filled.size()));
          end.returnCredit(slot, nowPs + random.nextInt(100), k);
        }
        nowPs = Math.max(nowPs, end.creditPs()) + random.nextInt(20);
        filled.add(k % slots);
        end.takeCredit(nowPs);
        peak = Math.max(peak, end.slotsInUse(nowPs));
        assertThat(end.slotsInUsePeak).as("message %d, seed %d", k, seed).isEqualTo(peak);
      }
      assertThat(peak).isBetween(1, slots);
    }
  }
}
