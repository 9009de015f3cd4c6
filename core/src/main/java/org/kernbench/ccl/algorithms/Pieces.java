package org.kernbench.ccl.algorithms;

import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.Part;

/**
 * A part of a vector in pieces that each fill a slot, the last one what is left. Sender and
 * receiver cut alike without talking about it.
 *
 * @param start first element
 * @param count elements, at least 0
 * @param most elements of a piece
 */
record Pieces(int start, int count, int most) {
  static Pieces of(Part part, int most) {
    return new Pieces(Math.toIntExact(part.start()), Math.toIntExact(part.count()), most);
  }

  /** Elements that fit a slot, at least one. */
  static int fitting(IpcqSpec queues, AlgorithmConfig config, DType dtype) {
    long slot = Math.max(1, queues.slotBytes() / dtype.sizeBytes());
    return (int) Math.min(slot, config.elementsPerBlock().orElse(Integer.MAX_VALUE));
  }

  /**
   * Receives what will be handed on round a cycle. In place it holds its slot until it has left
   * again, which takes a slot of the next rank: with one slot each, all would wait for each other,
   * so it is copied out.
   */
  static Value receive(Tl tl, String direction, Shape shape, DType dtype, boolean copy) {
    return copy ? tl.recvCopy(direction, shape, dtype) : tl.recv(direction, shape, dtype);
  }

  int pieces() {
    return Math.ceilDiv(count, most);
  }

  int start(int piece) {
    return start + piece * most;
  }

  /** Elements of a piece; 0 beyond the last. */
  int count(int piece) {
    return Math.clamp((long) count - (long) piece * most, 0, most);
  }
}
