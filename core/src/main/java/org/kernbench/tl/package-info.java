/**
 * The kernel language: what a kernel author writes against. Start at {@link org.kernbench.tl.Tl}; a
 * kernel is a {@link org.kernbench.tl.Kernel}, its data are {@link org.kernbench.tl.Value}s. Names
 * follow {@code triton.language} in camelCase.
 *
 * <p>Depends on: {@code device} (commands), {@code tensor}, and {@code machine} for coordinates.
 * Knows no host program.
 */
@NullMarked
package org.kernbench.tl;

import org.jspecify.annotations.NullMarked;
