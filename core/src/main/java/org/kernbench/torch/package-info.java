/**
 * The host program's side: a PyTorch-shaped runtime on a simulated machine. Start at {@link
 * org.kernbench.torch.Torch}; ranks are {@link org.kernbench.torch.Worker}s started by {@link
 * org.kernbench.torch.Multiprocessing}, and talk through {@link org.kernbench.torch.Distributed}.
 *
 * <p>A guide with examples is {@code docs/torch-guide.md}.
 *
 * <p>Depends on: {@code tl}, {@code device}, {@code machine}, {@code tensor}, {@code config}, and
 * the coroutines of {@code sim}. Knows no collective algorithm: those plug in as a {@link
 * org.kernbench.torch.CollectiveBackend}.
 */
@NullMarked
package org.kernbench.torch;

import org.jspecify.annotations.NullMarked;
