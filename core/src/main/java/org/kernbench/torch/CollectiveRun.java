package org.kernbench.torch;

import org.kernbench.device.Launch;

/**
 * A collective that the device performed.
 *
 * @param call what was asked for
 * @param algorithm that did it
 * @param launch its kernel; the time of the collective is {@link Launch#criticalPs}
 */
public record CollectiveRun(CollectiveCall call, String algorithm, Launch launch) {}
