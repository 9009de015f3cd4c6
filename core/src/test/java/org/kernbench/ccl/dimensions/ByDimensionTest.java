package org.kernbench.ccl.dimensions;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.ccl.Bed;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/** Steps along dimensions that cannot be are refused, each in its own words. */
final class ByDimensionTest {
  private static final String NAME = "by_dimension";

  private static CollectiveTrial trial(String setting) {
    Machine machine =
        Machines.load(
            "ring",
            List.of("system.sips.count=12", "system.sips.topology=torus_2d", "system.sips.w=4"));
    String yaml = "defaults: {algorithm: ring}\nalgorithms: {" + NAME + ": {" + setting + "}}";
    CclConfig config = CclConfig.parse("my.yaml", yaml, List.of());
    return CollectiveTrial.of(
        machine,
        CollectiveLibrary.algorithm(config, NAME),
        config.of(NAME),
        RankLevel.SIP,
        Bed.leads(machine, RankLevel.SIP, 12));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "sub_chunks: 2 | sub_chunks: got 2, but each segment is one message here; use 1, or ring",
        "along: [ring, halving_doubling] | along: halving_doubling along dimension 1 of 3 places;"
            + " expected a power of two; use ring or direct there",
        "along: [ring, double_binary_tree] | along: double_binary_tree along dimension 1 of 3 places;"
            + " expected a power of two; use ring or direct there",
        "along: [ring, ring, direct] | along: got 3 entries for 2 dimensions of this group;"
            + " expected one for each, or one for all",
      })
  void stepsThatCannotBe_areRefused(String setting, String message) {
    assertThatThrownBy(() -> trial(setting))
        .isInstanceOf(CollectiveException.class)
        .hasMessage("algorithms." + NAME + "." + message.trim());
  }

  /** What a rank holds of an all-to-all over several levels fits beside the slots, however long. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "ring | 8, 8 | 20",
        "direct | 8, 8 | 20",
        "direct | 8, 8 | 22",
        "ring | 4, 2, 4 | 19",
        "direct | 4, 2, 4 | 20",
        "direct | 16 | 22",
        "[ring, direct] | 4, 8 | 21"
      })
  void allToAll_overSeveralLevels_fitsTcm(String along, String sizes, int log2) {
    String levels =
        Stream.of(sizes.split(", "))
            .map("{kind: switch, size: %s, bandwidth: 100 GB/s, latency: 100 ns}"::formatted)
            .collect(Collectors.joining(", ", "[", "]"));
    Machine machine = Machines.load("ring", List.of("system.network=" + levels, "ipcq.slots=6"));
    String yaml =
        "defaults: {algorithm: ring}\nalgorithms: {%s: {along: %s}}".formatted(NAME, along);
    CclConfig config = CclConfig.parse("my.yaml", yaml, List.of());
    CollectiveTrial trial =
        CollectiveTrial.of(
            machine,
            CollectiveLibrary.algorithm(config, NAME),
            config.of(NAME),
            RankLevel.SIP,
            Bed.leads(machine, RankLevel.SIP, machine.sips()));
    long elements = (1L << log2) / DType.F32.sizeBytes();

    assertThat(
            trial
                .run(
                    new CollectiveTrial.Question(
                        CollectiveOp.ALL_TO_ALL, ReduceKind.SUM, DType.F32, -1, elements),
                    Mode.TIME)
                .problems())
        .isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"sub_chunks: 1", "along: [halving_doubling, ring]", "along: direct"})
  void stepsThatCanBe_areTaken(String setting) {
    assertThat(trial(setting)).isNotNull();
  }
}
