package org.kernbench.machine;

import org.kernbench.machine.spec.LinkKind;
import org.kernbench.sim.Rate;

/**
 * A directed link, or the half-duplex port of a memory.
 *
 * @param id dense id, from 0 to {@link Machine#linkCount} - 1
 * @param name {@code from->to}; for a memory port {@code controller<->memory}
 * @param kind what it joins; decides rate and latency
 * @param fromNode node it leaves; for a memory port the controller
 * @param toNode node it enters; for a memory port the memory
 * @param rate payload bytes per second, this direction
 * @param latencyPs time from entering the link to having left the node it enters, without
 *     serialisation; above 0 except for memory ports
 */
public record Link(
    int id, String name, LinkKind kind, int fromNode, int toNode, Rate rate, long latencyPs) {}
