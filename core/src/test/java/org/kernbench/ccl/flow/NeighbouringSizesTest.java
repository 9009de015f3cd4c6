package org.kernbench.ccl.flow;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.ccl.Networks;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.machine.Machine;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;

/**
 * A few bytes more do not change the time of a call: what is chosen for one size and not for the
 * next was chosen by a wrong forecast (ADR 0317).
 */
final class NeighbouringSizesTest {
  private static final double ALIKE = 1.06;
  private static final List<CollectiveOp> OPERATIONS =
      List.of(
          CollectiveOp.ALL_REDUCE,
          CollectiveOp.REDUCE_SCATTER,
          CollectiveOp.ALL_GATHER,
          CollectiveOp.BROADCAST,
          CollectiveOp.REDUCE,
          CollectiveOp.ALL_TO_ALL);

  private static CollectiveTrial.Question question(CollectiveOp op, int elements) {
    return new CollectiveTrial.Question(
        op, ReduceKind.SUM, DType.F16, op.hasRoot() ? 0 : -1, elements);
  }

  /** The longest time of three neighbouring sizes over the shortest. */
  private static double spread(Machine machine, String algorithm, CollectiveOp op, int elements) {
    long least = Long.MAX_VALUE;
    long most = 0;
    int step = op == CollectiveOp.ALL_TO_ALL ? 4 * machine.sips() : 4;
    for (int more = 0; more <= 2 * step; more += step) {
      long ps = Networks.trial(machine, algorithm).timePs(question(op, elements + more));
      least = Math.min(least, ps);
      most = Math.max(most, ps);
    }
    return (double) most / least;
  }

  /** Each took up to three times as long as its neighbour. */
  @ParameterizedTest
  @CsvSource({
    "ring_1d, 2, 50, 250, REDUCE_SCATTER, ring_bidirectional, 62264",
    "mesh_2d_no_wrap, 2, 25, 1000, ALL_TO_ALL, direct, 24996",
    "ring_1d, 8, 100, 100, REDUCE, double_binary_tree, 131068",
    "mesh_2d_no_wrap, 5, 25, 250, ALL_GATHER, two_shot, 52888",
    "ring_1d, 6, 100, 100, REDUCE, binary_tree, 125746",
    "ring_1d, 6, 50, 250, REDUCE, binary_tree, 125746"
  })
  void knownSizes_takeAsLongAsTheNext(
      String topology,
      int packages,
      int gbPerS,
      int latencyNs,
      CollectiveOp op,
      String algorithm,
      int elements) {
    Machine machine = Networks.of(topology, packages, gbPerS, latencyNs);
    assertThat(spread(machine, algorithm, op, elements)).isLessThan(ALIKE);
  }

  /** Slots of a way are filled, and each is in use again, within what is followed. */
  @ParameterizedTest
  @CsvSource({"25, 1000", "50, 250", "100, 100", "200, 250"})
  void forecastOfALongVector_isNearItsSimulation(int gbPerS, int latencyNs) {
    Machine machine = Networks.of("ring_1d", 6, gbPerS, latencyNs);
    for (int elements : new int[] {125_746, 125_750, 400_000}) {
      CollectiveTrial.Question question = question(CollectiveOp.REDUCE, elements);
      OptionalLong forecast = Networks.trial(machine, "binary_tree").predictPs(question);
      assertThat(
              (double) forecast.orElseThrow()
                  / Networks.trial(machine, "binary_tree").timePs(question))
          .isBetween(0.93, 1.06);
    }
  }

  /** How many of some drawn calls are not alike; none is far off. */
  private static int unlike(long seed, int cases) {
    Random random = new Random(seed);
    int compared = 0;
    int unlike = 0;
    while (compared < cases) {
      Machine machine = Networks.drawn(random);
      CollectiveOp op = Networks.one(random, OPERATIONS);
      String algorithm =
          Networks.one(
              random,
              Networks.CONFIG.names(op).stream().filter(n -> isDrawn(n, op, machine)).toList());
      int elements = (int) Math.pow(2, 9 + 9 * random.nextDouble());
      try {
        double spread = spread(machine, algorithm, op, elements / machine.sips() * machine.sips());
        assertThat(spread).as("%s by %s, %s elements", op, algorithm, elements).isLessThan(1.25);
        unlike += spread < ALIKE ? 0 : 1;
        compared++;
      } catch (CollectiveException e) {
        assertThat(e).hasMessageContaining(algorithm); // refuses this number of ranks
      }
    }
    return unlike;
  }

  private static boolean isDrawn(String name, CollectiveOp op, Machine machine) {
    CollectiveAlgorithm algorithm = CollectiveLibrary.algorithm(Networks.CONFIG, name);
    return algorithm instanceof DrawnAlgorithm
        && algorithm.operations().contains(op)
        && algorithm.isFor(machine);
  }

  @ParameterizedTest
  @ValueSource(longs = 1)
  void drawnSizes_takeAsLongAsTheNext(long seed) {
    assertThat(unlike(seed, 40)).isZero();
  }

  @Tag("slow")
  @ParameterizedTest
  @ValueSource(longs = {2, 3, 4, 5, 6, 7, 8, 9})
  void manyDrawnSizes_takeAsLongAsTheNext(long seed) {
    assertThat(unlike(seed, 200)).isLessThanOrEqualTo(2); // of a guess who meets whom
  }
}
