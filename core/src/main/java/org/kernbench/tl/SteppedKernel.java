package org.kernbench.tl;

import org.kernbench.device.Steps;

/**
 * A kernel whose program instances say their commands in steps and never wait: no {@code item}, no
 * {@code clock}, no {@code recvAny}. It does and costs what the same kernel in one piece does; the
 * simulator gives its instances no thread, which pays where there are thousands of them.
 *
 * <p>Large launches are simulated on several threads at once: instances must not share anything
 * that changes. What comes of them then does not depend on which is asked first.
 */
public interface SteppedKernel extends Kernel {
  /**
   * Begins a program instance.
   *
   * @return its steps; a step that would have to wait fails with a {@link
   *     org.kernbench.machine.SimulationException}
   */
  Steps begin(Tl tl);

  @Override
  default void run(Tl tl) {
    begin(tl).run();
  }
}
