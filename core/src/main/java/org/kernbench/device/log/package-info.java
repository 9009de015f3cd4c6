/**
 * What happened in a run, and what each stretch of its time was spent on: operations, transfers,
 * launches, commands and their costs. Start at {@code OpLog}. Written by the moving machine, read
 * by whoever explains a run.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.device.log;

import org.jspecify.annotations.NullMarked;
