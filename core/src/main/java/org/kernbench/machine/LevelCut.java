package org.kernbench.machine;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.kernbench.machine.spec.Dimension;
import org.kernbench.machine.spec.DimensionKind;
import org.kernbench.machine.spec.LinkKind;

/**
 * A cut of all packages through one level of their network: into parts that agree in this dimension
 * and those beyond it, each with all that joins its packages to each other.
 *
 * <p>Whatever the algorithm, an all-reduce of S bytes over all packages has {@code 2 (k - 1) S}
 * bytes enter the k parts ({@code org.kernbench.ccl.bounds.Bounds} says why), so it takes at least
 * {@code 2 (k - 1) S / C}, with C what can enter all parts together.
 *
 * <p>Where a switch between them reduces, it combines for all: S bytes enter each part, {@code k
 * S}.
 *
 * @param name {@code dimension 0} and so on, or {@code NICs}
 * @param parts how many parts, at least 2
 * @param bytesPerSecond what can enter all parts together
 * @param reduces whether a switch between the parts combines and hands out
 */
public record LevelCut(String name, int parts, double bytesPerSecond, boolean reduces) {
  private static final int NONE = -1;

  /** A cut through links and switches that only pass on. */
  public LevelCut(String name, int parts, double bytesPerSecond) {
    this(name, parts, bytesPerSecond, false);
  }

  /** Those of a machine, innermost first, with one through the NICs before the first between. */
  public static List<LevelCut> of(Machine machine) {
    List<LevelCut> cuts = new ArrayList<>();
    int stride = 1;
    for (int d = 0; d < machine.dimensions().size(); d++) {
      Dimension each = machine.dimensions().get(d);
      int parts = machine.sips() / stride;
      boolean reduces =
          machine.dimensions().subList(d, machine.dimensions().size()).stream()
              .anyMatch(x -> x.reduces() && x.size() > 1);
      if (parts > 1 && machine.nodes().isPresent() && d == machine.nodes().get().inside()) {
        cuts.add(new LevelCut("NICs", parts, entering(machine, d, stride, true), reduces));
      }
      if (parts > 1 && each.size() > 1) {
        cuts.add(
            new LevelCut("dimension " + d, parts, entering(machine, d, stride, false), reduces));
      }
      stride *= each.size();
    }
    cuts.removeIf(cut -> cut.bytesPerSecond == 0);
    return cuts;
  }

  /** The one that bounds an all-reduce most; of equal ones the innermost. */
  public static Optional<LevelCut> binding(List<LevelCut> cuts) {
    return cuts.stream().max(Comparator.comparingDouble((LevelCut c) -> c.secondsPerByte()));
  }

  /** Seconds that an all-reduce takes at least for each byte of a package's vector. */
  public double secondsPerByte() {
    return (reduces ? parts : 2.0 * (parts - 1)) / bytesPerSecond;
  }

  /**
   * Links into the parts; 0 if messages pass each other on some or small ones take no time there,
   * so that they bound nothing.
   */
  private static double entering(Machine machine, int d, int stride, boolean beforeNics) {
    double sum = 0;
    for (int id = 0; id < machine.linkCount(); id++) {
      LinkKind kind = machine.linkKind(id);
      if (!kind.isBetweenSips() || machine.isDead(id)) {
        continue;
      }
      int to = part(machine, id, machine.linkTo(id), d, stride);
      boolean fromPort = beforeNics && kind == LinkKind.NIC;
      boolean between = beforeNics && kind == LinkKind.SIP_TO_SIP;
      int from = part(machine, id, machine.linkFrom(id), d, stride);
      boolean enters =
          fromPort
              ? isToPackages(machine, id)
              : to != NONE && from != to && !(between && machine.dimensionOf(id) >= d);
      boolean isFree = machine.isUncontended(id) || machine.specOf(id).rate().isInWholeNs();
      if (enters && isFree) {
        return 0;
      }
      sum += enters ? machine.specOf(id).rate().bytesPerSecond() : 0;
    }
    return sum;
  }

  /** Whether a link of a NIC leads from its port, which then belongs to nobody: NICs come first. */
  private static boolean isToPackages(Machine machine, int id) {
    return machine.linkFrom(id) > machine.linkTo(id);
  }

  /** The part of an end of a link; {@link #NONE} for a switch or NIC of several. */
  private static int part(Machine machine, int id, int node, int d, int stride) {
    int home = machine.homeOf(node);
    if (home == machine.sips()) {
      boolean inside =
          machine.dimensionOf(id) < d
              && machine.dimensions().get(machine.dimensionOf(id)).kind() == DimensionKind.SWITCH;
      return inside ? machine.packageOfLink(id) / stride : NONE;
    }
    boolean shared =
        machine.packageOf(node) == machine.sips()
            && machine.nodes().map(n -> n.sharing() > stride).orElse(false);
    return shared ? NONE : home / stride;
  }
}
