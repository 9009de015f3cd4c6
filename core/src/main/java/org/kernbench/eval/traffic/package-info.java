/**
 * Synthetic traffic, as people draw it who work on networks: packets between processing elements by
 * a pattern, at a load, whatever becomes of them; latency over load, and where it runs away.
 *
 * <p>Start at {@link org.kernbench.eval.traffic.TrafficBench}.
 */
@NullMarked
package org.kernbench.eval.traffic;

import org.jspecify.annotations.NullMarked;
