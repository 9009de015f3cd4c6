/**
 * Lower bounds of collectives from the machine alone: cuts, flows and ports. Start at {@code
 * Bounds}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.ccl.bounds;

import org.jspecify.annotations.NullMarked;
