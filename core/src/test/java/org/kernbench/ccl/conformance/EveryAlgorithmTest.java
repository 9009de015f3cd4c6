package org.kernbench.ccl.conformance;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.ccl.Bed;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.cli.Golden;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/**
 * Time, forecast, bound, bytes and slots of every built-in algorithm on small machines, as
 * reviewed: one line for each operation and size. Conformance says that they are right; here
 * nothing changes unseen.
 */
final class EveryAlgorithmTest {
  static Stream<String> algorithms() {
    return CollectiveLibrary.builtIn().stream();
  }

  private record Place(String name, Machine machine, RankLevel level, int ranks) {}

  private static List<Place> places() {
    return List.of(
        new Place("ring of 5", ring(5, "ring_1d", "auto"), RankLevel.SIP, 5),
        new Place("torus 3x2", ring(6, "torus_2d", "3"), RankLevel.SIP, 6),
        new Place("mesh 2x2", ring(4, "mesh_2d_no_wrap", "2"), RankLevel.SIP, 4),
        new Place("switch of 3", ring(3, "switch", "auto"), RankLevel.SIP, 3),
        new Place("2x2 cubes", Machines.load("tiny", List.of()), RankLevel.CUBE, 4),
        new Place("8 PEs", Machines.load("tiny", List.of()), RankLevel.PE, 8));
  }

  private static Machine ring(int sips, String topology, String width) {
    return Machines.load(
        "ring",
        List.of(
            "system.sips.count=" + sips,
            "system.sips.topology=" + topology,
            "system.sips.w=" + width));
  }

  @ParameterizedTest
  @MethodSource("algorithms")
  void timesAndCounts_areTheReviewedOnes(String name) {
    CclConfig config = CclConfig.load(Optional.empty(), List.of());
    CollectiveAlgorithm algorithm = CollectiveLibrary.algorithm(config, name);
    StringBuilder table = new StringBuilder();
    for (Place place : places()) {
      CollectiveTrial trial;
      try {
        trial =
            CollectiveTrial.of(
                place.machine,
                algorithm,
                config.of(name),
                place.level,
                Bed.leads(place.machine, place.level, place.ranks));
      } catch (CollectiveException e) {
        table.append(String.format(Locale.ROOT, "%-12s refused: %s%n", place.name, e.getMessage()));
        continue;
      }
      for (CollectiveOp op : new TreeSet<>(algorithm.operations())) {
        for (long n : op == CollectiveOp.BARRIER ? new long[] {0} : new long[] {7, 3000}) {
          line(table, place, trial, op, n);
        }
      }
    }
    Golden.check("ccl/" + name + ".txt", table.toString());
  }

  private static void line(
      StringBuilder table, Place place, CollectiveTrial trial, CollectiveOp op, long n) {
    var question =
        new CollectiveTrial.Question(op, ReduceKind.SUM, DType.F32, op.hasRoot() ? 1 : -1, n);
    String said;
    try {
      CollectiveTrial.Result r = trial.run(question, Mode.TIME);
      said =
          String.format(
              Locale.ROOT,
              "%8d ps, forecast %s, bound %d %s, %d B of %s, slots %d of %s and %s, %d events, %s %s",
              r.ps(),
              text(r.predictedPs().stream().boxed().findFirst()),
              r.bound().ps(),
              r.bound().kind(),
              r.wireBytes(),
              text(r.promisedBytes().stream().boxed().findFirst()),
              r.peakSlots(),
              text(trial.promisedSlots(question).stream().boxed().findFirst()),
              text(trial.leastSlots(question).stream().boxed().findFirst()),
              r.events(),
              r.algorithm(),
              r.problems());
    } catch (CollectiveException e) {
      said = "refused: " + e.getMessage();
    }
    table.append(
        String.format(Locale.ROOT, "%-12s %-14s %5d  %s%n", place.name, op.word(), n, said));
  }

  private static String text(Optional<?> value) {
    return value.map(Object::toString).orElse("-");
  }

  /** What conformance runs on: names, ranks and machines. */
  @Test
  void places_ofConformance_areTheReviewedOnes() {
    StringBuilder list = new StringBuilder();
    for (List<ConformancePlace> group :
        List.of(
            ConformancePlace.all(),
            ConformancePlace.model(),
            ConformancePlace.longVectors(),
            ConformancePlace.serial(),
            List.of(ConformancePlace.alone()))) {
      for (ConformancePlace p : group) {
        list.append(
            String.format(
                Locale.ROOT,
                "%-30s %2d ranks  %s on %s  %s%n",
                p.name(),
                p.ranks(),
                p.level(),
                p.machine().hash(),
                p.leads()));
      }
      list.append('\n');
    }
    Golden.check("ccl/conformance-places.txt", list.toString());
  }
}
