/**
 * Checked execution: accesses to the same bytes that nothing orders, reads of memory that nobody
 * has written, messages left over. Start at {@code Findings}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.device.check;

import org.jspecify.annotations.NullMarked;
