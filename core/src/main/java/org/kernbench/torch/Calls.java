package org.kernbench.torch;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Shard;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.Part;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.collective.Splits;

/** Turns what the members brought to a meeting into the calls of its lanes. */
final class Calls {
  private Calls() {}

  /** The call of the lane that the tensors' {@code i}-th shards make up. */
  static CollectiveCall ofLane(CollectiveOp op, Rendezvous meeting, Members group, int i) {
    int p = meeting.size();
    Operands operands = (Operands) meeting.fingerprint().operands();
    int[] arrived = meeting.arrived();
    List<Optional<Shard>> inputs = new ArrayList<>(p);
    List<Optional<Shard>> outputs = new ArrayList<>(p);
    for (int member = 0; member < (arrived.length == 1 ? 1 : p); member++) {
      Contribution c = meeting.contribution(member);
      Optional<Shard> in = shard(c.in(), i);
      inputs.add(in);
      outputs.add(c.isInPlace() ? in : shard(c.out(), i));
    }
    if (arrived.length == 1) { // it came for all
      inputs = Collections.nCopies(p, inputs.getFirst());
      outputs = Collections.nCopies(p, outputs.getFirst());
    }
    DType dtype = operands.dtype();
    int root = operands.root() < 0 ? -1 : group.member(operands.root());
    long row = rowElements(meeting.contribution(0).any().shards().get(i).shape());
    Splits splits = Splits.NONE;
    List<Part> parts;
    long elements;
    if (op == CollectiveOp.ALL_TO_ALL) {
      splits = splits(meeting, row);
      elements = 0;
      for (int member = 0; member < p; member++) {
        elements += splits.sent(member);
      }
      parts = Collections.nCopies(p, new Part(0, elements));
    } else if (op.hasParts()) {
      parts = parts(p, operands, row);
      elements = parts.getLast().end();
    } else {
      elements = meeting.contribution(0).any().shards().get(i).shape().elements();
      parts = Collections.nCopies(p, new Part(0, elements));
    }
    return new CollectiveCall(
        op,
        operands.reduce().orElse(ReduceKind.SUM),
        dtype,
        root,
        elements,
        parts,
        splits,
        List.of(),
        inputs,
        outputs);
  }

  private static Optional<Shard> shard(@Nullable Tensor tensor, int i) {
    return tensor == null ? Optional.empty() : Optional.of(tensor.shards().get(i));
  }

  /** Elements of one row, that is, of all axes but the first. */
  static long rowElements(Shape shape) {
    long elements = 1;
    for (int axis = 1; axis < shape.rank(); axis++) {
      elements *= shape.dim(axis);
    }
    return elements;
  }

  private static List<Part> parts(int p, Operands operands, long row) {
    List<Part> parts = new ArrayList<>(p);
    long at = 0;
    for (int member = 0; member < p; member++) {
      long rows = operands.rows().isEmpty() ? operands.shape().dim(0) : operands.rows().get(member);
      parts.add(new Part(at, rows * row));
      at += rows * row;
    }
    return parts;
  }

  private static Splits splits(Rendezvous meeting, long row) {
    int p = meeting.size();
    if (meeting.contribution(0).sends().length == 0) {
      return Splits.even(p, meeting.contribution(0).input().shape().dim(0) / p * row);
    }
    List<long[]> sends = new ArrayList<>(p);
    for (int src = 0; src < p; src++) {
      long[] elements = meeting.contribution(src).sends().clone();
      for (int dst = 0; dst < p; dst++) {
        elements[dst] *= row;
      }
      sends.add(elements);
    }
    return Splits.of(sends);
  }

  /**
   * Checks that every rank expects of every other what that one sends.
   *
   * @throws CollectiveMismatchException naming two ranks that differ
   */
  static void checkSplits(Rendezvous meeting) {
    int p = meeting.size();
    for (int src = 0; src < p; src++) {
      long[] sends = meeting.contribution(src).sends();
      for (int dst = 0; dst < p && sends.length > 0; dst++) {
        long expected = meeting.contribution(dst).receives()[src];
        if (sends[dst] != expected) {
          int from = meeting.globalRank(src);
          int to = meeting.globalRank(dst);
          throw Rendezvous.mismatch(
              from,
              meeting.fingerprint() + ", sends " + sends[dst] + " rows to rank " + to,
              meeting.contribution(src).place(),
              to,
              meeting.fingerprint() + ", expects " + expected + " rows from rank " + from,
              meeting.contribution(dst).place());
        }
      }
    }
  }
}
