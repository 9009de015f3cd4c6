package org.kernbench.torch;

import java.util.List;
import org.kernbench.tensor.DType;
import org.kernbench.tl.Shard;

/**
 * One collective that all ranks have called alike.
 *
 * @param op what
 * @param reduce how elements combine, for ops that reduce
 * @param dtype of the elements
 * @param elements of each rank's tensor
 * @param shards by rank: each rank's tensor, dense, in the memory of its lead PE; overwritten with
 *     the result
 */
public record CollectiveCall(
    CollectiveOp op, ReduceKind reduce, DType dtype, int elements, List<Shard> shards) {
  /** Copies the list. */
  public CollectiveCall {
    shards = List.copyOf(shards);
  }

  /** Number of ranks that take part. */
  public int ranks() {
    return shards.size();
  }

  /** Bytes of each rank's tensor. */
  public long bytes() {
    return (long) elements * dtype.sizeBytes();
  }
}
