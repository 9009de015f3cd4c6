package org.kernbench.nn.optim;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.kernels.RowCollectives;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.collective.ReduceKind;

/**
 * Parameters whose gradients lie one behind the other and are summed together. The last of the
 * groups that sum may divide the optimizer, the gradients, or all: then each of its ranks has an
 * equal part of the bucket, and the rest is there while it is needed.
 */
final class Bucket {
  // names of tensors, by which reports know what a collective is for
  static final String GRADIENTS = "gradients.";
  static final String PARAMETERS = "parameters.";
  static final String OWN = "own ";

  private final Torch torch;
  private final Compute compute;
  private final int index;
  private final List<Parameter> members;
  private final List<ProcessGroup> groups;
  private final Zero zero;
  private final Deque<Tensor> freed;
  private final long[] starts;
  private final long elements;
  private final long each; // elements of each rank's part
  private final List<Division> divisions = new ArrayList<>();
  private final List<Parameter> pieces = new ArrayList<>();
  private final @Nullable Tensor ownGrads;
  private final @Nullable Tensor ownValues;
  private @Nullable Tensor grads;
  private @Nullable Tensor values;
  private boolean hasOwnSum;
  private int missing;

  /**
   * A bucket.
   *
   * @param groups over which gradients are summed, one after the other
   * @param zero what the last of them divides
   * @param freed gradients that the device may still be busy with, of all buckets
   */
  Bucket(
      Torch torch,
      Compute compute,
      int index,
      List<Parameter> members,
      List<ProcessGroup> groups,
      Zero zero,
      Deque<Tensor> freed) {
    this.compute = compute;
    this.torch = torch;
    this.index = index;
    this.members = members;
    this.groups = groups;
    this.zero = !groups.isEmpty() && groups.getLast().size() > 1 ? zero : Zero.NONE;
    this.freed = freed;
    this.missing = members.size();
    this.starts = new long[members.size()];
    long all = 0;
    for (int i = 0; i < starts.length; i++) {
      starts[i] = all;
      all += members.get(i).shape().elements();
    }
    this.elements = all;
    this.each = isDivided() ? Math.ceilDiv(all, group().size()) : filledUp(all);
    if (!dividesGradients()) {
      keepGradients();
    }
    for (int i = 0; i < starts.length; i++) {
      int at = i;
      Parameter p = members.get(i);
      Tensor kept = grads == null ? null : gradient(i);
      p.keepGradIn(() -> kept == null ? gradient(at) : kept);
    }
    this.ownGrads =
        isDivided()
            ? Compute.spread(torch, OWN + GRADIENTS + index, part(), gradType())
                .heldAs(Tensor.Purpose.GRADIENT)
            : null;
    this.ownValues = isDivided() ? divideValues() : null;
    divisions.forEach(this::cut);
  }

  private long filledUp(long all) {
    long parts = groups.stream().mapToLong(ProcessGroup::size).reduce(1, (a, b) -> a * b);
    return parts == 1 ? all : DataParallel.filledUp(all, parts * Compute.pes(torch));
  }

  private DType gradType() {
    return members.getFirst().gradType();
  }

  private Shape part() {
    return Shape.of(Math.toIntExact(each));
  }

  private Shape whole() {
    return Shape.of(Math.toIntExact(isDivided() ? each * group().size() : each));
  }

  List<Parameter> members() {
    return members;
  }

  List<Division> divisions() {
    return Collections.unmodifiableList(divisions);
  }

  /** What this rank's optimizer changes. */
  List<Parameter> owned() {
    return isDivided() ? pieces : members;
  }

  boolean isDivided() {
    return Zero.OPTIMIZER.isPartOf(zero);
  }

  private boolean dividesGradients() {
    return Zero.GRADIENTS.isPartOf(zero);
  }

  boolean dividesValues() {
    return Zero.PARAMETERS.isPartOf(zero);
  }

  /** The ranks that divide. */
  private ProcessGroup group() {
    return groups.getLast();
  }

  // ---- gradients ----

  /** A bucket of one matrix on many PEs lies as the matrix does, any other by its elements. */
  private void keepGradients() {
    Shape only = members.getFirst().shape();
    Tensor home =
        compute.isSpread() && members.size() == 1 && !isDivided()
            ? Compute.parameter(torch, GRADIENTS + index, only, gradType())
            : Compute.spread(torch, GRADIENTS + index, whole(), gradType());
    // what fills the last part up is summed as well, so there must be something
    grads = home.heldAs(Tensor.Purpose.GRADIENT).fillInPlace(0);
  }

  private Tensor gradient(int member) {
    Parameter p = members.get(member);
    return grads().view(starts[member], p.shape(), p.name() + ".grad");
  }

  /** Memory for whole gradients; waits if that of two buckets is still in use. */
  private Tensor grads() {
    if (grads == null) {
      while (freed.size() > 1) {
        torch.await(freed.removeFirst());
      }
      Tensor all =
          Compute.spread(torch, GRADIENTS + index, whole(), gradType())
              .heldAs(Tensor.Purpose.GRADIENT);
      int rest = Math.toIntExact(whole().elements() - elements);
      if (rest > 0) {
        compute.zero("fill", all.view(elements, Shape.of(rest), all.name()));
      }
      grads = all;
    }
    return grads;
  }

