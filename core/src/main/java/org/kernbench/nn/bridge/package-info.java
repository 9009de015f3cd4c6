/**
 * Activations from one module to another in a different layout, and gradients back: plans and
 * communicators. Start at {@code BridgePlan}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.nn.bridge;

import org.jspecify.annotations.NullMarked;
