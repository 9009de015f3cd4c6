package org.kernbench.nn.autograd;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.kernbench.torch.Tensor;

/**
 * What a {@link Graph} has recorded, and the way back through it: every operation is asked for the
 * gradients of its operands, the last one first.
 *
 * <p>Gradients of weights may be put off until a collective has been handed to the device, so that
 * they are computed beside it. A parameter's gradient is complete when all operations that use the
 * parameter have been asked, and what they put off is done.
 *
 * <p>Operations on one value may {@linkplain #join wait for each other}, so that what they give it
 * is made at once.
 */
final class Tape {
  private final Graph graph;
  private final List<Node> nodes = new ArrayList<>();
  private final Deque<Late> late = new ArrayDeque<>();
  private final Deque<Late> putOff = new ArrayDeque<>();
  private final Map<Parameter, Integer> uses = new IdentityHashMap<>();
  private final Map<Variable, Tensor> found = new LinkedHashMap<>(); // by identity, in order
  private Consumer<Parameter> whenComplete = p -> {};

  /** What operations on a value do together, when all of these have been asked. */
  private final Map<Variable, Late> joined = new LinkedHashMap<>();

  /** Those that are asked now. */
  private List<Node> current = List.of();

  /** An operation: where in the model, what it made of what, and how gradients flow back. */
  record Node(String path, Variable result, List<Variable> operands, Graph.Backward backward) {}

  /** Something put off, of some operations. */
  private record Late(List<Node> nodes, Runnable work) {}

  Tape(Graph graph) {
    this.graph = graph;
  }

  void add(Node node) {
    nodes.add(node);
  }

  /**
   * Goes backwards; tells of each parameter when its gradient is complete. What a pass finds is
   * passed on by itself and added to earlier passes' gradients when it is complete: gradients of
   * values between would otherwise go back twice.
   */
  void run(Variable result, Tensor grad, Consumer<Parameter> told) {
    whenComplete = told;
    countUses();
    accumulate(result, grad);
    for (int i = nodes.size() - 1; i >= 0; i--) {
      Node node = nodes.get(i);
      runJoined(node.result);
      Tensor own = found.remove(node.result);
      current = List.of(node);
      if (own != null) {
        addUp(node.result, own);
        graph.at(place(node), () -> node.backward.run(own, sink(node)));
      }
      settle();
    }
    List.copyOf(joined.keySet()).forEach(this::runJoined); // what no operation has made
    runDeferred();
    found.forEach(this::addUp); // as well
    found.clear();
    current = List.of();
  }

  /**
   * Makes the present operation wait until all operations on one of its operands have been asked.
   *
   * @param work of all that wait, named after the last of them; that of the first is done
   */
  void join(Variable operand, Runnable work) {
    joined.computeIfAbsent(operand, v -> new Late(new ArrayList<>(), work)).nodes.addAll(current);
  }

  private void runJoined(Variable operand) {
    Late all = joined.remove(operand);
    if (all != null) {
      current = all.nodes;
      graph.at(place(all.nodes.getLast()), all.work);
      settle();
    }
  }

  /** Those that are asked now are done, unless they wait or have put something off. */
  private void settle() {
    List<Node> all = current;
    current = List.of();
    all.stream().filter(node -> !waits(node)).forEach(this::done);
  }

  private boolean waits(Node node) {
    return Stream.of(late, putOff, joined.values())
        .flatMap(Collection::stream)
        .anyMatch(one -> one.nodes.contains(node));
  }

  /** Who is told of complete gradients in this pass. */
  Consumer<Parameter> told() {
    return whenComplete;
  }

  private void countUses() {
    uses.clear();
    for (Node node : nodes) {
      for (Variable v : node.operands) {
        if (v instanceof Parameter p) {
          uses.merge(p, 1, Integer::sum);
        }
      }
    }
  }

