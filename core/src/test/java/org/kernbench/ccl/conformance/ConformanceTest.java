package org.kernbench.ccl.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.ccl.BrokenAllReduce;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.Sabotaged;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.cli.Golden;
import org.kernbench.config.UsageException;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.torch.collective.CollectiveOp;

/** Every algorithm does what it says, everywhere: a seeded part here, all of it when slow. */
final class ConformanceTest {
  private static final Conformance SUITE = new Conformance();

  static Stream<String> algorithms() {
    return CollectiveLibrary.builtIn().stream();
  }

  private static Conformance.Report run(String name, Conformance.Extent extent) {
    CclConfig config = CclConfig.load(Optional.empty(), List.of());
    return SUITE.run(
        CollectiveLibrary.algorithm(config, name), config.of(name), extent, name.hashCode());
  }

  @ParameterizedTest
  @MethodSource("algorithms")
  void algorithm_seededPart_conforms(String name) {
    Conformance.Report report = run(name, Conformance.Extent.FAST);
    assertThat(report.failures()).isEmpty();
    assertThat(report.passes()).isTrue();
    // what was tried and compared: nothing is left out unseen
    Golden.check("ccl/conformance/" + name + ".txt", report.toString().replace(", ", ",\n") + "\n");
  }

  @ParameterizedTest
  @MethodSource("algorithms")
  @Tag("slow")
  @Timeout(value = 1, unit = TimeUnit.HOURS)
  void algorithm_everything_conforms(String name) {
    Conformance.Report report = run(name, Conformance.Extent.FULL);
    System.out.println(name + ": " + report);
    assertThat(report.failures()).isEmpty();
    assertThat(report.passes()).isTrue();
  }

  /** All that is tried in full, of the quickest: which places, calls and counts. */
  @ParameterizedTest
  @ValueSource(strings = "tree_barrier")
  void algorithm_inFull_conforms(String name) {
    Conformance.Report report = run(name, Conformance.Extent.FULL);
    assertThat(report.failures()).isEmpty();
    Golden.check(
        "ccl/conformance/" + name + "-full.txt", report.toString().replace(", ", ",\n") + "\n");
  }

  /** Two nodes of three packages: groups along both dimensions, over NICs and beside them. */
  private static Machine nodes(String... more) {
    List<String> set =
        new ArrayList<>(List.of("system.network[0].size=3", "system.nodes.packages=3"));
    set.add("system.nodes.nics=3");
    set.addAll(List.of(more));
    return Machines.load("2x-dgx-h100", set);
  }

  private static Conformance.Report on(Machine machine, CollectiveAlgorithm algorithm) {
    CclConfig config = CclConfig.load(Optional.empty(), List.of());
    return Conformance.on(machine).run(algorithm, config.of("ring"), Conformance.Extent.FAST, 1);
  }

  /**
   * On a machine of the user's: right ones pass, others are found, one that is not for it says so.
   */
  @Test
  void givenMachine_itsGroups_areTried() {
    assertThat(ConformancePlace.of(nodes()).stream().map(ConformancePlace::name))
        .containsExactly(
            "all 6 packages",
            "packages along dimension 0",
            "packages along dimension 1",
            "packages [5, 0, 3]");
    Conformance.Report right =
        on(
            nodes(),
            CollectiveLibrary.algorithm(CclConfig.load(Optional.empty(), List.of()), "ring"));
    assertThat(right.failures()).isEmpty();
    assertThat(right.cases()).isGreaterThan(12);
    Conformance.Report wrong =
        on(nodes(), new BrokenAllReduce(BrokenAllReduce.Flaw.SEGMENT_OFF_BY_ONE));
    assertThat(wrong.failures()).anyMatch(f -> f.startsWith("all 6 packages"));
    assertThat(wrong.failures()).anyMatch(f -> f.startsWith("packages along dimension 1"));
    Conformance.Report none =
        on(
            nodes(),
            CollectiveLibrary.algorithm(CclConfig.load(Optional.empty(), List.of()), "in_switch"));
    assertThat(none.refusedAll()).isTrue();
    assertThat(none.refusals()).hasSize(4);
    assertThatThrownBy(() -> Conformance.on(Machines.load("ring", List.of("system.sips.count=1"))))
        .isInstanceOf(UsageException.class)
        .hasMessageContaining("nobody to send to");
  }

  private static Conformance.Report broken(BrokenAllReduce.Flaw flaw) {
    CclConfig config = CclConfig.load(Optional.empty(), List.of());
    return SUITE.run(
        new BrokenAllReduce(flaw), config.of("ring"), Conformance.Extent.FAST, flaw.ordinal());
  }

