/**
 * Traces of other systems run on a simulated machine: computations last as long as was recorded, or
 * as the machine's roofline says, and everything between ranks is simulated.
 *
 * <p>Start at {@link org.kernbench.eval.replay.TraceReplayBench}. What a trace is and how ranks are
 * joined is the business of {@link org.kernbench.chakra}.
 */
@NullMarked
package org.kernbench.eval.replay;

import org.jspecify.annotations.NullMarked;
