package org.kernbench.device.fabric;

import java.util.Arrays;
import java.util.function.IntFunction;
import java.util.function.IntToLongFunction;
import org.kernbench.machine.Machine;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.machine.spec.LinkSpec;
import org.kernbench.sim.Rate;

/** A path over the fabric with what its users need to know of it. */
public final class Route {
  public static final Route EMPTY =
      new Route(new int[0], 0, Rate.ofBytesPerSecond(Long.MAX_VALUE), -1, -1);

  public final int[] links;

  /** Sum of the link latencies. */
  public final long latencyPs;

  /** The slowest link. */
  final Rate narrowest;

  public final int narrowestLink;

  /** The port of the banked memory that the data comes from, which is no link of it; -1 if none. */
  public final int readPort;

  /** The virtual channel of each link, for finite buffers; worked out when first asked for. */
  int[] channels = {};

  private Route(int[] links, long latencyPs, Rate narrowest, int narrowestLink, int readPort) {
    this.readPort = readPort;
    this.links = links;
    this.latencyPs = latencyPs;
    this.narrowest = narrowest;
    this.narrowestLink = narrowestLink;
  }

  public static Route of(Machine machine, int[] links) {
    Route all = over(links, id -> spec(machine, id).rate(), id -> spec(machine, id).latencyPs());
    if (!machine.hbm().isBanked() || machine.linkKind(links[0]) != LinkKind.HBM_PORT) {
      return all;
    }
    return new Route(
        Arrays.copyOfRange(links, 1, links.length),
        all.latencyPs - spec(machine, links[0]).latencyPs(),
        all.narrowest,
        all.narrowestLink,
        links[0]);
  }

  private static LinkSpec spec(Machine machine, int link) {
    return machine.specOf(link);
  }

  /** A path over links that are given as a table: rate and latency by link id. */
  static Route of(int[] links, Rate[] rates, long[] latenciesPs) {
    return over(links, id -> rates[id], id -> latenciesPs[id]);
  }

  private static Route over(int[] links, IntFunction<Rate> rate, IntToLongFunction latencyPs) {
    long latency = 0;
    int narrowestLink = links[0];
    for (int id : links) {
      latency += latencyPs.applyAsLong(id);
      if (rate.apply(id).bytesPerSecond() < rate.apply(narrowestLink).bytesPerSecond()) {
        narrowestLink = id;
      }
    }
    return new Route(links, latency, rate.apply(narrowestLink), narrowestLink, -1);
  }

  /** Time of a transfer that meets nobody: latencies plus serialisation at the narrowest link. */
  public long uncontendedPs(long bytes) {
    return latencyPs + narrowest.durationPs(bytes);
  }
}
