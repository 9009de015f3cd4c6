package org.kernbench.nn.autograd;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.collective.ReduceKind;

/**
 * Largest values of tensors in earlier steps, from which scales of products in 8 bits come, so that
 * no product waits for its own tensors' largest values (delayed scaling of Transformer Engine). In
 * the first step all scales are 1. After each step ranks agree on what was found, in one all-reduce
 * for all tensors, and the oldest step is forgotten.
 */
public final class F8History implements AutoCloseable {
  private final Torch torch;
  private final int steps;
  private final Map<String, Entry> entries = new LinkedHashMap<>();
  private int slot;

  /** What is kept of a tensor. */
  record Entry(Tensor history, Tensor now) {}

  /**
   * Nothing yet.
   *
   * @param steps that are remembered, 1 or more; the largest of them counts
   */
  public F8History(Torch torch, int steps) {
    if (steps < 1) {
      throw new IllegalArgumentException("a history of " + steps + " steps; expected 1 or more");
    }
    this.torch = torch;
    this.steps = steps;
  }

  /** That of a tensor of a layer, by its place in the model. */
  Entry of(String place) {
    return entries.computeIfAbsent(
        place, p -> new Entry(zeros(p + ".history", steps), zeros(p + ".now", 1)));
  }

  private Tensor zeros(String name, int elements) {
    return torch.zeros(Shape.of(elements), DType.F32, name);
  }

  /**
   * Ends a step: its largest values are used from now on. All ranks of the groups call it, after
   * the same layers.
   *
   * @param agreed groups whose ranks have other parts of the tensors, or other rows
   */
  public void step(List<ProcessGroup> agreed) {
    if (entries.isEmpty()) {
      return;
    }
    int n = entries.size();
    List<Tensor> made = new ArrayList<>();
    Compute compute =
        new Compute(
            torch,
            t -> {
              made.add(t);
              return t;
            });
    List<Compute.BlockCopy> copies = new ArrayList<>();
    for (Entry e : entries.values()) {
      copies.add(new Compute.BlockCopy(e.now, 1, 0, 0, 1, 1, 0, copies.size()));
    }
    Tensor all = compute.assemble("f8.amax", 1, n, DType.F32, false, copies);
    for (ProcessGroup group : agreed) {
      if (group.size() > 1) {
        group.allReduce(all, ReduceKind.MAX);
      }
    }
    int i = 0;
    for (Entry e : entries.values()) {
      Tensor one = all.view(i++, Shape.of(1), "f8.amax");
      Tensor oldest = e.history.view(slot, Shape.of(1), "f8.oldest");
      compute.mapInto("f8.history", oldest, List.of(one), v -> v.get(0));
      compute.zero("f8.now", e.now);
    }
    slot = (slot + 1) % steps;
    made.forEach(Tensor::close);
  }

  @Override
  public void close() {
    for (Entry e : entries.values()) {
      e.history.close();
      e.now.close();
    }
    entries.clear();
  }
}
