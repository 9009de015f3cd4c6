/**
 * Tables of measured runs beside simulated ones: rows and how they are read, validation, and
 * calibration of a machine's numbers. Start at {@code MeasuredFile} and {@code Validation}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.eval.measured;

import org.jspecify.annotations.NullMarked;
