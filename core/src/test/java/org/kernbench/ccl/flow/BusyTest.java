package org.kernbench.ccl.flow;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Intervals of a link against a second construction that looks at all of them each time. */
final class BusyTest {
  /** One interval of the slow twin. */
  private record Span(long from, long to, long held) {}

  private static final class Slow {
    private final List<Span> spans = new ArrayList<>();
    private long waitedPs;

    long take(long earliest, long duration, long until) {
      long start = earliest;
      Span next = null;
      for (Span s : spans) {
        if (s.to <= earliest) {
          start = Math.max(earliest, s.held);
        } else if (s.from < start + duration) {
          start = Math.max(start, s.to);
        } else {
          next = s;
          break;
        }
      }
      long tail = Math.max(start + duration, until);
      waitedPs += start - earliest + (next == null ? 0 : Math.max(0, tail - next.from));
      int at = 0;
      while (at < spans.size() && spans.get(at).to <= start) {
        at++;
      }
      Span made = new Span(start, start + duration, tail);
      if (at < spans.size() && spans.get(at).from == made.to) {
        Span behind = spans.remove(at);
        made = new Span(start, behind.to, Math.max(behind.held, tail));
        if (at > 0 && spans.get(at - 1).to == start) { // who fills a gap came in spite of the tail
          made = new Span(spans.remove(--at).from, made.to, made.held);
        }
      } else if (at > 0 && spans.get(at - 1).to == start) {
        Span before = spans.remove(--at);
        made = new Span(before.from, made.to, Math.max(before.held, tail));
      }
      spans.add(at, made);
      return start;
    }
  }

  @Test
  void take_asManyAskInAnyOrder_isThatOfTheTwin() {
    Random random = new Random(7);
    Busy busy = new Busy();
    for (int round = 0; round < 200; round++) {
      busy.clear();
      Slow slow = new Slow();
      int horizon = 20 << round % 8;
      for (int i = 0; i < 60; i++) {
        long earliest = random.nextInt(horizon);
        long duration = 1 + random.nextInt(5);
        long until = random.nextInt(4) == 0 ? earliest + random.nextInt(12) : 0;
        assertThat(busy.take(earliest, duration, until))
            .as("round %d, request %d", round, i)
            .isEqualTo(slow.take(earliest, duration, until));
        assertThat(busy.waitedPs()).isEqualTo(slow.waitedPs);
      }
    }
    assertThat(busy.room()).isPositive();
    busy.forget();
    assertThat(busy.room()).isZero();
    assertThat(busy.take(5, 2, 0)).isEqualTo(5);
  }
}
