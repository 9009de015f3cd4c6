package org.kernbench.eval.benches;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.machine.Machine;

/** {@code ccl-allreduce}: one all-reduce, every value checked. */
public final class AllReduceBench implements Bench {
  private static final Param<Integer> N_ELEM =
      Param.integer(
          "n_elem", 8192, 1, CollectiveParams.MAX_ELEMENTS, "elements of each rank's tensor");

  @Override
  public String name() {
    return "ccl-allreduce";
  }

  @Override
  public String description() {
    return "all-reduce through initProcessGroup, spawn and allReduce; every value checked";
  }

  @Override
  public List<Param<?>> params() {
    List<Param<?>> params = new ArrayList<>(List.of(N_ELEM, CollectiveParams.DTYPE));
    params.addAll(CollectiveParams.OF_ALGORITHM);
    params.add(CollectiveParams.PATTERN);
    return params;
  }

  @Override
  public Outcome run(BenchContext context) {
    Machine machine = context.machine();
    CollectiveLibrary library = CollectiveLibrary.open(machine, CollectiveParams.config(context));
    return new AllReduceRun(
            machine,
            context.param(N_ELEM),
            CollectiveParams.dtype(context),
            CollectiveParams.pattern(context, library.worldSize()),
            context.mode(),
            context.recording().withLines(),
            context.folding())
        .run(library);
  }
}
