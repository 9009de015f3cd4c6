package org.kernbench.tl;

import java.util.List;

/** Something that a {@link PureKernel} captures and that can say what of it matters to commands. */
public interface Dependent {
  /**
   * What the commands depend on: names, for one, are left out. Memory that they may load from or
   * store to is said as {@link org.kernbench.device.ReusableProgram.Memory}.
   */
  List<Object> dependsOn();
}
