package org.kernbench.device.fabric;

import java.util.Arrays;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Route;
import org.kernbench.machine.Symmetry;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.sim.Rate;

/**
 * A route as the fabric serves it, its answers at hand: the port of a banked memory that it begins
 * at is no link of it, for the banks say when the bytes come out.
 */
public final class FabricRoute {
  public static final FabricRoute EMPTY =
      new FabricRoute(new int[0], 0, Rate.ofBytesPerSecond(Long.MAX_VALUE), -1, 0, -1);

  public final int[] links;

  /**
   * The links as the fabric numbers them (their classes, where packages are folded), then for each
   * of them where the package that the bytes are moved for lies from its own ({@link Ties}): one
   * array, for both are wanted at once.
   */
  final int[] way;

  /** The slowest link, as the fabric numbers them. */
  final int narrowestServed;

  /** The time of a transfer of no bytes: the link latencies, and {@link #nicPs}. */
  public final long latencyPs;

  /** What the NIC that sends does for a message; 0 without one. */
  final long nicPs;

  /** The slowest link from that NIC on, as the fabric numbers them. */
  final int narrowestFromNic;

  /** The slowest link, the port of banks included. */
  final Rate narrowest;

  public final int narrowestLink;

  /** What a message on this route costs its sender besides its bytes. */
  public final long overheadPs;

  /** The port of the banked memory that the data comes from, which is no link of it; -1 if none. */
  public final int readPort;

  /** Whether some link of it leads to a switch that passes on whole chunks. */
  final boolean isStored;

  /** The virtual channel of each link, for finite buffers; worked out when first asked for. */
  int[] channels = {};

  /** A route in one package, or one on which nobody asks whose the bytes are. */
  FabricRoute(
      int[] links,
      long latencyPs,
      Rate narrowest,
      int narrowestLink,
      long overheadPs,
      int readPort) {
    this(
        links,
        Arrays.copyOf(links, 2 * links.length),
        latencyPs,
        narrowest,
        narrowestLink,
        narrowestLink,
        overheadPs,
        readPort,
        false,
        0,
        narrowestLink);
  }

  private FabricRoute(
      int[] links,
      int[] way,
      long latencyPs,
      Rate narrowest,
      int narrowestLink,
      int narrowestServed,
      long overheadPs,
      int readPort,
      boolean isStored,
      long nicPs,
      int narrowestFromNic) {
    this.isStored = isStored;
    this.nicPs = nicPs;
    this.narrowestFromNic = narrowestFromNic;
    this.links = links;
    this.way = way;
    this.latencyPs = latencyPs;
    this.narrowest = narrowest;
    this.narrowestLink = narrowestLink;
    this.narrowestServed = narrowestServed;
    this.overheadPs = overheadPs;
    this.readPort = readPort;
  }

  /**
   * A route of a machine.
   *
   * @param owner package of the PE whose command moves bytes on it; {@link Machine#sips} for the
   *     host
   * @param folded the shifts by which packages are folded; null if they are not
   */
  public static FabricRoute of(Machine machine, Route route, int owner, @Nullable Symmetry folded) {
    int[] links = route.links();
    boolean fromBanks = machine.hbm().isBanked() && machine.linkKind(links[0]) == LinkKind.HBM_PORT;
    int[] served = fromBanks ? Arrays.copyOfRange(links, 1, links.length) : links;
    return new FabricRoute(
        served,
        Ties.way(machine, served, owner, folded),
        fromBanks ? route.replyPs() : route.latencyPs(),
        route.narrowest(),
        route.narrowestLink(),
        folded == null ? route.narrowestLink() : folded.classOf(route.narrowestLink()),
        route.overheadPs(),
        fromBanks ? links[0] : -1,
        IntStream.of(served).anyMatch(machine::isStored),
        route.nicPs(),
        folded == null ? route.narrowestFromNic() : folded.classOf(route.narrowestFromNic()));
  }
}
