package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.machine.Pe;

/** The peak of slots in use, against what is known when all credits are back. */
final class QueueEndTest {
  /** Credits are told in any order, now or long after they have set out, as between packages. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 8, 64, 1024})
  void slotsInUsePeak_creditsInAnyOrder_isTheLongestSpanOfAllStarts(int slots) {
    for (int seed = 0; seed < (slots > 100 ? 3 : 200); seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      int most = 1 + random.nextInt(slots); // slots that the receiver likes to hold
      boolean late = random.nextBoolean(); // credits are told when nothing else can be done
      QueueEnd end = new QueueEnd(0, 0, new Pe(0, 0, 0), "E", new Pe(1, 0, 0), 0, slots);
      List<Long> startsPs = new ArrayList<>();
      List<Long> creditsPs = new ArrayList<>(); // by fragment; NEVER while it is not back
      List<Integer> filled = new ArrayList<>(); // fragments
      for (int k = 0; k < 4 * slots + 20; k++) {
        while ((!late && filled.size() >= most) || !end.hasCredit()) {
          boolean inOrder = !end.hasCredit() || random.nextBoolean();
          int fragment = filled.remove(inOrder ? 0 : random.nextInt(filled.size()));
          long creditPs = startsPs.get(fragment) + random.nextInt(100);
          creditsPs.set(fragment, creditPs);
          end.returnCredit(fragment % slots, creditPs, k);
        }
        long before = startsPs.isEmpty() ? 0 : startsPs.getLast();
        startsPs.add(Math.max(before, end.creditPs()) + random.nextInt(20));
        creditsPs.add(QueueEnd.NEVER);
        filled.add(k);
        end.takeCredit(startsPs.getLast());
        if (random.nextInt(10) == 0) {
          end.slotsInUsePeak(); // a look changes nothing
        }
      }
      assertThat(end.slotsInUsePeak())
          .as("seed %d", seed)
          .isEqualTo(longestSpan(startsPs, creditsPs))
          .isBetween(1, slots);
    }
  }

  private static int longestSpan(List<Long> startsPs, List<Long> creditsPs) {
    int longest = 0;
    for (int k = 0; k < startsPs.size(); k++) {
      int oldest = 0;
      while (oldest < k && creditsPs.get(oldest) <= startsPs.get(k)) {
        oldest++;
      }
      longest = Math.max(longest, k + 1 - oldest);
    }
    return longest;
  }
}
