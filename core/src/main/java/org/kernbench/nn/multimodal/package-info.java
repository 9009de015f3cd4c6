/**
 * Models of two modules, each in a layout of its own, and their training. Start at {@code
 * TwoModuleTraining}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.nn.multimodal;

import org.jspecify.annotations.NullMarked;
