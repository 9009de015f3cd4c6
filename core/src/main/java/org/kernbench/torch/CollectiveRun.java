package org.kernbench.torch;

import org.kernbench.device.Launch;
import org.kernbench.device.QueuePlan;

/**
 * A collective that the device performed.
 *
 * @param call what was asked for
 * @param algorithm that did it
 * @param queues it used
 * @param launch its kernel; the time of the collective is {@link Launch#criticalPs}
 */
public record CollectiveRun(
    CollectiveCall call, String algorithm, QueuePlan queues, Launch launch) {}
