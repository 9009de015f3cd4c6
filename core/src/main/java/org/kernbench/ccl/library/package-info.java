/**
 * The collectives of one machine as {@code ccl.yaml} configures them: the list of algorithms, the
 * choice among them, tuning tables. Start at {@code CollectiveLibrary}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.ccl.library;

import org.jspecify.annotations.NullMarked;
