package org.kernbench.torch;

/**
 * One message of a batch ({@code P2POp} in PyTorch).
 *
 * @param isSend whether the rank sends; else it receives
 * @param tensor what it sends, or where the message goes
 * @param peer global rank at the other end
 */
public record P2POp(boolean isSend, Tensor tensor, int peer) {
  /** A message to another rank. */
  public static P2POp isend(Tensor tensor, int dst) {
    return new P2POp(true, tensor, dst);
  }

  /** A message from another rank. */
  public static P2POp irecv(Tensor tensor, int src) {
    return new P2POp(false, tensor, src);
  }
}
