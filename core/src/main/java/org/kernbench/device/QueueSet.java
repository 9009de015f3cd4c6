package org.kernbench.device;

import org.kernbench.machine.SimulationException;

/**
 * Message queues that are installed on a machine, beside those of other sets. Kernels are launched
 * with the set whose directions they name ({@link LaunchRequest#with}). Its slots take their room
 * until {@link Simulator#uninstall}.
 */
public final class QueueSet {
  private final QueuePlan plan;
  private boolean installed = true;

  /** Launches that use it and are not done. */
  int users;

  QueueSet(QueuePlan plan) {
    this.plan = plan;
  }

  /** What was installed. */
  public QueuePlan plan() {
    return plan;
  }

  /** Whether a launch that is not done uses it. */
  public boolean isInUse() {
    return users > 0;
  }

  void checkUsable(String kernel) {
    if (!installed) {
      throw new SimulationException(
          "kernel " + kernel + ": its message queues have been uninstalled; install them again");
    }
  }

  void removed() {
    if (users > 0) {
      throw new SimulationException(
          "message queues cannot be uninstalled while a kernel that was launched with them is not"
              + " done; await it first");
    }
    if (!installed) {
      throw new SimulationException("message queues are uninstalled already");
    }
    installed = false;
  }
}
