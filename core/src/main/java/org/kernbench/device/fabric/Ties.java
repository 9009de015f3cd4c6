package org.kernbench.device.fabric;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Symmetry;

/**
 * Who goes first of those that reach a link in one picosecond: by where the package of their PE
 * lies as seen from that of the link ({@link Machine#seat}), then by the number of the PE in its
 * package, then by that of its command, then by chunk.
 *
 * <p>The rule asks how a PE lies to the link, never which number it has in the machine: a shift of
 * a ring or torus turns every tie into another that is decided alike. That is what lets one package
 * stand for all (ADR 0108).
 *
 * <pre>
 *   bit 61                  seat | PE | command | after | chunk, or package            bit 0
 * </pre>
 */
public final class Ties {
  /** Of the key of an event: a chunk, or the package of what follows after all chunks. */
  static final int CHUNK_BITS = 22;

  private static final int AFTER_BIT = CHUNK_BITS;
  private static final int ID_SHIFT = CHUNK_BITS + 1;

  /** Of what a link orders by, but the chunk. */
  private static final int KEY_BITS = 62 - ID_SHIFT;

  private static final int MOST_ORDINAL_BITS = 22;

  private final int ordinalBits;
  private final int idBits;
  private final int ownSeat;

  /** Whose packages these are; null if there is one only. */
  private final @Nullable Machine machine;

  private final boolean folded;

  private Ties(int seatBits, int peBits, int ownSeat, @Nullable Machine machine, boolean folded) {
    this.machine = machine;
    this.folded = folded;
    this.ownSeat = ownSeat;
    this.ordinalBits = Math.min(MOST_ORDINAL_BITS, KEY_BITS - seatBits - peBits);
    this.idBits = KEY_BITS - seatBits;
  }

  /** Those of a machine. */
  public static Ties of(Machine machine) {
    return of(machine, false);
  }

  /**
   * Those of a machine.
   *
   * @param folded whether package 0 stands for all
   */
  static Ties of(Machine machine, boolean folded) {
    int pes = machine.cubesPerSip() * machine.pesPerCube();
    return new Ties(bits(machine.sips()), bits(pes), machine.seat(0, 0), machine, folded);
  }

  /** Those of a table of links, all of them in one package. */
  static Ties ofOnePackage() {
    return new Ties(0, 0, 0, null, false);
  }

  private static int bits(int most) {
    return Integer.SIZE - Integer.numberOfLeadingZeros(most);
  }

  /** A route of links, and where the owner lies from each of them. */
  static int[] way(Machine machine, int[] links, int owner, @Nullable Symmetry folded) {
    int[] way = Arrays.copyOf(links, 2 * links.length);
    for (int i = 0; i < links.length; i++) {
      way[i] = folded == null ? links[i] : folded.classOf(links[i]);
      way[links.length + i] =
          owner == machine.sips() ? owner : machine.seat(machine.packageOfLink(links[i]), owner);
    }
    return way;
  }

  /**
   * The id of a transfer among those of its package. Ordinals begin again after some thousand
   * commands at the least, of which never so many are under way.
   *
   * @param pe number of the PE in its package
   * @param ordinal number of the command within its PE
   */
  public long id(int pe, int ordinal) {
    return ((long) pe << ordinalBits) | (ordinal & ((1 << ordinalBits) - 1));
  }

  /** The id of a copy by the host, of which there is one at a time: after those of all PEs. */
  public long hostId() {
    return (1L << idBits) - 1;
  }

  /** Whose a chunk on a link is: the same of two chunks only if they are of one transfer. */
  long who(int seat, long id) {
    return ((long) seat << idBits) | id;
  }

  int packageOfLink(int link) {
    return machine == null ? 0 : machine.packageOfLink(link);
  }

  /** Tells that a chunk waits behind another, if they are of different PEs. */
  void tell(Fabric.Meetings hears, int packageOfLink, long first, long second) {
    if (first >>> ordinalBits != second >>> ordinalBits) {
      hears.waitsBehind(
          packageOf(packageOfLink, second), pe(second), packageOf(packageOfLink, first), pe(first));
    }
  }

  private int pe(long who) {
    return (int) ((who & ((1L << idBits) - 1)) >>> ordinalBits);
  }

  /**
   * The package that lies so to that of a link, most often the same; -1 for the host. Where
   * packages are folded, the one that stands for it.
   */
  private int packageOf(int packageOfLink, long who) {
    final Machine m = machine;
    int seat = (int) (who >>> idBits);
    if (m != null && (seat == ownSeat || (folded && seat != m.sips()))) {
      return packageOfLink; // where packages are folded, the one that stands for all
    }
    for (int sip = 0; m != null && sip < m.sips(); sip++) {
      if (m.seat(packageOfLink, sip) == seat) {
        return sip;
      }
    }
    return -1;
  }

  /** The key of the event that a chunk reaches a link, or a banked memory. */
  long key(int seat, long id, long chunk) {
    return (who(seat, id) << ID_SHIFT) | chunk;
  }

  /**
   * The key of an event that follows from the end of a transfer at its own PE: after all those of
   * its chunks there.
   *
   * @param sip package of the PE, by which equal commands of several packages go
   */
  public long keyAfter(long id, int sip) {
    return (who(ownSeat, id) << ID_SHIFT) | (1L << AFTER_BIT) | (sip & ((1 << CHUNK_BITS) - 1));
  }
}
