package org.kernbench.device.reuse;

import java.util.List;
import java.util.function.IntUnaryOperator;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/** The message queues of a launch, as far as its PEs have ends of them. */
public interface MemoQueues {
  /** Which they are: equal for the same queues only. */
  Object set();

  /** Always in the same order. */
  List<? extends End> ends();

  /**
   * Whether all that is sent from these ends arrives at one of them, nothing is under way or waits
   * to be taken, and nobody waits, neither for a message nor for a slot. Credits may be under way:
   * when they arrive is known.
   */
  boolean areAtRest();

  /** One direction of one PE: the ring that it receives into, and its view of the peer's ring. */
  interface End {
    /** The PE that has it, by its index in the machine. */
    int peIndex();

    /** What serves its sends. */
    MemoEngine channel();

    /** What serves its receives. */
    MemoEngine receiver();

    /** Fragments that it has sent so far. */
    long fragmentsSent();

    /** Fragments that it has got so far. */
    long fragmentsDelivered();

    /**
     * Says what of it those that come next can notice, at rest: of the slots that they will use
     * first those whose credits are under way, and the time that these have left. Which slots of
     * the ring these are, nobody can tell.
     */
    void say(LongConsumer word, long nowPs);

    /**
     * What messages have left behind, at rest.
     *
     * @param sent fragments that it has sent since
     * @param delivered fragments that it has got since
     * @param sincePs when it was at rest before
     * @param rowOf the number by which an operation is known; negative if by none
     * @return null if one of those that gave credits back is not known
     */
    @Nullable Passage passage(int sent, int delivered, long sincePs, IntUnaryOperator rowOf);

    /**
     * As many messages pass again, which nobody sees.
     *
     * @param idOf the operation of a number
     */
    void passes(Passage again, long sincePs, IntUnaryOperator idOf);
  }

  /** What messages leave behind at an end. */
  final class Passage {
    private final int sent;
    private final int delivered;
    private final long[] creditsPs;
    private final int[] creditRows;

    /**
     * So many messages have passed.
     *
     * @param sent fragments sent
     * @param delivered fragments that came
     * @param creditsPs when the credits of those sent last are back, one for each slot that was
     *     used, in picoseconds after the moment before
     * @param creditRows which operations gave these
     */
    public Passage(int sent, int delivered, long[] creditsPs, int[] creditRows) {
      this.sent = sent;
      this.delivered = delivered;
      this.creditsPs = creditsPs.clone();
      this.creditRows = creditRows.clone();
    }

    /** Fragments sent. */
    public int sent() {
      return sent;
    }

    /** Fragments that came. */
    public int delivered() {
      return delivered;
    }

    /** Credits of those sent last, from the oldest on. */
    public int credits() {
      return creditsPs.length;
    }

    /** When one of them is back, in picoseconds after the moment before. */
    public long creditPs(int i) {
      return creditsPs[i];
    }

    /** Which operation gave it. */
    public int creditRow(int i) {
      return creditRows[i];
    }
  }
}
