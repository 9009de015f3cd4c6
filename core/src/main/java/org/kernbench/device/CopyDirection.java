package org.kernbench.device;

/** Which way a copy of the host goes. */
public enum CopyDirection {
  /** From the host to a memory: data there, acknowledgement back. */
  HOST_TO_DEVICE,
  /** From a memory to the host: command there, data back. */
  DEVICE_TO_HOST
}
