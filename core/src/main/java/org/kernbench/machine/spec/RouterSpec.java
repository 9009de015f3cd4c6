package org.kernbench.machine.spec;

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
  /** Most virtual channels of a link. */
  public static final int MOST_CHANNELS = 64;

  /** Cycles of a head between reaching a router and entering the next link, alone. */
  public int pipelineCycles() {
    return routeComputation + channelAllocation + switchAllocation + traversal;
  }
}
