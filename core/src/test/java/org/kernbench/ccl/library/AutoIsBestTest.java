package org.kernbench.ccl.library;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.ccl.Networks;
import org.kernbench.device.DeadlockException;
import org.kernbench.machine.Machine;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;

/** Nothing that is configured does a call sooner than what {@code auto} takes (ADR 0318). */
final class AutoIsBestTest {
  private static final List<CollectiveOp> OPERATIONS =
      Auto.all().stream().filter(op -> op != CollectiveOp.BARRIER).sorted().toList();

  private static void drawn(long seed, int calls) {
    Random random = new Random(seed);
    for (int i = 0; i < calls; i++) {
      Machine machine = Networks.drawn(random);
      CollectiveOp op = Networks.one(random, OPERATIONS);
      noneIsQuicker(machine, op, (int) Math.pow(2, 9 + 9 * random.nextDouble()));
    }
  }

  private static void noneIsQuicker(Machine machine, CollectiveOp op, int elements) {
    CollectiveTrial.Question question =
        new CollectiveTrial.Question(
            op,
            ReduceKind.SUM,
            DType.F16,
            op.hasRoot() ? 0 : -1,
            elements / machine.sips() * machine.sips());
    long chosen = Networks.trial(machine, "auto").timePs(question);
    for (String name : Networks.CONFIG.names(op)) {
      assertThat(timePs(machine, name, question))
          .as("%s of %s on %s packages", name, question, machine.sips())
          .isGreaterThanOrEqualTo(chosen);
    }
  }

  /** For ever, if it cannot. */
  private static long timePs(Machine machine, String name, CollectiveTrial.Question question) {
    CollectiveAlgorithm algorithm = CollectiveLibrary.algorithm(Networks.CONFIG, name);
    if (!algorithm.operations().contains(question.op()) || !algorithm.isFor(machine)) {
      return Long.MAX_VALUE;
    }
    try {
      return Networks.trial(machine, name).timePs(question);
    } catch (CollectiveException | DeadlockException refused) {
      return Long.MAX_VALUE;
    }
  }

  /** Algorithms without a closed form, which were left out of calls as long as these. */
  @ParameterizedTest
  @CsvSource({
    "mesh_2d_no_wrap, 2, 50, 1000, ALL_TO_ALL, 91806",
    "fully_connected, 2, 50, 1000, GATHER, 130558",
    "fully_connected, 2, 50, 1000, SCATTER, 65536"
  })
  void knownCalls_noneIsQuicker(
      String topology, int packages, int gbPerS, int latencyNs, CollectiveOp op, int elements) {
    noneIsQuicker(Networks.of(topology, packages, gbPerS, latencyNs), op, elements);
  }

  @ParameterizedTest
  @ValueSource(longs = 1)
  void drawnCalls_noneIsQuicker(long seed) {
    drawn(seed, 25);
  }

  @Tag("slow")
  @ParameterizedTest
  @ValueSource(longs = {2, 3, 4, 5, 6})
  void manyDrawnCalls_noneIsQuicker(long seed) {
    drawn(seed, 120);
  }
}
