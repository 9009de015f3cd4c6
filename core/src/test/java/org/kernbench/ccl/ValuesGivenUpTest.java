package org.kernbench.ccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.device.QueuePlan;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.DType;
import org.kernbench.tl.Kept;
import org.kernbench.tl.Scope;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/**
 * A rank of a collective gives up every value that it makes: what it keeps would fill the memory of
 * its PE, piece after piece, and hold slots of messages.
 */
final class ValuesGivenUpTest {
  /** An algorithm whose ranks say what they have kept when they end. */
  private record Watched(CollectiveAlgorithm inner, List<String> kept) implements WrappedAlgorithm {
    @Override
    public Schedule plan(Group group, IpcqSpec queues, AlgorithmConfig config) {
      Schedule schedule = inner.plan(group, queues, config);
      return new Schedule() {
        @Override
        public List<QueuePlan.Connection> connections() {
          return schedule.connections();
        }

        @Override
        public List<QueuePlan.Connection> connections(CollectiveCall call) {
          return schedule.connections(call);
        }

        @Override
        public RankProgram program(CollectiveCall call) {
          RankProgram program = schedule.program(call);
          return (tl, rank, vector, reduction) -> {
            try (Scope all = tl.scope()) {
              program.run(tl, rank, vector, reduction);
              Kept.in(all).forEach(r -> kept.add("rank %d: %d bytes".formatted(rank, r.bytes())));
            }
          };
        }
      };
    }
  }

  static Stream<String> algorithms() {
    return CollectiveLibrary.builtIn().stream();
  }

  @ParameterizedTest
  @MethodSource("algorithms")
  void collective_whenARankEnds_nothingIsKept(String name) {
    int tried = 0;
    tried += keepsNothing(name, "ring", RankLevel.SIP, 6, "system.sips.count=6");
    tried +=
        keepsNothing(
            name,
            "ring",
            RankLevel.SIP,
            6,
            "system.sips.count=6",
            "system.sips.topology=torus_2d",
            "system.sips.w=3");
    tried +=
        keepsNothing(
            name, "ring", RankLevel.SIP, 4, "system.sips.count=4", "system.sips.topology=switch");
    tried += keepsNothing(name, "tiny", RankLevel.CUBE, 4);
    tried += keepsNothing(name, "dgx-a100", RankLevel.SIP, 4, "system.sips.reduces=true");
    assertThat(tried).as("calls").isPositive();
  }

  private static int keepsNothing(
      String name, String preset, RankLevel level, int ranks, String... more) {
    Machine machine = Machines.load(preset, List.of(more));
    CclConfig config = CclConfig.load(Optional.empty(), List.of());
    List<String> kept = Collections.synchronizedList(new ArrayList<>());
    CollectiveAlgorithm watched = new Watched(CollectiveLibrary.algorithm(config, name), kept);
    int tried = 0;
    try {
      CollectiveTrial trial =
          CollectiveTrial.of(
              machine, watched, config.of(name), level, Bed.leads(machine, level, ranks));
      for (CollectiveOp op : new TreeSet<>(watched.operations())) {
        for (long n : op == CollectiveOp.BARRIER ? new long[] {0} : new long[] {7, 40_000}) {
          for (ReduceKind reduce : List.of(ReduceKind.SUM, ReduceKind.AVG)) {
            int root = op.hasRoot() ? 1 : -1;
            try {
              trial.run(new CollectiveTrial.Question(op, reduce, DType.F32, root, n), Mode.TIME);
              tried++;
            } catch (CollectiveException e) {
              continue; // not here
            }
            assertThat(kept).as("%s of %d on %s", op, n, preset).isEmpty();
          }
        }
      }
    } catch (CollectiveException e) {
      return tried; // not on such a machine
    }
    return tried;
  }
}
