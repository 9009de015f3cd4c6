/**
 * What came of launches, used again for launches that do the same. Start at {@link
 * org.kernbench.device.reuse.LaunchMemo}, its door. What it has to know of the moving machine it
 * asks the {@code Memo...} interfaces, which {@code device} implements.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.device.reuse;

import org.jspecify.annotations.NullMarked;
