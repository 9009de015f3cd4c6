/**
 * The moving machine: fabric, memories with real bytes, processing elements with their engines,
 * message queues with credits, and the op log. Start at {@link org.kernbench.device.Simulator}; a
 * program on a processing element speaks to it through {@link org.kernbench.device.PePort}.
 *
 * <p>What one package does can matter to another only after the latency of a link between them; in
 * large runs packages are simulated ahead of each other on the strength of that, with the same
 * result, also on several threads (ADR 0065, ADR 0066). So no unit may reach over and change
 * another package at once: what it does there is posted.
 *
 * <p>Depends on: {@code sim}, {@code tensor}, {@code machine}. Knows no kernel language, no host
 * program and no collective.
 */
@NullMarked
package org.kernbench.device;

import org.jspecify.annotations.NullMarked;
