package org.kernbench.nn.autograd;

import org.kernbench.tensor.Shape;

/**
 * How a tensor changes hands among the ranks of a group, forwards and backwards. Each is the
 * adjoint of another, or of itself with the roles exchanged: where a value is copied, its gradients
 * are summed. In a group of one all are the identity and nothing is sent.
 *
 * <p>Names follow Megatron-LM; source of the pairs: {@code docs/spec/megatron.md} 7.
 */
public enum Mapping {
  /** Enters a tensor-parallel region: all ranks have the value, each finds part of the gradient. */
  COPY_TO(Move.KEEP, Move.ALL_REDUCE),
  /** Leaves it: each rank has part of a sum. */
  REDUCE_FROM(Move.ALL_REDUCE, Move.KEEP),
  /** Each rank keeps its block of the last axis. */
  SCATTER_TO(Move.SPLIT_LAST, Move.GATHER_LAST),
  /** Joins the blocks of the last axis, for what all ranks do alike afterwards. */
  GATHER_FROM(Move.GATHER_LAST, Move.SPLIT_LAST),
  /** Each rank keeps its rows. */
  SCATTER_TO_SEQUENCE(Move.SPLIT_FIRST, Move.GATHER_FIRST),
  /** Joins the rows, for a consumer that is tensor parallel itself. */
  GATHER_FROM_SEQUENCE(Move.GATHER_FIRST, Move.REDUCE_SCATTER_FIRST),
  /** Joins the rows, for what all ranks do alike afterwards. */
  GATHER_FROM_SEQUENCE_TO_REPLICATED(Move.GATHER_FIRST, Move.SPLIT_FIRST),
  /** Each rank has part of a sum, and keeps its rows of the sum. */
  REDUCE_SCATTER_TO_SEQUENCE(Move.REDUCE_SCATTER_FIRST, Move.GATHER_FIRST),
  /** Joins the blocks of the last axis, for a consumer that is tensor parallel itself. */
  ALL_GATHER_LAST(Move.GATHER_LAST, Move.REDUCE_SCATTER_LAST),
  /** Each rank has part of a sum, and keeps its block of the last axis of the sum. */
  REDUCE_SCATTER_LAST(Move.REDUCE_SCATTER_LAST, Move.GATHER_LAST),
  /** From the rank's rows with all columns to all rows with the rank's block of columns. */
  SEQUENCE_TO_HIDDEN(Move.ROWS_TO_COLUMNS, Move.COLUMNS_TO_ROWS),
  /** From all rows with the rank's block of columns to the rank's rows with all columns. */
  HIDDEN_TO_SEQUENCE(Move.COLUMNS_TO_ROWS, Move.ROWS_TO_COLUMNS);

  /** What a mapping does with the tensors of a group in one direction. */
  public enum Move {
    /** Nothing. */
    KEEP,
    /** Every rank gets the sum. */
    ALL_REDUCE,
    /** Keeps the own block of the first axis. */
    SPLIT_FIRST,
    /** Joins all blocks along the first axis. */
    GATHER_FIRST,
    /** The own block of the first axis of the sum. */
    REDUCE_SCATTER_FIRST,
    /** Keeps the own block of the last axis. */
    SPLIT_LAST,
    /** Joins all blocks along the last axis. */
    GATHER_LAST,
    /** The own block of the last axis of the sum. */
    REDUCE_SCATTER_LAST,
    /** Gives up its rows but for a block of columns, of which it gets all rows. */
    ROWS_TO_COLUMNS,
    /** The inverse. */
    COLUMNS_TO_ROWS;

    /** Whether the first axis has so many times fewer elements afterwards. */
    boolean dividesFirst() {
      return this == SPLIT_FIRST || this == REDUCE_SCATTER_FIRST || this == COLUMNS_TO_ROWS;
    }

    boolean dividesLast() {
      return this == SPLIT_LAST || this == REDUCE_SCATTER_LAST || this == ROWS_TO_COLUMNS;
    }

    boolean joinsFirst() {
      return this == GATHER_FIRST || this == ROWS_TO_COLUMNS;
    }

    boolean joinsLast() {
      return this == GATHER_LAST || this == COLUMNS_TO_ROWS;
    }

    /** Whether blocks of columns are cut or joined by ranks. */
    boolean isOnLastAxis() {
      return dividesLast() || joinsLast();
    }

    /** Extents after the move. */
    Shape after(Shape before, int ranks) {
      int[] dims = before.toArray();
      int last = dims.length - 1;
      dims[0] = dividesFirst() ? dims[0] / ranks : joinsFirst() ? dims[0] * ranks : dims[0];
      dims[last] =
          dividesLast() ? dims[last] / ranks : joinsLast() ? dims[last] * ranks : dims[last];
      return Shape.of(dims);
    }

    /**
     * Bytes that each rank sends at least, by the ring count of {@code docs/spec/megatron.md} 13.
     *
     * @param bytes of the rank's tensor before the move
     * @param ranks of the group
     */
    long bytesSent(long bytes, int ranks) {
      return switch (this) {
        case KEEP, SPLIT_FIRST, SPLIT_LAST -> 0;
        case ALL_REDUCE -> 2L * (ranks - 1) * bytes / ranks;
        case GATHER_FIRST, GATHER_LAST -> (ranks - 1) * bytes;
        case REDUCE_SCATTER_FIRST, REDUCE_SCATTER_LAST, ROWS_TO_COLUMNS, COLUMNS_TO_ROWS ->
            (ranks - 1) * bytes / ranks;
      };
    }
  }

  private final Move forward;
  private final Move backward;

  Mapping(Move forward, Move backward) {
    this.forward = forward;
    this.backward = backward;
  }

  Move forward() {
    return forward;
  }

  Move backward() {
    return backward;
  }

  /**
   * Bytes that each rank sends in the forward pass, at the least that any algorithm needs.
   *
   * @param bytes of the rank's tensor before the mapping
   * @param ranks of the group
   */
  public long forwardBytes(long bytes, int ranks) {
    return ranks == 1 ? 0 : forward.bytesSent(bytes, ranks);
  }

  /**
   * As {@link #forwardBytes}, in the backward pass.
   *
   * @param bytes of the rank's gradient before the mapping: as large as the forward result
   */
  public long backwardBytes(long bytes, int ranks) {
    return ranks == 1 ? 0 : backward.bytesSent(bytes, ranks);
  }
}
