package org.kernbench.device;

import java.util.List;
import org.kernbench.device.log.LaunchLog;
import org.kernbench.machine.Pe;

/**
 * One kernel on a set of PEs, from the host's call to the last PE's completion. All PEs start at
 * one common time; {@code pe_exec} is counted from there to the completion of a PE's last command,
 * and the critical time of the launch is its maximum. The time before the common start is launch
 * overhead and never part of it.
 *
 * <p>It starts when, on each of its PEs, what was launched before on the same stream is done, and
 * the launches that it was told to come after are.
 */
public interface Launch {
  /** The kernel's name. */
  String name();

  /** Where it runs. */
  List<Pe> pes();

  /** Its number in the {@link LaunchLog}; -1 if it is not kept. */
  int id();

  /** Which of the PEs' program contexts it takes. */
  int stream();

  /** Whether every PE has completed. */
  boolean isDone();

  /** When the host called, in picoseconds. */
  long enqueuedPs();

  /** The common start of all PEs, in picoseconds; -1 before. */
  long startPs();

  /** From the common start to the last PE's completion, in picoseconds. */
  long criticalPs();

  /**
   * When the last PE completed, in picoseconds. A command counts until the PE is done with it: a
   * send until its last byte has left and its channel is free, though the message is still under
   * way then and its row of the op log ends when the receiver sees it. A launch whose last command
   * is a send thus ends before that row does; who needs the message waits for it in the receiver's
   * program.
   */
  long endPs();

  /**
   * The operation that ended last, in the sense of {@link #endPs}, an id of the op log; -1 if the
   * kernel issued none.
   */
  int criticalOp();
}
