package org.kernbench.eval.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.ccl.conformance.Conformance;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.Tuner;
import org.kernbench.cli.Golden;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/** JSON of what is found about collectives: each figure, all different, under its name. */
final class CollectiveJsonTest {
  @Test
  void conformance_figuresAllDifferent_areUnderTheirNames() {
    Conformance.Report report =
        new Conformance.Report(
            "own",
            11,
            12,
            Map.of("a place", "why"),
            List.of("first", "second"),
            13,
            new Conformance.Slots(14, 15, 16),
            new Conformance.Forecasts(17, 1.5, 18, 2.5, 19, 20, 3.5),
            new Conformance.Ratios(4.5, 5.5, 6.5));
    String json = CollectiveJson.conformance(List.of(report, report.named("other")));
    Golden.check("eval/conformance.json", json);
    assertThat(json).contains("\"name\": \"other\"");
  }

  @Test
  void tuning_callsAndCandidates_areUnderTheirNames() {
    Machine machine = Machines.load("tiny", List.of());
    List<Pe> leads = List.of(new Pe(0, 0, 0), new Pe(0, 1, 0), new Pe(0, 2, 0), new Pe(0, 3, 0));
    Tuner tuner =
        new Tuner(
            machine, CclConfig.load(Optional.empty(), List.of()), RankLevel.CUBE, leads, false);
    Tuner.Comparison found =
        tuner.compare(
            new CollectiveTrial.Question(
                CollectiveOp.ALL_GATHER, ReduceKind.SUM, DType.F16, -1, 40_000));
    Golden.check(
        "eval/tuning.json", CollectiveJson.tuning(machine, RankLevel.CUBE, 4, List.of(found)));
  }
}
