package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** What a deadlock report says of ranks that meet. */
final class RendezvousTest {
  @Test
  void describe_allArrived_waitsForTheKernelAndNotForNobody() {
    Rendezvous.Fingerprint call =
        new Rendezvous.Fingerprint("allReduce", "group world", 0, "f16[8], SUM");
    Rendezvous meeting = new Rendezvous(call, new int[] {0}, new int[0], 0, "Train.java:1");

    assertThat(meeting.arrive(0, call, null, () -> "Train.java:1")).isTrue();
    assertThat(meeting.describe()).isEqualTo(call + ", which waits for its kernel");
  }

  /**
   * A session that nothing moves says so; if it claimed to have moved it would be asked for ever.
   */
  @Test
  void endIfDone_notAllArrived_doesNotMove() {
    Rendezvous.Fingerprint call = new Rendezvous.Fingerprint("barrier", "group world", 0, "");
    Rendezvous meeting = new Rendezvous(call, new int[] {0, 1}, new int[0], 0, "Train.java:1");
    assertThat(meeting.arrive(0, call, null, () -> "Train.java:1")).isFalse();
    assertThat(meeting.endIfDone()).isFalse();
    assertThat(meeting.isOver()).isFalse();
  }

  @Test
  void endIfDone_allDone_runsWhatIsLastOnce() {
    Rendezvous.Fingerprint call = new Rendezvous.Fingerprint("barrier", "group world", 0, "");
    Rendezvous meeting = new Rendezvous(call, new int[] {0}, new int[0], 0, "Train.java:1");
    AtomicInteger runs = new AtomicInteger();
    meeting.endAfter(List.of(), runs::incrementAndGet);
    assertThat(meeting.isOver()).isFalse();
    assertThat(meeting.endIfDone()).isTrue();
    assertThat(meeting.endIfDone()).isTrue();
    assertThat(meeting.isOver()).isTrue();
    assertThat(runs).hasValue(1);
  }
}
