package org.kernbench.device.reuse;

import java.util.stream.IntStream;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;

/**
 * What packages hold, by number, and which of them are alike inside. PEs, memories and links of a
 * package have consecutive numbers, in the same order in each; so what happens in one can be told
 * of another by what is added to its numbers.
 *
 * <p>Alike are packages whose PEs and whose links inside are equal in rate, latency and speed.
 * Links between packages do not count: what uses one is not told of others.
 */
final class PackageTwins {
  /** Instead of a package: not in one alone. */
  static final int NONE = -1;

  /** PEs of each. */
  final int pes;

  /** Nodes of each. */
  final int nodes;

  /** Links of each, those to others not counted. */
  final int links;

  private final int[] likes;

  /**
   * Packages of a machine.
   *
   * @param packages how many, from the first on: one if it is simulated for all
   */
  PackageTwins(Machine machine, int packages) {
    this.pes = machine.cubesPerSip() * machine.pesPerCube();
    this.nodes = machine.hostNode() / machine.sips();
    this.links = machine.linksPerSip();
    this.likes = IntStream.range(0, packages).map(sip -> like(machine, sip)).toArray();
  }

  /** Whether a package is among them. */
  boolean has(int sip) {
    return sip >= 0 && sip < likes.length;
  }

  private int like(Machine machine, int sip) {
    int first = machine.computesLike(sip);
    while (first < sip && !hasLinksOf(machine, sip, first)) {
      first++;
    }
    return first;
  }

  private boolean hasLinksOf(Machine machine, int sip, int other) {
    return machine.computesLike(other) == machine.computesLike(sip)
        && (machine.slowPackages().isEmpty()
            || IntStream.range(0, links)
                .allMatch(link ->
                    machine
                        .specOf(sip * links + link)
                        .equals(machine.specOf(other * links + link))));
  }

  /** The first package that is like one. */
  int like(int sip) {
    return likes[sip];
  }

  /** The package that all of these PEs are in; {@link #NONE} if they are in several. */
  int of(int[] some) {
    int home = NONE;
    for (int pe : some) {
      int theirs = pe / pes;
      if (home != NONE && theirs != home) {
        return NONE;
      }
      home = theirs;
    }
    return home;
  }

  boolean hasPe(int sip, int pe) {
    return pe / pes == sip;
  }

  boolean hasNode(int sip, int node) {
    return node / nodes == sip;
  }

  boolean hasLink(int sip, int link) {
    return link / links == sip;
  }

  /** A PE of a package as seen from there; another as it is. */
  static Object seenFrom(int sip, Object o) {
    return o instanceof Pe pe && pe.sip() == sip ? new Place(pe.cube(), pe.pe()) : o;
  }

  /** A PE in whatever package it is told of. */
  private record Place(int cube, int pe) {}
}
