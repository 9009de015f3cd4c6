/**
 * Does a layout compute what one rank computes: comparison tensor by tensor, and which known
 * mistake explains a difference. Start at {@link org.kernbench.nn.compare.LayoutRun}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.nn.compare;

import org.jspecify.annotations.NullMarked;
