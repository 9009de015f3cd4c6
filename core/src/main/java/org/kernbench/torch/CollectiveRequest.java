package org.kernbench.torch;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;

/**
 * A collective that a rank asks for, and what that rank alone can see to be wrong with it. What the
 * members must agree on is found where they meet, see {@link Rendezvous}.
 */
final class CollectiveRequest {
  private final CollectiveOp op;
  private final @Nullable Tensor in;
  private final @Nullable Tensor out;
  private final Tensor alike; // of the same shape on all members, unless rows are given
  private Optional<ReduceKind> reduce = Optional.empty();
  private int root = -1;
  private List<Long> rows = List.of();
  private long[] sends = Contribution.NONE;
  private long[] receives = Contribution.NONE;

  CollectiveRequest(CollectiveOp op, @Nullable Tensor in, @Nullable Tensor out, Tensor alike) {
    this.op = op;
    this.in = in;
    this.out = out;
    this.alike = alike;
  }

  /** What it touches, each once. */
  List<Tensor> tensors() {
    if (in == null || in == out) {
      return out == null ? List.of() : List.of(out);
    }
    return out == null ? List.of(in) : List.of(in, out);
  }

  CollectiveRequest reducing(ReduceKind kind) {
    reduce = Optional.of(kind);
    return this;
  }

  CollectiveRequest rooted(int globalRank) {
    root = globalRank;
    return this;
  }

  CollectiveRequest cut(List<Integer> byMember) {
    rows = byMember.stream().map(Integer::longValue).toList();
    return this;
  }

  CollectiveRequest split(List<Integer> input, List<Integer> output) {
    sends = input.stream().mapToLong(Integer::longValue).toArray();
    receives = output.stream().mapToLong(Integer::longValue).toArray();
    return this;
  }

  CollectiveOp op() {
    return op;
  }

  @Nullable Tensor out() {
    return out;
  }

  /** Whether it says how many rows go to each member and come from each. */
  boolean isSplit() {
    return sends.length > 0;
  }

  /** What the rank brings to the meeting, from a line of its program. */
  Contribution contribution(String place) {
    return new Contribution(in, out, sends, receives, place);
  }

  /** What the rank alone can know; gives what it must share with the others. */
  Operands checked(Session session, Members members, int rank) {
    String method = op.method();
    List<Tensor> tensors = tensors();
    for (Tensor t : tensors) {
      TensorChecks.check(session, session.device(rank), method, rank, t);
    }
    session.checkNotWritten(tensors, method);
    if (reduce.isPresent()) {
      TensorChecks.checkReduce(method, rank, alike, reduce.get());
    }
    if (op.hasRoot()) {
      checkRoot(members, rank);
    }
    Shape shape = alike.shape();
    if (in != null && out != null && in != out) {
      if (in.dtype() != out.dtype()) {
        throw members.error(
            method,
            rank,
            "input %s is %s, output %s is %s; expected one dtype"
                .formatted(in.name(), in.dtype(), out.name(), out.dtype()));
      }
      TensorChecks.checkRows(members, method, rank, in, out);
    }
    if (op.hasParts()) {
      checkParts(members, rank);
      if (!rows.isEmpty()) {
        shape = TensorChecks.oneRow(shape);
      }
    }
    if (op == CollectiveOp.ALL_TO_ALL) {
      checkExchange(members, rank);
      if (isSplit()) {
        shape = TensorChecks.oneRow(shape);
      }
    }
    boolean cuts = op.hasParts() || op == CollectiveOp.ALL_TO_ALL;
    for (Tensor t : tensors) {
      TensorChecks.checkLanes(members, method, rank, t, alike, cuts, session.device(rank));
    }
    List<Operands.Place> places =
        cuts && (!rows.isEmpty() || isSplit())
            ? TensorChecks.lanes(alike, session.device(rank))
            : TensorChecks.places(alike, session.device(rank));
    return new Operands(alike.dtype(), shape, reduce, root, rows, places);
  }

  private void checkRoot(Members members, int rank) {
    String method = op.method();
    if (members.member(root) < 0) {
      throw members.error(
          method,
          rank,
          "root " + root + "; expected the global rank of a member, of " + members.shown());
    }
    boolean isRoot = root == rank;
    if (op == CollectiveOp.GATHER && isRoot != (out != null)) {
      throw members.error(
          method,
          rank,
          isRoot
              ? "the root gives no output; expected gather(output, input, dst)"
              : "an output on another rank than the root %s; expected gather(input, dst)"
                  .formatted(root));
    }
    if (op == CollectiveOp.SCATTER && isRoot != (in != null)) {
      throw members.error(
          method,
          rank,
          isRoot
              ? "the root gives no input; expected scatter(output, input, src)"
              : "an input on another rank than the root %s; expected scatter(output, src)"
                  .formatted(root));
    }
  }

  private void checkParts(Members members, int rank) {
    Tensor part = alike;
    Tensor whole = in == part ? out : in;
    String method = op.method();
    TensorChecks.checkRank(members, method, rank, part);
    long own = part.shape().dim(0);
    long expected = own * members.size();
    if (!rows.isEmpty()) {
      if (rows.size() != members.size()) {
        throw members.error(
            method,
            rank,
            "%s numbers of rows; expected one for each of %s members"
                .formatted(rows.size(), members.size()));
      }
      int member = members.member(rank);
      if (rows.get(member) != own) {
        throw members.error(
            method,
            rank,
            "tensor %s has %s rows; expected %s, as the list of rows says"
                .formatted(part.name(), own, rows.get(member)));
      }
      expected = rows.stream().mapToLong(Long::longValue).sum();
    }
    if (whole != null && whole.shape().dim(0) != expected) {
      throw members.error(
          method,
          rank,
          """
          tensor %s has shape %s, the part %s has %s, in a group of %s; expected %s rows\
          """
              .formatted(
                  whole.name(),
                  whole.shape(),
                  part.name(),
                  part.shape(),
                  members.size(),
                  expected));
    }
  }

  private void checkExchange(Members members, int rank) {
    Tensor in = alike;
    if (out == null || out == in) {
      throw members.error("allToAll", rank, "output and input are one tensor; expected two");
    }
    TensorChecks.checkRank(members, "allToAll", rank, in);
    if (sends.length == 0 && receives.length == 0) {
      if (in.shape().dim(0) % members.size() != 0 || !in.shape().equals(out.shape())) {
        throw members.error(
            "allToAll",
            rank,
            """
            input %s and output %s in a group of %s; expected equal shapes with rows that \
            divide by the members, or numbers of rows for each member\
            """
                .formatted(in.shape(), out.shape(), members.size()));
      }
      return;
    }
    checkSplit(members, rank, "input", in, sends);
    checkSplit(members, rank, "output", out, receives);
  }

  private static void checkSplit(
      Members members, int rank, String what, Tensor tensor, long[] rows) {
    long sum = Arrays.stream(rows).sum();
    boolean negative = Arrays.stream(rows).anyMatch(n -> n < 0);
    if (rows.length != members.size() || negative || sum != tensor.shape().dim(0)) {
      throw members.error(
          "allToAll",
          rank,
          """
          %s %s has shape %s, its rows for each member %s; expected %s numbers that add \
          up to its rows\
          """
              .formatted(
                  what, tensor.name(), tensor.shape(), Arrays.toString(rows), members.size()));
    }
  }
}
