/**
 * Collectives along the dimensions of a network, one after the other or several chunks at once.
 * Start at {@code ByDimension}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.ccl.dimensions;

import org.jspecify.annotations.NullMarked;
