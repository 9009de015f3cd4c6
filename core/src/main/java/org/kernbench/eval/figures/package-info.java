/**
 * Plots and pictures, as SVG and PNG. Start at {@link org.kernbench.eval.figures.Figure}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.eval.figures;

import org.jspecify.annotations.NullMarked;
