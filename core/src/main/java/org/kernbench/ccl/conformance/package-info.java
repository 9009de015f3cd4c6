/**
 * Does an algorithm do what it says, everywhere: {@code kernbench conformance}. Start at {@code
 * Conformance}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.ccl.conformance;

import org.jspecify.annotations.NullMarked;
