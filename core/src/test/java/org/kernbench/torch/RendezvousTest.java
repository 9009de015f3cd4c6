package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** What a deadlock report says of ranks that meet. */
final class RendezvousTest {
  @Test
  void describe_allArrived_waitsForTheKernelAndNotForNobody() {
    Fingerprint call = new Fingerprint("allReduce", "world", 0, "f16[8], SUM");
    Rendezvous meeting = new Rendezvous(call, new int[] {0}, 0);

    assertThat(meeting.arrive(0, call, null)).isTrue();
    assertThat(meeting.describe(null)).isEqualTo(call + ", which waits for its kernel");
  }
}