  /** Adds what a pass has found for a variable to what earlier ones have. */
  private void addUp(Variable v, Tensor more) {
    v.setGrad(v.grad().map(before -> sum(v, before, more)).orElse(more));
  }

  private Tensor sum(Variable v, Tensor a, Tensor b) {
    return graph
        .compute()
        .mapRounded(
            graph.name("add"), v.shape(), b.dtype(), List.of(a, b), x -> x.get(0).add(x.get(1)));
  }

  /** Puts work of the present operation off until {@link #runDeferred}. */
  void defer(Runnable work) {
    if (current.isEmpty()) {
      throw new IllegalStateException("bug: nothing goes backwards");
    }
    late.addLast(new Late(current, work));
  }

  /** Whether anything is put off until {@link #runDeferred}. */
  boolean hasDeferred() {
    return !late.isEmpty();
  }

  /** Does what was put off. */
  void runDeferred() {
    run(late);
  }

  /** Leaves work of the present operation until {@link #runPutOff}. */
  void putOff(Runnable work) {
    if (current.isEmpty()) {
      throw new IllegalStateException("bug: nothing goes backwards");
    }
    putOff.addLast(new Late(current, work));
  }

  /** Does what was left when the gradients of inputs were found. */
  void runPutOff() {
    run(putOff);
  }

  private void run(Deque<Late> works) {
    while (!works.isEmpty()) {
      Late next = works.removeFirst();
      graph.at(place(next.nodes.getLast()), next.work);
      for (Node node : next.nodes) {
        if (!current.contains(node) && !waits(node)) {
          done(node);
        }
      }
    }
  }

  private static String place(Node node) {
    return node.path.isEmpty() ? Recipe.GRAD : node.path + "." + Recipe.GRAD;
  }

  private void done(Node node) {
    for (Variable v : node.operands) {
      if (v instanceof Parameter p && uses.merge(p, -1, Integer::sum) == 0) {
        if (p.grad().isPresent()) {
          whenComplete.accept(p);
        }
      }
    }
  }

  void clear() {
    nodes.clear();
    late.clear();
    putOff.clear();
    uses.clear();
    found.clear();
    joined.clear();
    current = List.of();
  }

  private Graph.Sink sink(Node node) {
    return new Graph.Sink() {
      @Override
      public boolean wants(int operand) {
        return Graph.wants(node.operands.get(operand));
      }

      @Override
      public Optional<Tensor> home(int operand) {
        return node.operands.get(operand) instanceof Parameter p
                && Graph.wants(p)
                && p.grad().isEmpty()
                && graph.compute().isSpread()
            ? Optional.of(p.startGrad(graph.torch()))
            : Optional.empty();
      }

      @Override
      public void give(int operand, Tensor grad) {
        Variable v = node.operands.get(operand);
        if (Graph.wants(v)) {
          accumulate(v, grad);
        }
      }

      @Override
      public void giveAway(int operand, Tensor grad) {
        give(operand, grad);
        if (node.operands.get(operand) instanceof Parameter) {
          graph.drop(grad);
        }
      }
    };
  }

  private void accumulate(Variable v, Tensor grad) {
    if (grad.shape().elements() != v.shape().elements()) {
      throw new IllegalStateException("bug: gradient " + grad.shape() + " of " + v);
    }
    graph.finite().gradient(graph.place(), v, grad);
    if (v instanceof Parameter p) {
      Optional<Tensor> sum = p.grad();
      if (sum.isPresent() && sum.get() == grad) {
        return; // it was written at home
      }
      List<Tensor> from = sum.isPresent() ? List.of(sum.get(), grad) : List.of(grad);
      graph
          .compute()
          .mapInto(
              graph.name("accumulate"),
              sum.orElseGet(() -> p.startGrad(graph.torch())),
              from,
              x -> x.size() == 1 ? x.get(0) : x.get(0).add(x.get(1)));
      return;
    }
    Tensor before = found.get(v);
    found.put(v, before == null ? grad : sum(v, before, grad));
  }
}
