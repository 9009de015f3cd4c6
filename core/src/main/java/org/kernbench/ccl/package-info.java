/**
 * Collective algorithms as kernels, their configuration ({@code ccl.yaml}) and their lower bounds.
 * Start at {@link org.kernbench.ccl.library.CollectiveLibrary}, which plugs into {@code torch}; an
 * algorithm is a {@link org.kernbench.ccl.CollectiveAlgorithm}, and what they share are a few
 * words: {@link org.kernbench.ccl.Group}, {@link org.kernbench.ccl.Segments}, {@link
 * org.kernbench.ccl.Payload}, {@link org.kernbench.ccl.Reduction}, trees and rings.
 *
 * <p>Most are not written as kernels but drawn: {@code Dataflow} says where data goes, and the
 * kernel, its queues, bytes, slots, forecast and proof follow from it (ADR 0019). Read {@code
 * Dataflow}, then {@code GridFlow} and {@code TreeAlgorithm}, which draw.
 *
 * <p>Depends on: {@code torch} (the interface it implements), {@code tl} (the language of its
 * kernels), {@code machine}, {@code device} (queue plans), {@code tensor}, {@code config}, and
 * {@code sim.Rate}.
 */
@NullMarked
package org.kernbench.ccl;

import org.jspecify.annotations.NullMarked;
