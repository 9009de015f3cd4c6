package org.kernbench.machine.spec;

import java.util.Map;
import java.util.Optional;

/**
 * What the libraries and the host of a machine add to its kernels; nothing, unless the machine says
 * so ({@code software}).
 *
 * @param synchronisePs for which the host waits after the last kernel until it knows, ps
 * @param operations what is said of a class; a class that is missing adds nothing
 * @param collective protocols of its collective library; empty: messages go as the hardware does
 */
public record SoftwareSpec(
    long synchronisePs,
    Map<OperationClass, OfOperation> operations,
    Optional<ProtocolsSpec> collective) {
  /** Nothing is added. */
  public static final SoftwareSpec NONE = new SoftwareSpec(0, Map.of(), Optional.empty());

  /**
   * Of one class of operations.
   *
   * @param launchPs host time of each call before the kernel is on its way, ps
   * @param residentRowBytes longest row that a kernel keeps while it works on it; longer ones are
   *     read again for each pass
   */
  public record OfOperation(long launchPs, long residentRowBytes) {
    /** Adds nothing, and keeps rows of any length. */
    public static final OfOperation NONE = new OfOperation(0, Long.MAX_VALUE);
  }

  /** Copies the map. */
  public SoftwareSpec {
    operations = Map.copyOf(operations);
  }

  /** What is said of a class. */
  public OfOperation of(OperationClass kind) {
    return operations.getOrDefault(kind, OfOperation.NONE);
  }
}
