package org.kernbench.torch.placement;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** First fit, beside a twin that looks at one position after the other. */
final class RangeAllocatorTest {
  private static final int START = 64;
  private static final int UNITS = 50;
  private static final int UNIT = 16;

  private final RangeAllocator allocator = new RangeAllocator(START, UNITS * UNIT, UNIT);

  private static OptionalLong firstFit(BitSet used, int units) {
    for (int at = 0; at + units <= UNITS; at++) {
      if (used.get(at, at + units).isEmpty()) {
        used.set(at, at + units);
        return OptionalLong.of(START + (long) at * UNIT);
      }
    }
    return OptionalLong.empty();
  }

  @Test
  void blocks_takeTheFirstGapThatIsLargeEnough() {
    Random random = new Random(5);
    BitSet used = new BitSet();
    Map<Long, Integer> live = new HashMap<>();
    long most = 0;
    for (int step = 0; step < 4000; step++) {
      if (random.nextInt(5) < 3 || live.isEmpty()) {
        int size = 1 + random.nextInt(6 * UNIT);
        int units = (size + UNIT - 1) / UNIT;
        OptionalLong at = allocator.allocate(size, "o" + units);
        assertThat(at).isEqualTo(firstFit(used, units));
        at.ifPresent(place -> live.put(place, units));
      } else {
        long at = List.copyOf(live.keySet()).get(random.nextInt(live.size()));
        allocator.free(at);
        int first = (int) (at - START) / UNIT;
        used.clear(first, first + live.remove(at));
      }
      most = Math.max(most, used.cardinality());
      assertThat(allocator.freeBytes()).isEqualTo((UNITS - used.cardinality()) * UNIT);
      assertThat(allocator.mostUsed()).isEqualTo(most * UNIT);
    }
    Map<String, Long> owners = new HashMap<>();
    allocator.addTo(owners);
    Map<String, Long> expected = new HashMap<>();
    live.values().forEach(units -> expected.merge("o" + units, (long) units * UNIT, Long::sum));
    assertThat(owners).isEqualTo(expected);
  }

  @Test
  void space_isUsableToItsLastByte_andNoFurther() {
    assertThat(allocator.allocate(UNITS * UNIT + 1, "a")).isEmpty();
    assertThat(allocator.allocate(UNITS * UNIT, "a")).hasValue(START);
    assertThat(allocator.allocate(1, "b")).isEmpty();
    assertThat(allocator.describe()).isEqualTo("free 0 B of 800 B; largest: a 800 B");
  }

  @Test
  void description_namesTheFourLargest_andHowManyMore() {
    assertThat(allocator.describe()).isEqualTo("free 800 B of 800 B");
    long first = allocator.allocate(16, "a").orElseThrow();
    allocator.allocate(48, "b");
    allocator.allocate(32, "c");
    allocator.allocate(64, "d");

    assertThat(allocator.describe())
        .isEqualTo("free 640 B of 800 B; largest: d 64 B, b 48 B, c 32 B, a 16 B");

    allocator.allocate(80, "e");
    allocator.free(first);
    allocator.allocate(512, "f");
    allocator.allocate(16, "g");

    assertThat(allocator.describe())
        .isEqualTo("free 48 B of 800 B; largest: f 512 B, e 80 B, d 64 B, b 48 B and 2 more");

    allocator.free(first);

    assertThat(allocator.describe())
        .isEqualTo(
            """
            free 64 B of 800 B in 2 pieces, the largest 48 B; largest: f 512 B, e 80 B, d 64 B, b \
            48 B and 1 more\
            """);
  }

  @Test
  void free_ofWhatBeginsNowhere_isAnError() {
    long at = allocator.allocate(32, "a").orElseThrow();

    assertThatIllegalStateException()
        .isThrownBy(() -> allocator.free(at + UNIT))
        .withMessage("nothing is allocated at " + (at + UNIT));
    allocator.free(at);
    assertThatIllegalStateException().isThrownBy(() -> allocator.free(at));
  }
}
