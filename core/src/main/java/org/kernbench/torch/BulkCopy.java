package org.kernbench.torch;

import java.lang.foreign.MemorySegment;
import java.util.List;
import org.kernbench.device.Simulator;
import org.kernbench.tensor.Loan;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Parts.Part;
import org.kernbench.torch.placement.ShardCopy;

/** Moves all elements of a tensor, which may be more than an array can hold, a piece at a time. */
final class BulkCopy {
  /** So much stays in the cache between its two copies. */
  private static final int PIECE_BYTES = 1 << 18;

  private final Simulator simulator;
  private final Shape shape;
  private final int elementBytes;
  private final List<Part> parts;

  BulkCopy(Simulator simulator, Shape shape, int elementBytes, List<Part> parts) {
    this.simulator = simulator;
    this.shape = shape;
    this.elementBytes = elementBytes;
    this.parts = parts;
  }

  private ShardCopy shardCopy(Part part) {
    return new ShardCopy(shape, part.spec(), elementBytes);
  }

  void write(MemorySegment elements) {
    parts.forEach(part -> write(part, elements));
  }

  private void write(Part part, MemorySegment elements) {
    byte[] piece = new byte[PIECE_BYTES];
    shardCopy(part)
        .gather(
            elements, piece, (at, bytes) -> simulator.write(part.at().plus(at), piece, 0, bytes));
  }

  /** Parts that are runs are lent, the others are copied. */
  void lend(Loan elements) {
    for (Part part : parts) {
      if (part.spec().isRunOf(shape)) {
        simulator.lend(part.at(), elements, first(part), part.bytes());
      } else {
        write(part, elements.bytes());
      }
    }
  }

  private long first(Part part) {
    return part.bytes() == 0 ? 0 : part.spec().firstIn(shape) * elementBytes;
  }

  void read(MemorySegment to) {
    byte[] piece = new byte[PIECE_BYTES];
    for (Part part : parts) {
      shardCopy(part)
          .scatter(piece, (at, bytes) -> simulator.read(part.at().plus(at), piece, 0, bytes), to);
    }
  }

  /** Parts that are runs. */
  void read(RunSink to) {
    byte[] piece = new byte[PIECE_BYTES];
    for (Part part : parts) {
      for (long at = 0; at < part.bytes(); at += PIECE_BYTES) {
        int bytes = (int) Math.min(PIECE_BYTES, part.bytes() - at);
        simulator.read(part.at().plus(at), piece, 0, bytes);
        to.take(first(part) + at, piece, bytes);
      }
    }
  }
}
