/**
 * The moving machine: processing elements with their engines, message queues with credits, and
 * launches. Start at {@link org.kernbench.device.simulator.Simulator}.
 *
 * <p>It is built in layers, of which each knows those above it in this list only:
 *
 * <ol>
 *   <li>Commands that have been issued, the engines that they queue at, and the {@code World} in
 *       which they become transfers and events. They know a PE as {@code ProcessingElement} and a
 *       program as {@code Issuer}.
 *   <li>Messages: {@code MessageUnit}, the ends of its queues, and sends and receives.
 *   <li>A PE: {@code TimedPe} decides when a command starts; {@code ProgramContext} holds a
 *       program, its values, and the CPU that issues its commands.
 *   <li>The machine: {@code TimedExecutor} starts launches; {@code ApartRun} lets packages run
 *       ahead of each other.
 * </ol>
 *
 * <p>Beside that, {@code ValuesExecutor} runs programs for their values alone.
 *
 * <p>What one package does can matter to another only after the latency of a link between them; in
 * large runs packages are simulated ahead of each other on the strength of that, with the same
 * result, also on several threads (ADR 0065, ADR 0066). So no unit may reach over and change
 * another package at once: what it does there is posted.
 *
 * <p>Depends on: {@code sim}, {@code tensor}, {@code machine} and the other rooms of {@code
 * device}. Knows no kernel language, no host program and no collective.
 */
@NullMarked
package org.kernbench.device.simulator;

import org.jspecify.annotations.NullMarked;
