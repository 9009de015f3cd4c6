package org.kernbench.torch;

/** What a rank has yielded for. */
sealed interface Wait permits LaunchWait, Rendezvous {
  /** Whether the rank may go on. */
  boolean isOver();

  /** Lets simulated time do what ends the wait; false if that depends on other ranks. */
  boolean advance(Session session);

  /** What a rank in it waits for, for reports. */
  String describe(Scheduler scheduler);
}
