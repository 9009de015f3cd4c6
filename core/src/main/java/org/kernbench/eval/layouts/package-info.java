/**
 * {@code kernbench layout}: groups, bridges and checks of parallel layouts. Start at {@code
 * LayoutCheck}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.eval.layouts;

import org.jspecify.annotations.NullMarked;
