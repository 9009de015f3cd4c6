package org.kernbench.device.log;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Symmetry;

/**
 * The hash of the operations of all packages, from those of package 0: each counts once for every
 * shift, with the PE and the link that the shift takes it to. It is what the {@link OpLog} of the
 * run without folding says, so one number shows that both are the same.
 */
final class Orbit {
  /** Operations of all packages that are hashed; beyond, that would take longer than the run. */
  private static final long MOST = 1L << 24;

  private final Symmetry symmetry;
  private final int pesOfPackage;
  private final Map<Integer, int[]> links = new HashMap<>();
  private final int[] noLink;
  private long hash;
  private long counted;

  Orbit(Machine machine, Symmetry symmetry, long start) {
    this.symmetry = symmetry;
    this.pesOfPackage = machine.cubesPerSip() * machine.pesPerCube();
    this.noLink = new int[symmetry.order()];
    Arrays.fill(noLink, -1);
    this.hash = start;
  }

  int packages() {
    return symmetry.order();
  }

  boolean isComplete() {
    return counted <= MOST;
  }

  long hash() {
    return hash;
  }

  /** An operation of package 0 has ended; the parameters are those of {@link OpLog#complete}. */
  void count(
      int ordinal,
      int pe,
      int what,
      int bytes,
      int place,
      long issuePs,
      long startPs,
      long endPs,
      long contentionPs) {
    counted += packages();
    if (!isComplete()) {
      return;
    }
    final int[] places = place < 0 ? noLink : links.computeIfAbsent(place, link -> images(link));
    for (int by = 0; by < places.length; by++) {
      int there = pe + by * pesOfPackage;
      long h = OpLog.mix(((long) ordinal << 32) ^ there, what);
      h = OpLog.mix(h, ((long) bytes << 32) ^ places[by]);
      h = OpLog.mix(h, issuePs);
      h = OpLog.mix(h, startPs);
      h = OpLog.mix(h, endPs);
      hash += OpLog.mix(h, contentionPs);
    }
  }

  private int[] images(int link) {
    int[] images = new int[packages()];
    Arrays.setAll(images, by -> symmetry.shiftedLink(link, by));
    return images;
  }
}
