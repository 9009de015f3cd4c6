package org.kernbench.torch.placement;

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
public record Device(int index, RankLevel level, Pe lead, int cubes, int pes) {
  public static Device of(Machine machine, RankLevel level, int index) {
    int cubes = level == RankLevel.SIP ? machine.cubesPerSip() : 1;
    int pes = level == RankLevel.PE ? 1 : machine.pesPerCube();
    return new Device(index, level, level.lead(machine, index), cubes, pes);
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
