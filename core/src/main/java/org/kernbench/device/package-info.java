/**
 * What is said to a machine that moves: kernels, launches and message queues, and who watches them.
 * A program on a processing element speaks through {@link org.kernbench.device.PePort}; what moves
 * is {@code device.simulator}.
 *
 * <p>Depends on: {@code tensor}, {@code machine}. Knows no kernel language, no host program and no
 * collective.
 */
@NullMarked
package org.kernbench.device;

import org.jspecify.annotations.NullMarked;
