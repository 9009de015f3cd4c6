package org.kernbench.eval.training;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.torch.Worker;

/** What sums of gradients take from the packages of the ranks, for a {@link StepBound}. */
final class SummedGradients {
  private final Set<Integer> packages = new HashSet<>();
  private long most;

  /** Adds what a rank must send: all sums of the models that it has. */
  void add(Worker worker, List<DataParallel> models) {
    packages.add(worker.torch().mesh().pe(0).sip());
    most = Math.max(most, models.stream().mapToLong(SummedGradients::sent).sum());
  }

  /** Gradients that other ranks need, or with a divided optimizer their parts of them. */
  private static long sent(DataParallel data) {
    long bytes = 0;
    for (Parameter p : data.parameters()) {
      if (!p.sharding().ofExpert()) {
        bytes += p.shape().elements() * p.gradType().sizeBytes();
      }
    }
    int ranks = data.layout().dpCp().size();
    boolean divided = !data.divisions().isEmpty();
    return ranks == 1 ? 0 : divided ? bytes - Math.ceilDiv(bytes, ranks) : bytes;
  }

  /** Tells a bound, if each of so many ranks is a package of its own. */
  void tell(StepBound step, int ranks) {
    if (packages.size() == ranks) {
      step.sends(most);
    }
  }
}
