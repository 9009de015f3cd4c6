/**
 * Training on simulated devices: automatic differentiation, layers, parallel layouts, optimizers.
 *
 * <p>A {@link org.kernbench.nn.Graph} records one forward pass on one rank and runs it backwards.
 * Every forward and backward operation is a kernel on the rank's device, so it has a value and a
 * time; {@link org.kernbench.nn.Compute} holds those kernels. What a model keeps between steps are
 * its {@link org.kernbench.nn.Parameter}s.
 *
 * <p>A {@link org.kernbench.nn.RankGrid} says which ranks form which groups, a {@link
 * org.kernbench.nn.HyperCommGrid} makes them. Two modules in different layouts are joined by a
 * {@link org.kernbench.nn.ColocatedBridgeCommunicator} on the same ranks, by a {@link
 * org.kernbench.nn.BridgeCommunicator} on others.
 *
 * <p>Two modules on the same ranks are trained by {@link org.kernbench.nn.TwoModuleTraining};
 * {@link org.kernbench.nn.LayoutRun} records what a layout computes and compares it with one rank.
 *
 * <p>Depends on: {@code torch}, {@code tl}, {@code tensor} and what their doors name.
 */
@NullMarked
package org.kernbench.nn;

import org.jspecify.annotations.NullMarked;
