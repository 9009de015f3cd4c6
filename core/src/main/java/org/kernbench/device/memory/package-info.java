/**
 * Memories with real bytes, and the virtual addresses before them. Start at {@link
 * org.kernbench.device.memory.Memories}. Knows no time: when bytes are read or written is decided
 * by who calls.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.device.memory;

import org.jspecify.annotations.NullMarked;
