/**
 * {@code kernbench ui}: a local page over runs and sweeps. Start at {@link LocalPages}.
 *
 * <p>Depends on: {@code eval.report} for pages and recordings, {@code eval.output} for JSON, {@code
 * config} for messages. Listens on the loopback address only, changes nothing, starts nothing.
 */
@NullMarked
package org.kernbench.cli.pages;

import org.jspecify.annotations.NullMarked;
