/**
 * The host program's side: a PyTorch-shaped runtime on a simulated machine. Start at {@link
 * org.kernbench.torch.Torch}; ranks are {@link org.kernbench.torch.Worker}s started by {@link
 * org.kernbench.torch.Multiprocessing}, and talk through {@link org.kernbench.torch.Distributed}.
 *
 * <p>A guide with examples is {@code docs/torch-guide.md}.
 *
 * <p>Collectives, in the order in which they are read: a rank calls a method of {@link
 * org.kernbench.torch.ProcessGroup}; its fingerprint is compared with that of the others in a
 * rendezvous; when all have come, {@code Calls} makes a {@link
 * org.kernbench.torch.collective.CollectiveCall} for each lane, the {@link
 * org.kernbench.torch.collective.Communicator} plans it, and the session launches all lanes at once
 * on the PEs' communication stream, after the kernels that use the same tensors. Messages between
 * two ranks are matched and handed over when no rank can run.
 *
 * <p>Depends on: {@code tl}, {@code device}, {@code machine}, {@code tensor}, {@code config}, and
 * the coroutines of {@code sim}. Knows no collective algorithm: those plug in as a {@link
 * org.kernbench.torch.collective.CollectiveBackend}.
 */
@NullMarked
package org.kernbench.torch;

import org.jspecify.annotations.NullMarked;
