package org.kernbench.torch;

import java.util.Locale;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;

/**
 * What one rank owns: a PE, a cube or a package.
 *
 * @param index number in structural order (package, cube, PE), from 0
 * @param level what it is
 * @param lead its first PE
 * @param cubes how many cubes it has, from the lead's on
 * @param pes how many PEs it has in each cube, from the lead's on
 */
record Device(int index, RankLevel level, Pe lead, int cubes, int pes) {
  static int count(Machine machine, RankLevel level) {
    return switch (level) {
      case PE -> machine.peCount();
      case CUBE -> machine.sips() * machine.cubesPerSip();
      case SIP -> machine.sips();
    };
  }

  static Device of(Machine machine, RankLevel level, int index) {
    int cubes = machine.cubesPerSip();
    int pes = machine.pesPerCube();
    return switch (level) {
      case PE -> new Device(index, level, machine.peAt(index), 1, 1);
      case CUBE -> new Device(index, level, new Pe(index / cubes, index % cubes, 0), 1, pes);
      case SIP -> new Device(index, level, new Pe(index, 0, 0), cubes, pes);
    };
  }

  /** For example {@code device 3 (cube sip0.cube3)}. */
  @Override
  public String toString() {
    String where =
        switch (level) {
          case PE -> lead.toString();
          case CUBE -> "sip" + lead.sip() + ".cube" + lead.cube();
          case SIP -> "sip" + lead.sip();
        };
    return "device " + index + " (" + level.name().toLowerCase(Locale.ROOT) + " " + where + ")";
  }
}
