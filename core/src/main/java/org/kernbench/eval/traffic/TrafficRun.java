package org.kernbench.eval.traffic;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.kernbench.config.UsageException;
import org.kernbench.device.fabric.FabricRoute;
import org.kernbench.device.fabric.Fabrics;
import org.kernbench.device.fabric.Interconnect;
import org.kernbench.device.fabric.Ties;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.Route;
import org.kernbench.sim.EventHandler;
import org.kernbench.sim.Simulation;

/**
 * Packets offered to a machine at one load: in every slot each node begins one with the same
 * probability, whatever became of those before. Nodes keep on until all packets that are measured
 * have arrived, or too many slots have passed.
 */
final class TrafficRun implements EventHandler, Interconnect.Sink {
  /**
   * What is offered.
   *
   * @param packetBytes of every packet
   * @param slotPs length of a slot: what a flit takes on the first link of a node
   * @param slots that a packet takes there: whole flits where buffers are finite, else as long as
   *     its bytes take, which may be less than one
   */
  record Offer(
      TrafficPattern pattern,
      TrafficPattern.Hot hot,
      long packetBytes,
      long slotPs,
      double slots,
      int warmUp,
      int measured,
      long seed) {
    /** This offer for another number of slots measured. */
    Offer measuring(int number) {
      return new Offer(pattern, hot, packetBytes, slotPs, slots, warmUp, number, seed);
    }
  }

  /** Stands for the time at which a packet was offered, when it is no longer needed. */
  private static final long ARRIVED = -1;

  /** After so many times the slots, and the longest way, a run is given up. */
  private static final int PATIENCE = 4;

  private final Machine machine;
  private final TrafficNodes nodes;
  private final Offer offer;
  private final double load;
  private final long chance; // of a packet in a slot, in units of 2^-53
  private final FabricRoute[] routes;
  private final Simulation sim = new Simulation();
  private final int handler;
  private final Interconnect links;
  private final Ties ties;
  private final SplittableRandom random;
  private final int[] ordinals;

  private long[] offeredPs = new long[1024];
  private int offered;
  private int firstMeasured;
  private int endMeasured;
  private long[] latenciesPs = new long[1024];
  private int arrived;
  private long acceptedPackets;
  private double aloneSumPs;
  private long longestAlonePs;

  /**
   * A run on idle links.
   *
   * @param routes by source and destination, filled as they are needed
   */
  TrafficRun(Machine machine, TrafficNodes nodes, Offer offer, double load, FabricRoute[] routes) {
    this.machine = machine;
    this.nodes = nodes;
    this.offer = offer;
    this.load = load;
    this.chance = (long) Math.ceil(load / offer.slots * 0x1p53);
    this.routes = routes;
    this.handler = sim.register(this);
    this.links = Fabrics.of(sim, machine, null);
    this.ties = Ties.of(machine);
    this.random = new SplittableRandom(offer.seed);
    this.ordinals = new int[nodes.count()];
  }

  TrafficPoint run() {
    endMeasured = Integer.MAX_VALUE;
    sim.schedule(0, handler, 0, 0);
    while (!isOver() && sim.step()) {
      // until all that is measured has arrived
    }
    int measured = endMeasured - firstMeasured;
    if (measured == 0) {
      throw new UsageException(
          """
          load=%s: chance offers no packet in the %s slots that are measured; expected a higher \
          load, or more cycles\
          """
              .formatted(load, offer.measured));
    }
    double slots = (double) offer.measured * nodes.count();
    return new TrafficPoint(
        load,
        measured * offer.slots / slots,
        acceptedPackets * offer.slots / slots,
        latencies(),
        measured - arrived,
        aloneSumPs / measured,
        Math.max(0, longestAlonePs - offer.slotPs * offer.warmUp)
            / (double) (offer.slotPs * offer.measured),
        sim.eventCount());
  }

  private boolean isOver() {
    return (endMeasured < Integer.MAX_VALUE && arrived == endMeasured - firstMeasured)
        || sim.nowPs()
            > PATIENCE * (offer.slotPs * (offer.warmUp + offer.measured) + longestAlonePs);
  }

  /** Of all that are measured; those that are late have waited so long, and do so still. */
  private long[] latencies() {
    long[] all = Arrays.copyOf(latenciesPs, endMeasured - firstMeasured);
    int next = arrived;
    for (int packet = firstMeasured; packet < endMeasured; packet++) {
      if (offeredPs[packet] != ARRIVED) {
        all[next++] = sim.nowPs() - offeredPs[packet];
      }
    }
    Arrays.sort(all);
    return all;
  }

  /** A slot. */
  @Override
  public void onEvent(int kind, int slot) {
    if (slot == offer.warmUp) {
      firstMeasured = offered;
    } else if (slot == offer.warmUp + offer.measured) {
      endMeasured = offered;
    }
    boolean measures = slot >= offer.warmUp && slot < offer.warmUp + offer.measured;
    for (int node = 0; node < nodes.count(); node++) {
      if (random.nextLong() >>> 11 < chance) {
        begin(node, offer.pattern.destination(nodes, node, offer.hot, random), measures);
      }
    }
    sim.schedule(sim.nowPs() + offer.slotPs, handler, 0, slot + 1);
  }

  private void begin(int from, int to, boolean measures) {
    int number = offered++;
    if (number == offeredPs.length) {
      offeredPs = Arrays.copyOf(offeredPs, number * 2);
    }
    offeredPs[number] = sim.nowPs();
    FabricRoute route = route(from, to);
    if (measures) {
      long alonePs = route.latencyPs + links.serialPs(route, offer.packetBytes);
      aloneSumPs += alonePs;
      longestAlonePs = Math.max(longestAlonePs, alonePs);
    }
    Pe pe = machine.peAt(from);
    int inPackage = machine.peIndex(pe) % (machine.cubesPerSip() * machine.pesPerCube());
    long id = ties.id(inPackage, ordinals[from]++);
    links.begin(id, route, offer.packetBytes, sim.nowPs(), this, number, false, null);
  }

  private FabricRoute route(int from, int to) {
    int at = from * nodes.count() + to;
    if (routes[at] == null) {
      Pe pe = machine.peAt(from);
      Route way = from == to ? machine.loop(pe) : machine.route(pe, machine.peAt(to));
      routes[at] = FabricRoute.of(machine, way, pe.sip(), null);
    }
    return routes[at];
  }

  @Override
  public void onInjected(int arg, long timePs) {
    throw new IllegalStateException("bug: nobody asked when packet " + arg + " was injected");
  }

  @Override
  public void onDelivered(int packet, long timePs, long waitPs, int worstLink) {
    long from = offer.slotPs * offer.warmUp;
    if (timePs >= from && timePs < from + offer.slotPs * offer.measured) {
      acceptedPackets++;
    }
    if (offeredPs[packet] >= from && packet < endMeasured) {
      if (arrived == latenciesPs.length) {
        latenciesPs = Arrays.copyOf(latenciesPs, arrived * 2);
      }
      latenciesPs[arrived++] = timePs - offeredPs[packet];
      offeredPs[packet] = ARRIVED;
    }
  }
}
