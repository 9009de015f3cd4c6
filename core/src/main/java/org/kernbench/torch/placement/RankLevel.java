package org.kernbench.torch.placement;

import java.util.Arrays;
import java.util.Comparator;
import java.util.Locale;
import java.util.stream.Collectors;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;

/** What one rank owns, its device: chosen by {@code rank_level} of the collective configuration. */
public enum RankLevel {
  /** A processing element. */
  PE,
  /** A cube with its processing elements. */
  CUBE,
  /** A package with its cubes. */
  SIP;

  /** How many devices of this level a machine has. */
  public int devices(Machine machine) {
    return switch (this) {
      case PE -> machine.peCount();
      case CUBE -> machine.sips() * machine.cubesPerSip();
      case SIP -> machine.sips();
    };
  }

  /**
   * How many devices a machine has of the levels that have at least some number, for messages: for
   * example {@code cube (4) or pe (8)}; empty if none has.
   */
  public static String withAtLeast(Machine machine, int devices) {
    return Arrays.stream(values())
        .filter(level -> level.devices(machine) >= devices)
        .sorted(Comparator.reverseOrder())
        .map(level -> level.name().toLowerCase(Locale.ROOT) + " (" + level.devices(machine) + ")")
        .collect(Collectors.joining(" or "));
  }

  /** How many PEs a device of this level has. */
  public int pes(Machine machine) {
    return switch (this) {
      case PE -> 1;
      case CUBE -> machine.pesPerCube();
      case SIP -> machine.pesPerCube() * machine.cubesPerSip();
    };
  }

  /** The first PE of a device, by its number in structural order (package, cube, PE). */
  public Pe lead(Machine machine, int device) {
    int cubes = machine.cubesPerSip();
    return switch (this) {
      case PE -> machine.peAt(device);
      case CUBE -> new Pe(device / cubes, device % cubes, 0);
      case SIP -> new Pe(device, 0, 0);
    };
  }

  /** The device that a PE belongs to. */
  public int deviceOf(Machine machine, Pe pe) {
    int cube = pe.sip() * machine.cubesPerSip() + pe.cube();
    return switch (this) {
      case PE -> cube * machine.pesPerCube() + pe.pe();
      case CUBE -> cube;
      case SIP -> pe.sip();
    };
  }
}
