package org.kernbench.torch.placement;

/** On how many PEs of its device a rank computes. */
public enum Spread {
  /** On all of them. */
  ALL,
  /** On those of its first cube. */
  CUBE,
  /** On the first PE. */
  LEAD;

  /** The part of a device that computes. */
  public Device of(Device device) {
    return switch (this) {
      case ALL -> device;
      case CUBE -> new Device(device.index(), device.level(), device.lead(), 1, device.pes());
      case LEAD -> new Device(device.index(), device.level(), device.lead(), 1, 1);
    };
  }
}
