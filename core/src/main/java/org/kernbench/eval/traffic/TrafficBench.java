package org.kernbench.eval.traffic;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.device.fabric.FabricRoute;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.eval.output.Digest;
import org.kernbench.eval.output.Numbers;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Route;
import org.kernbench.sim.Rate;

/**
 * {@code traffic}: latency over load. Packets go between the processing elements of a machine by a
 * pattern, open loop: the next one begins whether or not the last has arrived.
 *
 * <p>A load of 1 keeps the first link of every node always busy; where that link passes a flit in a
 * cycle it is the <em>flits per node and cycle</em> of the literature. Each load is a simulation of
 * its own, on idle links, with the same seed.
 */
public final class TrafficBench implements Bench {
  private static final Param<TrafficPattern> PATTERN =
      Param.choice("pattern", TrafficPattern.UNIFORM, TrafficPattern.class, "who sends to whom");
  private static final Param<String> LOAD =
      Param.word(
          "load",
          "0.01",
          "auto, or loads above 0 and up to 1, ascending, e.g. 0.1 or 0.1,0.2,0.4",
          "part of what the first link of a node passes; auto: in steps until it is saturated");
  private static final Param<Long> PACKET =
      Param.size("packet", "128 B", 1, 1 << 20, "bytes of a packet");
  private static final Param<Integer> CYCLES =
      Param.integer(
          "cycles", 200, 10, 1_000_000, "slots measured: times of a flit on the first link");
  private static final Param<String> WARM_UP =
      Param.word(
          "warm_up",
          "auto",
          "auto, or 0 to 1000000",
          "slots before them; auto: as many as the longest way alone takes, at least 100");
  private static final Param<Integer> SEED =
      Param.integer("seed", 1, 0, Integer.MAX_VALUE, "of what chance decides");
  private static final Param<Integer> HOT_NODE =
      Param.integer("hot_node", 0, 0, 1 << 20, "PE that hotspot sends to");
  private static final Param<Integer> HOT_PERCENT =
      Param.integer("hot_percent", 10, 1, 100, "of the packets of hotspot that go there");

  private static final int MOST_NODES = 1024;
  private static final int LEAST_WARM_UP = 100;
  private static final int MOST_SLOTS = 1_000_000;
  private static final double QUIET_PACKETS = 10_000;
  private static final double TELLING_PACKETS = 2_000;
  private static final long PS_PER_S = 1_000_000_000_000L;

  @Override
  public String name() {
    return "traffic";
  }

  @Override
  public String description() {
    return "latency over load: packets between PEs by a pattern, open loop, until saturation";
  }

  @Override
  public List<Param<?>> params() {
    return List.of(PATTERN, LOAD, PACKET, CYCLES, WARM_UP, SEED, HOT_NODE, HOT_PERCENT);
  }

  @Override
  public Outcome run(BenchContext context) {
    if (context.mode() == Mode.VALUES) {
      throw new UsageException("traffic has times only; expected --mode time or full");
    }
    Machine machine = context.machine();
    check(context, machine);
    TrafficNodes nodes = TrafficNodes.of(machine);
    context.param(PATTERN).check(nodes);
    List<Double> loads = loads(context.param(LOAD));
    TrafficRun.Offer offer = offer(context, machine);
    FabricRoute[] routes = new FabricRoute[nodes.count() * nodes.count()];
    checkLoads(loads, offer, machine);
    TrafficCurve curve =
        loads.isEmpty()
            ? TrafficCurve.toSaturation(
                l -> run(machine, nodes, enough(offer, nodes, l, TELLING_PACKETS), l, routes),
                l -> run(machine, nodes, enough(offer, nodes, l, QUIET_PACKETS), l, routes),
                offer.slots())
            : TrafficCurve.at(loads, l -> run(machine, nodes, offer, l, routes));
    return outcome(context, machine, nodes, offer, curve);
  }

  private static TrafficPoint run(
      Machine machine,
      TrafficNodes nodes,
      TrafficRun.Offer offer,
      double load,
      FabricRoute[] routes) {
    return new TrafficRun(machine, nodes, offer, load, routes).run();
  }

  /** A node begins one packet in a slot at most. */
  private static void checkLoads(List<Double> loads, TrafficRun.Offer offer, Machine machine) {
    if (!loads.isEmpty() && loads.getLast() > offer.slots()) {
      throw new UsageException(
          String.format(
              Locale.ROOT,
              """
              load=%s of packets of %s B: a node begins one packet in a slot of %s B at most; \
              expected loads up to %.4f, or larger packets\
              """,
              loads.getLast(),
              offer.packetBytes(),
              machine.fabric().flitBytes(),
              offer.slots()));
    }
  }

