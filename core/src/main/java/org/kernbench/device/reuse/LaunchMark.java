package org.kernbench.device.reuse;

import org.jspecify.annotations.Nullable;

/** What is remembered of a launch. */
public final class LaunchMark {
  /** Notes what comes of it; null if nobody does. */
  @Nullable Noted noted;

  /** Its number in its stretch. */
  int member;

  /** Whether it is known what its messages depend on, if it sends any. */
  boolean mayTalk;

  /** The stretch that it is replayed in; null if in none. */
  @Nullable Replay replayed;

  /** Why it is simulated; null if it is not, or nobody has said. */
  Counts.@Nullable Reason simulatedFor;

  /** Nothing is known. */
  public LaunchMark() {}

  /** An operation of it has been simulated. */
  public void did() {
    Counts.Reason why = simulatedFor;
    if (why != null) {
      why.did();
    }
  }

  /**
   * A PE has ended its part.
   *
   * @param leavesNothing whether its stream has no other launch there
   * @param endPs when its last command ended there
   * @param lastOp that command
   * @param donePs when its last message was seen as well
   * @param lastSeen the command whose end that was
   * @param isLast whether all PEs have
   */
  public void ended(
      MemoLaunch launch,
      MemoPe pe,
      boolean leavesNothing,
      long endPs,
      int lastOp,
      long donePs,
      int lastSeen,
      boolean isLast) {
    Noted n = noted;
    if (n != null) {
      n.finished(launch, pe, leavesNothing, endPs, lastOp, donePs, lastSeen, isLast);
    }
  }

  /**
   * Whether its stream had no other launch on a PE when others were told of its end there, which
   * was replayed; false if it was not.
   */
  public boolean leftNothingOn(MemoPe pe) {
    Replay r = replayed;
    return r != null && r.isEmptied(this, pe);
  }

  /** Whether it is replayed, or was begun to be. */
  public boolean isReplayed() {
    return replayed != null;
  }
}
