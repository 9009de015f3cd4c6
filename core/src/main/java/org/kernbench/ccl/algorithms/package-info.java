/**
 * The built-in collectives, one class for each family. Start at {@code RingAllReduce}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.ccl.algorithms;

import org.jspecify.annotations.NullMarked;
