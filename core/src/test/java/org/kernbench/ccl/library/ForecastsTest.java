package org.kernbench.ccl.library;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.ccl.Bed;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.cli.Golden;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/**
 * What every algorithm says of a call before it runs: forecast, formula, slots and which plan, for
 * all operations, as was reviewed. That forecasts are near, others test; here none may change
 * unseen.
 */
final class ForecastsTest {
  private static final List<Long> ELEMENTS = List.of(24L, 3_000L, 240_000L);

  /** Up to so many elements kernels are followed and plans simulated. */
  private static final long SHORT = 3_000;

  @ParameterizedTest
  @CsvSource({
    "tiny, CUBE, 4, ''",
    "tiny, PE, 6, pe.dma.message_channels=2",
    "ring, SIP, 5, ipcq.slots=3",
    "sip-2026, SIP, 6, ''",
    "dgx-h100, SIP, 8, system.sips.reduces=true",
    "2x-dgx-h100, SIP, 16, ''",
    "torus-4x4x4, SIP, 8, ''"
  })
  void forecasts_areTheReviewedOnes(String preset, RankLevel level, int ranks, String set) {
    Machine machine = Machines.load(preset, set.isEmpty() ? List.of() : List.of(set));
    CclConfig ccl = CclConfig.load(Optional.empty(), List.of());
    StringBuilder text = new StringBuilder();
    int told = 0;
    for (String name : ccl.names()) {
      if (name.equals(Auto.NAME)) {
        continue; // simulates others
      }
      CollectiveAlgorithm algorithm = CollectiveLibrary.algorithm(ccl, name);
      text.append(name).append(", of ").append(algorithm.defaultRankLevel()).append('\n');
      CollectiveTrial trial;
      try {
        trial =
            CollectiveTrial.of(
                machine, algorithm, ccl.of(name), level, Bed.leads(machine, level, ranks));
      } catch (CollectiveException e) {
        text.append("  ").append(e.getMessage()).append('\n');
        continue;
      }
      for (CollectiveOp op : CollectiveOp.values()) {
        if (algorithm.operations().contains(op) && op != CollectiveOp.POINT_TO_POINT) {
          text.append("  ").append(op).append('\n');
          for (long elements : ELEMENTS) {
            text.append("    ").append(said(trial, op, elements, ranks)).append('\n');
            told++;
          }
        }
      }
    }
    assertThat(told).isPositive();
    Golden.check("ccl/forecasts-%s-%s.txt".formatted(preset, level), text.toString());
  }

  private static String said(CollectiveTrial trial, CollectiveOp op, long elements, int ranks) {
    long whole = op == CollectiveOp.ALL_TO_ALL ? elements / ranks * ranks : elements;
    int root = op.toString().matches("BROADCAST|REDUCE|GATHER|SCATTER") ? 1 : 0;
    CollectiveTrial.Question question =
        new CollectiveTrial.Question(
            op, ReduceKind.SUM, DType.F32, root, op == CollectiveOp.BARRIER ? 0 : whole);
    try {
      return "%s: forecast %s%s, formula %s, slots %s of %s, %s"
          .formatted(
              question.elements(),
              shown(trial.predictPs(question)),
              elements <= SHORT && trial.isForecastExact(question) ? " exact" : "",
              shown(trial.formulaPs(question)),
              shown(trial.promisedSlots(question)),
              elements > SHORT ? "-" : shown(trial.leastSlots(question)),
              trial.chosen(question));
    } catch (CollectiveException e) {
      return whole + ": " + e.getMessage();
    }
  }

  private static String shown(OptionalLong number) {
    return number.isPresent() ? String.valueOf(number.getAsLong()) : "-";
  }

  private static String shown(OptionalInt number) {
    return number.isPresent() ? String.valueOf(number.getAsInt()) : "-";
  }
}
