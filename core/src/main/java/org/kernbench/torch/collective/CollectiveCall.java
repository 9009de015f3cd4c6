package org.kernbench.torch.collective;

import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.kernbench.tensor.DType;
import org.kernbench.tl.Shard;

/**
 * One collective that all ranks of a group have called alike.
 *
 * <p>There is one whole vector of {@code elements}, and every rank has the same coordinates in it.
 *
 * <table>
 * <caption>What a rank reads and writes</caption>
 * <tr><th>op</th><th>reads</th><th>writes</th></tr>
 * <tr><td>ALL_REDUCE</td><td>whole</td><td>whole</td></tr>
 * <tr><td>REDUCE_SCATTER</td><td>whole</td><td>its part</td></tr>
 * <tr><td>ALL_GATHER</td><td>its part</td><td>whole</td></tr>
 * <tr><td>BROADCAST</td><td>root: whole</td><td>whole</td></tr>
 * <tr><td>REDUCE</td><td>whole</td><td>root: whole</td></tr>
 * <tr><td>GATHER</td><td>its part</td><td>root: whole</td></tr>
 * <tr><td>SCATTER</td><td>root: whole</td><td>its part</td></tr>
 * </table>
 *
 * <p>A shard holds just what its rank reads or writes, from its element 0 on. An ALL_TO_ALL has no
 * whole vector: coordinates are those of the rank's own input and output.
 *
 * @param op what
 * @param reduce how elements combine, for ops that reduce; SUM for others
 * @param dtype of the elements
 * @param root rank, for ops that have one; -1 for others
 * @param elements of the whole vector; for ALL_TO_ALL all that moves
 * @param parts by rank, its own part: disjoint, in rank order, together the whole vector; may be
 *     ragged and empty. For ops without parts the whole vector for each rank
 * @param splits of an ALL_TO_ALL, {@link Splits#NONE} for others
 * @param messages of a POINT_TO_POINT, in the order in which they were posted; empty for others
 * @param inputs by rank: what it gives, dense, in the memory of its lead PE; empty if nothing
 * @param outputs by rank: where its result goes, as inputs; may be the same shard
 */
public record CollectiveCall(
    CollectiveOp op,
    ReduceKind reduce,
    DType dtype,
    int root,
    long elements,
    List<Part> parts,
    Splits splits,
    List<Message> messages,
    List<Optional<Shard>> inputs,
    List<Optional<Shard>> outputs) {
  /** Copies the lists. */
  public CollectiveCall {
    parts = List.copyOf(parts);
    messages = List.copyOf(messages);
    inputs = List.copyOf(inputs);
    outputs = List.copyOf(outputs);
    if (inputs.size() != outputs.size() || parts.size() != inputs.size()) {
      throw new IllegalArgumentException(
          """
          %s: %s inputs, %s outputs and %s parts; expected one of each for each rank\
          """
              .formatted(op, inputs.size(), outputs.size(), parts.size()));
    }
  }

  /**
   * A call on whole vectors, in place.
   *
   * @param op ALL_REDUCE, BROADCAST or REDUCE
   * @param root -1 for ALL_REDUCE
   * @param vectors by rank
   */
  public static CollectiveCall inPlace(
      CollectiveOp op, ReduceKind reduce, int root, List<Shard> vectors) {
    List<Optional<Shard>> shards = vectors.stream().map(Optional::of).toList();
    Shard first = vectors.getFirst();
    long n = first.shape().elements();
    return new CollectiveCall(
        op,
        reduce,
        first.dtype(),
        root,
        n,
        Collections.nCopies(shards.size(), new Part(0, n)),
        Splits.NONE,
        List.of(),
        shards,
        shards);
  }

  /** A barrier. */
  public static CollectiveCall barrier(int ranks) {
    return withoutVector(CollectiveOp.BARRIER, ranks, List.of());
  }

  /**
   * Messages between ranks.
   *
   * @param ranks of the group
   * @param messages at least one, none of them empty
   */
  public static CollectiveCall messages(int ranks, List<Message> messages) {
    return withoutVector(CollectiveOp.POINT_TO_POINT, ranks, messages);
  }

  private static CollectiveCall withoutVector(CollectiveOp op, int ranks, List<Message> messages) {
    long elements = 0;
    for (Message m : messages) {
      elements += m.from().shape().elements();
    }
    List<Optional<Shard>> none = Collections.nCopies(ranks, Optional.empty());
    DType dtype = messages.isEmpty() ? DType.I8 : messages.getFirst().from().dtype();
    return new CollectiveCall(
        op,
        ReduceKind.SUM,
        dtype,
        -1,
        elements,
        Collections.nCopies(ranks, new Part(0, elements)),
        Splits.NONE,
        messages,
        none,
        none);
  }

  /** Number of ranks that take part. */
  public int ranks() {
    return inputs.size();
  }

  /** Bytes of the whole vector; for ALL_TO_ALL and POINT_TO_POINT of all that moves. */
  public long bytes() {
    return messages.isEmpty()
        ? elements * dtype.sizeBytes()
        : messages.stream().map(Message::from).mapToLong(CollectiveCall::bytes).sum();
  }

  private static long bytes(Shard shard) {
    return shard.shape().elements() * shard.dtype().sizeBytes();
  }

  /** What a rank gives; there is some. */
  public Shard input(int rank) {
    return inputs
        .get(rank)
        .orElseThrow(() -> new IllegalStateException("rank " + rank + " gives nothing to " + op));
  }

  /** Where a rank's result goes; it gets one. */
  public Shard output(int rank) {
    return outputs
        .get(rank)
        .orElseThrow(() -> new IllegalStateException("rank " + rank + " gets nothing from " + op));
  }
}
