package org.kernbench.device.reuse;

/**
 * A PE ends its part of a launch: times relative to the start, operations of its own.
 *
 * @param shared whether, of several streams that have programs there, more than one still has
 */
record Ended(
    int member,
    int slot,
    long atPs,
    long endPs,
    int lastOp,
    long donePs,
    int lastSeen,
    boolean shared)
    implements Step {}
