package org.kernbench.machine.spec;

import java.util.Optional;
import org.kernbench.config.ConfigMap;

/**
 * Routers that are clocked: a packet goes through the stages of a pipeline in each of them, and
 * what several want is given away once per cycle. Cycles are of {@code clockHz}.
 *
 * @param clockHz cycles per second; a link passes at most {@code speedUp} flits in one
 * @param routeComputation cycles until the route of a packet is known that has reached the front of
 *     its buffer, at least 0
 * @param channelAllocation cycles from being given a virtual channel until the first flit may ask
 *     for the switch, at least 0
 * @param switchAllocation cycles from being given the switch until the flit leaves its buffer, at
 *     least 0
 * @param traversal cycles from there until it enters the link, at least 0
 * @param allocator who gets what in a cycle
 * @param speedUp flits that an input gives, and an output takes, in one cycle, at least 1
 * @param creditDelay cycles that a credit takes beyond the latency of its link, at least 0
 * @param channelReuse cycles after the last flit of a packet has left its buffer until the channel
 *     that it has gone to may be given to another, at least 0
 */
public record RouterSpec(
    long clockHz,
    int routeComputation,
    int channelAllocation,
    int switchAllocation,
    int traversal,
    RouterAllocator allocator,
    int speedUp,
    int creditDelay,
    int channelReuse) {
  private static final String KEY = "router";
  private static final int MOST_CYCLES = 1000;
  private static final int MOST_SPEED_UP = 8;
  private static final long MOST_HZ = 1_000_000_000_000L;

  /** Most virtual channels of a link. */
  public static final int MOST_CHANNELS = 64;

  /** Reads {@code fabric.router}: the routers, if the file describes them. */
  public static Optional<RouterSpec> read(ConfigMap fabric, HbmSpec hbm) {
    if (!fabric.has(KEY) || fabric.isText(KEY, "none")) {
      return Optional.empty();
    }
    if (hbm.isBanked()) {
      fabric.problem(
          KEY,
          """
          routers that are clocked do not know banked memories; expected cube.hbm.fidelity: \
          flat, or fabric.router: none\
          """);
    }
    ConfigMap map = fabric.map(KEY);
    long clock = map.frequency("clock");
    if (clock > MOST_HZ) {
      map.problem("clock", "got " + clock + " Hz; expected at most 1000 GHz, a cycle of 1 ps");
      clock = MOST_HZ;
    }
    int route = cycles(map, "route_computation");
    int channel = cycles(map, "channel_allocation");
    int crossbar = cycles(map, "switch_allocation");
    int traversal = cycles(map, "traversal");
    RouterAllocator allocator = map.choice("allocator", RouterAllocator.values());
    int speedUp = map.integer("speed_up", 1, MOST_SPEED_UP);
    int credit = cycles(map, "credit_delay");
    int reuse = cycles(map, "channel_reuse");
    map.done();
    return Optional.of(
        new RouterSpec(
            clock, route, channel, crossbar, traversal, allocator, speedUp, credit, reuse));
  }

  private static int cycles(ConfigMap map, String key) {
    return map.integer(key, 0, MOST_CYCLES);
  }

  /** Cycles of a head between reaching a router and entering the next link, alone. */
  public int pipelineCycles() {
    return routeComputation + channelAllocation + switchAllocation + traversal;
  }
}