  private static Outcome outcome(
      BenchContext context,
      Machine machine,
      TrafficNodes nodes,
      TrafficRun.Offer offer,
      TrafficCurve curve) {
    Outcome outcome = Outcome.on(machine);
    outcome.condition("nodes", nodes.text());
    outcome.condition("warm_up", offer.warmUp());
    outcome.condition("slot_ns", Numbers.ns(offer.slotPs()));
    outcome.condition("slots_per_packet", Numbers.rounded(offer.slots()));
    Digest digest = new Digest();
    long events = 0;
    for (TrafficPoint each : curve.points()) {
      outcome.row(each.row(curve.zeroLoadPs()));
      digest.add(each.load() + " " + each.late() + " " + List.of(each.meanPs(), each.accepted()));
      events += each.events();
    }
    outcome.simulated(events, digest.text());
    TrafficPoint first = curve.points().getFirst();
    long boundPs = (long) first.alonePs();
    outcome.time((long) Math.ceil(first.meanPs()), boundPs, "latency");
    outcome.metric("lowest_load_ns", Numbers.ns(Math.round(curve.zeroLoadPs())));
    double most = curve.points().stream().mapToDouble(TrafficPoint::accepted).max().orElse(0);
    outcome.metric("most_accepted", Numbers.rounded(most));
    if (curve.saturation() > 0) {
      outcome.metric("saturation_load", Numbers.rounded(curve.saturation()));
    }
    String title = "%s, %s".formatted(Param.word(context.param(PATTERN)), machine.name());
    outcome.file("latency-over-load.svg", () -> LatencyFigure.svg(title, curve));
    outcome.timeIsWhole(); // nothing is launched
    return outcome.noBreakdown(
        "each load is simulated on its own; the rows say how latency grows with it");
  }

  private static void check(BenchContext context, Machine machine) {
    int count = machine.peCount();
    if (count < 2 || count > MOST_NODES) {
      throw new UsageException(
          "traffic: the machine has %s PEs; expected 2 to %s".formatted(count, MOST_NODES));
    }
    if (context.param(HOT_NODE) >= count) {
      throw new UsageException(
          "hot_node=%s: expected a PE, 0 to %s".formatted(context.param(HOT_NODE), count - 1));
    }
  }

  /** Ascending; none for {@code auto}. */
  private static List<Double> loads(String text) {
    List<Double> loads = new ArrayList<>();
    if (text.equals("auto")) {
      return loads;
    }
    for (String each : text.split(",", -1)) {
      double load = number(each.strip());
      double before = loads.isEmpty() ? 0 : loads.getLast();
      if (!(load > before && load <= 1)) {
        throw new UsageException(
            "load=%s: got \"%s\"; expected auto, or numbers above 0 and up to 1, ascending, e.g. 0.1,0.2"
                .formatted(text, each.strip()));
      }
      loads.add(load);
    }
    return loads;
  }

  private static double number(String text) {
    try {
      return Double.parseDouble(text);
    } catch (NumberFormatException e) {
      return Double.NaN;
    }
  }

  /**
   * So many slots that there are so many packets: the mean of few is off by chance, as ways differ,
   * and of few it cannot be said whether fewer arrive than are offered.
   */
  private static TrafficRun.Offer enough(
      TrafficRun.Offer offer, TrafficNodes nodes, double load, double packets) {
    double perSlot = load / offer.slots() * nodes.count();
    int slots = (int) Math.min(MOST_SLOTS, Math.ceil(packets / perSlot));
    return offer.measuring(Math.max(offer.measured(), slots));
  }

  /** What the longest way takes if nobody else is there, in slots of so many ps. */
  private static int longestWay(Machine machine, long packetBytes, long slotPs) {
    long cyclePs = machine.fabric().router().map(r -> PS_PER_S / r.clockHz()).orElse(0L);
    int stages =
        machine
            .fabric()
            .router()
            .map(r ->
                r.routeComputation() + r.channelAllocation() + r.switchAllocation() + r.traversal())
            .orElse(0);
    long longest = 0;
    for (int pe = 1; pe < machine.peCount(); pe++) {
      Route way = machine.route(machine.peAt(0), machine.peAt(pe));
      long ps =
          way.latencyPs()
              + way.narrowest().durationPs(packetBytes)
              + way.links().length * (stages * cyclePs);
      longest = Math.max(longest, ps);
    }
    return Math.toIntExact(Math.ceilDiv(longest, slotPs));
  }

  private static int warmUp(String text, Machine machine, long packetBytes, long slotPs) {
    if (text.equals("auto")) {
      return Math.max(LEAST_WARM_UP, longestWay(machine, packetBytes, slotPs));
    }
    double slots = number(text);
    if (slots != Math.rint(slots) || slots < 0 || slots > MOST_SLOTS) {
      throw new UsageException(
          "warm_up=%s: expected auto, or a whole number, 0 to %s".formatted(text, MOST_SLOTS));
    }
    return (int) slots;
  }

  private static TrafficRun.Offer offer(BenchContext context, Machine machine) {
    long flit = machine.fabric().flitBytes();
    int first = machine.route(machine.peAt(0), machine.peAt(1)).first();
    long packet = context.param(PACKET);
    Rate rate = machine.specOf(first).rate();
    boolean inFlits = machine.fabric().isBuffered();
    long slotPs = rate.durationPs(flit);
    double slots = inFlits ? Math.ceilDiv(packet, flit) : (double) rate.durationPs(packet) / slotPs;
    return new TrafficRun.Offer(
        context.param(PATTERN),
        new TrafficPattern.Hot(context.param(HOT_NODE), context.param(HOT_PERCENT)),
        packet,
        slotPs,
        slots,
        warmUp(context.param(WARM_UP), machine, packet, slotPs),
        context.param(CYCLES),
        context.param(SEED));
  }
}
