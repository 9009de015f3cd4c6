/**
 * Execution traces in the schema of MLCommons Chakra, one file per rank: read with everything that
 * writers get wrong mended and named, checked across ranks, and joined into one graph of what must
 * come before what.
 *
 * <p>Start at {@link org.kernbench.chakra.Workload} (the files of one run), then {@link
 * org.kernbench.chakra.TraceGraph} (collectives and messages matched, an order in which all can be
 * done). The field numbers and their meaning stand in {@code docs/traces.md}.
 */
@NullMarked
package org.kernbench.chakra;

import org.jspecify.annotations.NullMarked;
