package org.kernbench.device;

import org.jspecify.annotations.Nullable;

/**
 * Who issues commands, as the commands know it: a program of a launch, or the tile scheduler of a
 * PE. There is one sort, {@link ProgramContext}.
 */
abstract class Issuer {
  /** Dense over the machine. */
  final int index;

  /** The place of its PE in the simulation. */
  final int place;

  /** Whose programs it runs; the tile scheduler's is the one after those of the launches. */
  final int stream;

  /** Whether it issues the commands of composite operations. */
  final boolean isScheduler;

  @Nullable LaunchState running;

  Issuer(int index, int place, int stream, boolean isScheduler) {
    this.index = index;
    this.place = place;
    this.stream = stream;
    this.isScheduler = isScheduler;
  }

  /** Where its programs say their commands. */
  abstract PePort port();

  /** The time that its program, or the end of the kernel, waits for has come. */
  abstract void timeHasCome();

  /** All commands of a task that it has handed to the tile scheduler have ended. */
  abstract void isDone(ScheduledTask task);
}
