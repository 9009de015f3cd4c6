/**
 * Where a tensor lies: devices and their level, policies, shards, and the space on each PE. Start
 * at {@code DpPolicy}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.torch.placement;

import org.jspecify.annotations.NullMarked;
