package org.kernbench.torch.collective;

import org.kernbench.device.ReusableProgram;
import org.kernbench.tl.Kernel;

/**
 * A kernel of a collective that says what its commands depend on. What came of it in simulated time
 * may then be used again for another that depends on the same, as with {@link
 * org.kernbench.tl.PureKernel} (ADR 0334).
 */
public interface KeyedKernel extends Kernel {
  /**
   * All that commands depend on but the PEs, the queues and the addresses: of two kernels that say
   * the same each PE says the same commands.
   */
  ReusableProgram.Key dependsOn();
}
