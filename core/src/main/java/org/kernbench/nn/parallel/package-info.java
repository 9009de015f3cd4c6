/**
 * Which ranks form which groups: grids, their numbering, process groups of one rank, parts of a
 * sequence. Start at {@code RankGrid}. Knows no tensor that is computed.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.nn.parallel;

import org.jspecify.annotations.NullMarked;
