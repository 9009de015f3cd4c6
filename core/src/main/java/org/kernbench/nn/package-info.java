/**
 * Training on simulated devices: automatic differentiation, layers, parallel layouts, optimizers.
 *
 * <p>A {@link org.kernbench.nn.autograd.Graph} records one forward pass on one rank and runs it
 * backwards. Every forward and backward operation is a kernel on the rank's device, so it has a
 * value and a time; {@link org.kernbench.nn.kernels.Compute} holds those kernels. What a model
 * keeps between steps are its {@link org.kernbench.nn.autograd.Parameter}s.
 *
 * <p>A {@link org.kernbench.nn.parallel.RankGrid} says which ranks form which groups, a {@link
 * org.kernbench.nn.parallel.HyperCommGrid} makes them. Two modules in different layouts are joined
 * by a {@link org.kernbench.nn.bridge.ColocatedBridgeCommunicator} on the same ranks, by a {@link
 * org.kernbench.nn.bridge.BridgeCommunicator} on others.
 *
 * <p>Two modules on the same ranks are trained by {@link
 * org.kernbench.nn.multimodal.TwoModuleTraining}; {@link org.kernbench.nn.compare.LayoutRun}
 * records what a layout computes and compares it with one rank.
 *
 * <p>Depends on: {@code torch}, {@code tl}, {@code tensor} and what their doors name.
 */
@NullMarked
package org.kernbench.nn;

import org.jspecify.annotations.NullMarked;
