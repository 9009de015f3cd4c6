package org.kernbench.torch;

import java.util.BitSet;

/** What a rank has yielded for. */
sealed interface Wait permits LaunchWait, PollWait, Post, Rendezvous {
  /** Whether the rank may go on. */
  boolean isOver();

  /** Lets simulated time do what ends the wait; false if that depends on other ranks. */
  boolean advance(Session session);

  /** Global numbers of the ranks that must act first; empty if only time has to pass. */
  BitSet missing();

  /** What a rank in it waits for, for reports. */
  String describe(Scheduler scheduler);
}
