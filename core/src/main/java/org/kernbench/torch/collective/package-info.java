/**
 * What a collective is to those who call it and to those who perform it: operation, reduction,
 * call, plan, and the interface that algorithms plug into. Start at {@code CollectiveBackend}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.torch.collective;

import org.jspecify.annotations.NullMarked;
