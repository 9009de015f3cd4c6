package org.kernbench.torch;

import org.kernbench.device.simulator.Simulator;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;

/** What a tensor asks of the host that it was made on. */
interface TensorHost {
  Machine machine();

  Simulator simulator();

  /** Where its parts lie. */
  TensorParts.Memory memory();

  /** Whether there are values, or time alone. */
  boolean hasValues();

  /** Whether simulated time is running. */
  boolean isDriving();

  /** How many launches so far have not said what they use. */
  int undeclaredLaunches();

  /** Whether an error has ended the simulation. */
  boolean isStopped();

  /** Refuses a tensor to a kernel that did not name it. */
  void checkUse(Tensor tensor, Pe pe);

  /** Completes the kernels that could still read or change a tensor. */
  void settle(Tensor tensor);

  /** Gives a tensor's memory back, as soon as no kernel under way can use it. */
  void release(Tensor tensor);
}
