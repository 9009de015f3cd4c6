/**
 * What a run leaves behind, for people and programs: folders, recordings, JSON, CSV, pages, traces,
 * explanations, differences. Start at {@code RunFolder}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.eval.report;

import org.jspecify.annotations.NullMarked;
