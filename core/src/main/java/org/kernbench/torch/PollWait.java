package org.kernbench.torch;

import java.util.BitSet;

/**
 * A rank has asked again whether an operation is complete. It gets its answer when the other ranks
 * have run as far as they can and time has moved, so that a loop of questions ends.
 */
final class PollWait implements Wait {
  private final Work work;
  private boolean over;

  PollWait(Work work) {
    this.work = work;
  }

  @Override
  public boolean isOver() {
    return over;
  }

  @Override
  public boolean advance(Session session) {
    if (work.wait.isOver()) {
      work.launch().ifPresent(session::drive);
      over = true;
    }
    return over;
  }

  /** Something else has moved: the answer may be no. */
  void end() {
    over = true;
  }

  @Override
  public BitSet missing() {
    return new BitSet();
  }

  @Override
  public String describe(Scheduler scheduler) {
    return "isCompleted of " + work.wait.describe(scheduler);
  }
}
