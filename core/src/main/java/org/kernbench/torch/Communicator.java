package org.kernbench.torch;

import org.kernbench.device.QueuePlan;
import org.kernbench.tl.Kernel;

/** An algorithm bound to a group of ranks. */
public interface Communicator {
  /** Name of the algorithm, for reports. */
  String algorithm();

  /** The message queues that its kernels use. */
  QueuePlan queues();

  /**
   * The kernel that performs a call. It is launched on every rank's lead PE at once and finds its
   * rank from {@link org.kernbench.tl.Tl#pe}. Never asked for {@link CollectiveOp#BARRIER}.
   *
   * @throws RuntimeException a user's error if the algorithm cannot do this call
   */
  Kernel kernel(CollectiveCall call);
}
