package org.kernbench.torch.collective;

import org.kernbench.device.QueuePlan;
import org.kernbench.tl.Kernel;

/**
 * How a communicator performs one call.
 *
 * @param algorithm its name, for reports
 * @param queues the message queues that the kernel uses. Equal plans are installed once, so a
 *     communicator should give the same object again rather than an equal one
 * @param kernel launched at once on the lead PE of every rank (for POINT_TO_POINT: of every rank
 *     that sends or receives); finds its rank from {@link org.kernbench.tl.Tl#pe}
 */
public record CollectivePlan(String algorithm, QueuePlan queues, Kernel kernel) {}
