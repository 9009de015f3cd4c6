/**
 * Collectives that are drawn: from one drawing follow kernel, queues, forecast and proof (ADR
 * 0019). Start at {@code Dataflow}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.ccl.flow;

import org.jspecify.annotations.NullMarked;
