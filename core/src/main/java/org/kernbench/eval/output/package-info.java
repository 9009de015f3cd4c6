/**
 * How results are written: numbers, tables, JSON, digests, files that are whole or not there. Start
 * at {@code Json}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.eval.output;

import org.jspecify.annotations.NullMarked;
