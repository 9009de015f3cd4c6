package org.kernbench.machine.spec;

import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import org.kernbench.config.ConfigMap;

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

  /** Reads {@code software}, which a machine may leave out. */
  public static SoftwareSpec read(ConfigMap root) {
    if (!root.has("software")) {
      return SoftwareSpec.NONE;
    }
    ConfigMap software = root.map("software");
    Map<OperationClass, SoftwareSpec.OfOperation> operations = new EnumMap<>(OperationClass.class);
    Optional<ProtocolsSpec> protocols = Optional.empty();
    for (OperationClass each : OperationClass.values()) {
      if (software.has(each.word())) {
        ConfigMap of = software.map(each.word());
        operations.put(
            each,
            new SoftwareSpec.OfOperation(
                of.has("launch") ? of.time("launch") : 0,
                of.has("resident_row")
                    ? of.size("resident_row")
                    : SoftwareSpec.OfOperation.NONE.residentRowBytes()));
        if (each == OperationClass.COLLECTIVE && of.has("protocols")) {
          protocols = Optional.of(ProtocolsSpec.read(of));
        }
        of.done();
      }
    }
    long synchronise = software.has("synchronise") ? software.time("synchronise") : 0;
    software.done();
    return new SoftwareSpec(synchronise, operations, protocols);
  }

  /** What is said of a class. */
  public OfOperation of(OperationClass kind) {
    return operations.getOrDefault(kind, OfOperation.NONE);
  }
}
