/**
 * Simulated time: the clock, the event queue with its total order, the run loop, places that may
 * run ahead of each other, exact rates, and coroutines that run only when resumed. Start at {@link
 * org.kernbench.sim.Simulation}.
 *
 * <p>Depends on: {@code java.base} only. Knows no device, tensor or file.
 */
@NullMarked
package org.kernbench.sim;

import org.jspecify.annotations.NullMarked;