  /** Each way in which such programs are broken is found, by its own sign. */
  @ParameterizedTest
  @CsvSource({
    "WRONG_NEIGHBOUR, 'element'",
    "SEGMENT_OFF_BY_ONE, 'element'",
    "MISSING_REDUCTION, 'element'",
    "UNFINISHED, 'avg'",
    "TOO_FEW_SLOTS, 'says that 1 slots are enough, but deadlocks with 1'",
    "EXTRA_MESSAGE, 'its exact count is'",
    "RECEIVES_FIRST, 'deadlock'",
    "OWN_ORDER, 'hold different bits'",
    "THROWS, 'no such neighbour at BrokenAllReduce.java:'",
    "PLANS_NOTHING, 'not yet at BrokenAllReduce.java:'",
    "REFUSES, 'every group: refused'",
  })
  void brokenAlgorithm_anyFlaw_isCaught(BrokenAllReduce.Flaw flaw, String sign) {
    Conformance.Report report = broken(flaw);
    assertThat(report.passes()).isFalse();
    assertThat(report.failures()).anyMatch(f -> f.contains(sign));
  }

  @Test
  void sameAlgorithm_withoutFlaw_conforms() {
    assertThat(broken(BrokenAllReduce.Flaw.NONE).failures()).isEmpty();
  }

  private static boolean isCaught(String name, Sabotaged.Flaw flaw, String sign) {
    // In blocks, so that also those of whole vectors have segments.
    boolean segments = flaw == Sabotaged.Flaw.SEGMENT_OFF_BY_ONE;
    CclConfig config =
        CclConfig.load(Optional.empty(), segments ? List.of("defaults.n_elem=100") : List.of());
    CollectiveAlgorithm broken = new Sabotaged(CollectiveLibrary.algorithm(config, name), flaw);
    Conformance.Report report =
        SUITE.run(broken, config.of(name), Conformance.Extent.FAST, flaw.ordinal());
    return !report.passes() && report.failures().stream().anyMatch(f -> f.contains(sign));
  }

  /** Flaws put between an algorithm and the device, one of each family. */
  @ParameterizedTest
  @CsvSource({
    "direct, WRONG_NEIGHBOUR, ''",
    "chain, SEGMENT_OFF_BY_ONE, 'element'",
    "torus, MISSING_REDUCTION, 'element'",
    "two_shot, TOO_FEW_SLOTS, 'says that it needs 1 slots; its kernels need'",
    "two_shot, TOO_MANY_SLOTS, 'slots; its kernels need'",
    "packed_trees, WRONG_COUNT, 'its exact count is'",
    "ring, NOT_EXACT, 'a forecast that claims to be exact is off: forecast '",
    "ring, LONG_FORECAST, 'a forecast is off by more than 3.0 times: forecast '",
    "in_switch, SEGMENT_OFF_BY_ONE, 'element'",
    "in_switch, MISSING_REDUCTION, 'element'",
  })
  void builtIn_withAFlaw_isCaught(String name, Sabotaged.Flaw flaw, String sign) {
    assertThat(isCaught(name, flaw, sign)).isTrue();
  }

  /**
   * Right in spite of crossed queues: two edges of a tree, or a message to another in a round; and
   * what gives to a switch that adds up has no queue to a neighbour.
   */
  private static final Set<String> ANY_NEIGHBOUR =
      Set.of("tree", "tree_barrier", "dissemination", "in_switch");

  /** All algorithms with all flaws that they can have: a barrier has no elements to get wrong. */
  @ParameterizedTest
  @MethodSource("algorithms")
  @Tag("slow")
  @Timeout(value = 1, unit = TimeUnit.HOURS)
  void builtIn_withAnyFlaw_isCaught(String name) {
    CollectiveAlgorithm algorithm =
        CollectiveLibrary.algorithm(CclConfig.load(Optional.empty(), List.of()), name);
    boolean moves = !algorithm.operations().equals(Set.of(CollectiveOp.BARRIER));
    assertThat(isCaught(name, Sabotaged.Flaw.WRONG_NEIGHBOUR, ""))
        .as("%s, wrong neighbour", name)
        .isEqualTo(!ANY_NEIGHBOUR.contains(name));
    assertThat(isCaught(name, Sabotaged.Flaw.SEGMENT_OFF_BY_ONE, "element"))
        .as("%s, segment off by one", name)
        .isEqualTo(moves);
    assertThat(isCaught(name, Sabotaged.Flaw.MISSING_REDUCTION, "element"))
        .as("%s, missing reduction", name)
        .isEqualTo(moves);
  }
}
