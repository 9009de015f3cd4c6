package org.kernbench.device;

/**
 * Message queues that are installed on a machine, beside those of other sets. Kernels are launched
 * with the set whose directions they name ({@link LaunchRequest#with}). Its slots take their room
 * until {@link Simulator#uninstall}.
 */
public interface QueueSet {
  /** What was installed. */
  QueuePlan plan();

  /** Whether a launch that is not done uses it. */
  boolean isInUse();
}
