package org.kernbench.torch;

import org.kernbench.machine.SimulationException;

/** The devices of the machine ({@code torch.cuda} in PyTorch); one view per {@link Torch}. */
public final class Ahbm {
  private final Session session;
  private int device;

  Ahbm(Session session, int device) {
    this.session = session;
    this.device = device;
  }

  /**
   * Chooses the device that tensors made from now on lie on. A rank starts with the device of its
   * own number, the host program with device 0.
   */
  public void setDevice(int index) {
    if (index < 0 || index >= deviceCount()) {
      throw new SimulationException(
          "setDevice: got %s; expected 0 to %s, the %ss of machine %s"
              .formatted(
                  index, deviceCount() - 1, session.rankLevelName(), session.machine().name()));
    }
    device = index;
  }

  /** The device that tensors lie on. */
  public int currentDevice() {
    return device;
  }

  /** Number of devices: packages, cubes or PEs, as the rank level says. */
  public int deviceCount() {
    return session.deviceCount();
  }
}
