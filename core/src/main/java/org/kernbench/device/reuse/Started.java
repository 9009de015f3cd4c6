package org.kernbench.device.reuse;

/**
 * A launch starts.
 *
 * @param by the launch whose end on a PE let it start at once; -1 if its start was decided before
 *     that of the stretch, which is at the same time
 * @param bySlot that PE
 * @param lookups by PE, how many accesses had been looked up before
 */
record Started(Key key, long atPs, int by, int bySlot, int[] lookups) implements Step {}
