/**
 * Benches and what is made of their runs: results, bounds, breakdowns, reports.
 *
 * <p>A bench is a small class with a name, typed parameters and a host program. Whatever it
 * measures is reported with its lower bound, and a result below its bound fails the run. Everything
 * here returns data; the terminal belongs to {@code cli}. Wall-clock time is measured here and
 * nowhere below.
 *
 * <p>Depends on: all rooms below it.
 */
@NullMarked
package org.kernbench.eval;

import org.jspecify.annotations.NullMarked;
