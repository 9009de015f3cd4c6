/**
 * Mixtures of experts without any device: which experts a token goes to, how tokens are ordered on
 * their way to them and back, and what that costs in theory. Start at {@code DispatchPlan}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.nn.experts;

import org.jspecify.annotations.NullMarked;
