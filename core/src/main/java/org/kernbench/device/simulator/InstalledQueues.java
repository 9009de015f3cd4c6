package org.kernbench.device.simulator;

import org.kernbench.device.QueuePlan;
import org.kernbench.device.QueueSet;
import org.kernbench.machine.SimulationException;

/** What the machine keeps of a set of message queues: who uses it, and whether it is gone. */
final class InstalledQueues implements QueueSet {
  private final QueuePlan plan;
  private boolean installed = true;

  /** Launches that use it and are not done. */
  int users;

  InstalledQueues(QueuePlan plan) {
    this.plan = plan;
  }

  /** What is kept of a set that the host names. */
  static InstalledQueues of(QueueSet named) {
    return (InstalledQueues) named;
  }

  @Override
  public QueuePlan plan() {
    return plan;
  }

  @Override
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
          """
          message queues cannot be uninstalled while a kernel that was launched with them is not \
          done; await it first\
          """);
    }
    if (!installed) {
      throw new SimulationException("message queues are uninstalled already");
    }
    installed = false;
  }
}