  /** Begins a step. */
  void zeroGrad() {
    missing = members.size();
    hasOwnSum = false;
    members.forEach(Parameter::zeroGrad);
    pieces.forEach(Parameter::zeroGrad);
  }

  /** One more gradient is complete; whether all are. */
  void complete() {
    missing--;
  }

  boolean isComplete() {
    return missing == 0;
  }

  /** Whether there is something to sum that {@link #sum} has not summed. */
  private boolean hasGradient() {
    return members.stream().anyMatch(p -> p.grad().isPresent());
  }

  /** Sums what a microbatch has added, if ranks keep parts of gradients only. */
  void sumIfDivided() {
    if (dividesGradients() && hasGradient()) {
      sum();
    }
  }

  /** Hands the sum to the device, unless all has been summed. */
  void sum() {
    if (hasOwnSum && !hasGradient()) {
      return;
    }
    for (Parameter p : members) {
      if (p.grad().isEmpty()) {
        compute.zero("no gradient", p.startGrad(torch));
      }
    }
    for (ProcessGroup group : groups) {
      if (isDivided() && group == group()) {
        scatter();
      } else if (group.size() > 1) {
        group.allReduce(grads(), ReduceKind.SUM);
      }
    }
    pieces.forEach(piece -> piece.startGrad(torch)); // it is there now
  }

  private void scatter() {
    Tensor own = own(ownGrads);
    RowCollectives collectives = new RowCollectives(compute, group());
    if (hasOwnSum) {
      try (Tensor more = Compute.spread(torch, own.name(), part(), gradType())) {
        collectives.reduceScatter(own.name(), asParts(more), asParts(grads()), List.of());
        compute.mapInto("accumulate", own, List.of(own, more), x -> x.get(0).add(x.get(1)));
      }
    } else {
      collectives.reduceScatter(own.name(), asParts(own), asParts(grads()), List.of());
    }
    if (dividesGradients()) {
      hasOwnSum = true;
      members.forEach(Parameter::zeroGrad);
      Tensor all = grads();
      all.close();
      freed.addLast(all);
      grads = null;
    }
  }

  // ---- values ----

  private Tensor divideValues() {
    Tensor all = values().fillInPlace(0);
    for (int i = 0; i < starts.length; i++) {
      Parameter p = members.get(i);
      Tensor before = p.value();
      Tensor view = all.view(starts[i], p.shape(), p.name());
      view.copyInPlace(before);
      before.close();
      p.moveTo(view);
      divisions.add(new Division(p, starts[i], each, group()));
    }
    Tensor own = all.view(group().rank() * each, part(), OWN + all.name());
    if (!dividesValues()) {
      values = all;
      return own;
    }
    Tensor kept =
        Compute.spread(torch, own.name(), part(), type())
            .heldAs(Tensor.Purpose.PARAMETER)
            .copyInPlace(own);
    all.close();
    return kept;
  }

  /** Memory for the values of all members. */
  private Tensor values() {
    return Compute.spread(torch, PARAMETERS + index, whole(), type())
        .heldAs(Tensor.Purpose.PARAMETER);
  }

  private DType type() {
    return members.getFirst().dtype();
  }

  /** The part of a parameter that this rank's optimizer changes. */
  private void cut(Division division) {
    Parameter p = division.parameter();
    int from = division.from(group().rank());
    int n = division.to(group().rank()) - from;
    if (n == 0) {
      return;
    }
    // optimizers tell matrices from vectors by their rank
    Shape shape = p.shape().rank() > 1 ? Shape.of(1, n) : Shape.of(n);
    long at = division.start() + from - group().rank() * each;
    Parameter piece = p.piece(own(ownValues).view(at, shape, p.name()));
    Tensor grad = own(ownGrads).view(at, shape, p.name() + ".grad");
    piece.keepGradIn(() -> grad);
    pieces.add(piece);
  }

  private static Tensor own(@Nullable Tensor part) {
    if (part == null) {
      throw new IllegalStateException("bug: a bucket that is not divided has no part");
    }
    return part;
  }

  /**
   * On many PEs a tensor is taken as a row for each rank's part, so that every PE has some columns
   * to send; on one PE as it is.
   */
  private Tensor asParts(Tensor flat) {
    int rows = Math.toIntExact(flat.shape().elements() / Math.max(1, each));
    return compute.isSpread() && each > 0
        ? flat.view(0, Shape.of(rows, Math.toIntExact(each)), flat.name())
        : flat;
  }

  /** Has values whole that are divided, or does nothing if they are there. */
  void gather() {
    if (values == null) {
      values = values();
      join(values);
    }
  }

  /** Brings the changed parts of values together that each rank has whole. */
  void gatherChanged() {
    if (isDivided() && values != null && !dividesValues()) {
      join(values);
    }
  }

  private void join(Tensor all) {
    new RowCollectives(compute, group())
        .allGather(all.name(), asParts(all), asParts(own(ownValues)), List.of());
  }

  /** Gathered values of a member. */
  Tensor value(Parameter member) {
    int i = members.indexOf(member);
    if (values == null) {
      throw new IllegalStateException("bug: " + member.name() + " has not been gathered");
    }
    return values.view(starts[i], member.shape(), member.name());
  }

  /** Frees gathered values; returns their tensor, whose memory may still be in use. */
  @Nullable Tensor free() {
    Tensor all = values;
    if (all == null || !dividesValues()) {
      return null;
    }
    all.close();
    values = null;
    return all;
  }
}
