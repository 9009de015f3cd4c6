package org.kernbench.nn;

import java.util.List;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.ReduceKind;

/**
 * Makes gradients whole at the end of a step: sums those of sequence-parallel parameters over the
 * tensor-parallel group, and all over the data- and context-parallel ranks. The loss is a sum over
 * tokens, so these are plain sums; whoever wants a mean divides by the number of tokens afterwards
 * ({@code megatron.md} 10.2, regime A).
 */
public final class GradientSync {
  private final ParallelLayout layout;

  /** For the parameters of a layout. */
  public GradientSync(ParallelLayout layout) {
    this.layout = layout;
  }

  /** Sums the gradients of a rank's parameters with those of the other ranks. All ranks call it. */
  public void run(List<Parameter> parameters) {
    for (Parameter p : parameters) {
      if (p.isFrozen()) {
        continue;
      }
      if (p.sharding().sequenceParallel()) {
        sum(p, layout.tp());
      }
      sum(p, layout.dpCp());
    }
  }

  private static void sum(Parameter p, ProcessGroup group) {
    if (group.size() > 1) {
      group.allReduce(p.grad().orElseThrow(), ReduceKind.SUM);
    }
  }
}
