/**
 * Parts of transformers in parallel layouts, with the names of Megatron-LM. Start at {@link
 * org.kernbench.nn.layers.TransformerBlock}.
 *
 * <p>What it may use stands in {@code docs/rooms.md}.
 */
@NullMarked
package org.kernbench.nn.layers;

import org.jspecify.annotations.NullMarked;
