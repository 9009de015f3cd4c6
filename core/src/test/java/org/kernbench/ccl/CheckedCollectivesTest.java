package org.kernbench.ccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.device.check.Finding;
import org.kernbench.device.check.Findings;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/**
 * No algorithm has a race, reads what nobody has written, or leaves messages: all its operations.
 */
final class CheckedCollectivesTest {
  private record Place(Machine machine, RankLevel level, List<Pe> leads) {}

  private static final String SMALL = "sip.cube_mesh.w=1";

  private static final List<Place> FEW = List.of(sips(4, "ring_1d"), sips(6, "torus_2d"), pes(7));

  /** For algorithms that need a switch that adds up. */
  private static final List<Place> REDUCING = List.of(sips(4, "switch", "true"));

  private static final List<Place> MORE = more();

  private static List<Place> more() {
    List<Place> all = new ArrayList<>(FEW);
    for (int n : new int[] {2, 3, 5, 8}) {
      all.add(sips(n, "ring_1d"));
      all.add(sips(n, "fully_connected"));
    }
    all.add(sips(6, "mesh_2d_no_wrap"));
    all.add(sips(9, "torus_2d"));
    all.add(pes(4));
    all.add(cubes());
    return all;
  }

  private static Place sips(int n, String topology) {
    return sips(n, topology, "false");
  }

  private static Place sips(int n, String topology, String reduces) {
    List<String> set =
        List.of(
            "system.sips.count=" + n,
            "system.sips.topology=" + topology,
            "system.sips.reduces=" + reduces,
            SMALL,
            "sip.cube_mesh.h=1",
            "cube.pe_layout.corners=1",
            "cube.pe_layout.pe_per_corner=1",
            "cube.memory_map.hbm_total_gb_per_cube=1");
    List<Pe> leads = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      leads.add(new Pe(i, 0, 0));
    }
    return new Place(Machines.load("sip-2026", set), RankLevel.SIP, leads);
  }

  private static Place pes(int n) {
    Machine machine =
        Machines.load(
            "sip-2026",
            List.of(
                "system.sips.count=1", "system.sips.topology=ring_1d", SMALL, "sip.cube_mesh.h=1"));
    List<Pe> leads = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      leads.add(new Pe(0, 0, i));
    }
    return new Place(machine, RankLevel.PE, leads);
  }

  private static Place cubes() {
    Machine machine =
        Machines.load("sip-2026", List.of("system.sips.count=1", "system.sips.topology=ring_1d"));
    List<Pe> leads = new ArrayList<>();
    for (int i = 0; i < 16; i++) {
      leads.add(new Pe(0, i, 0));
    }
    return new Place(machine, RankLevel.CUBE, leads);
  }

  static Stream<String> algorithms() {
    return CollectiveLibrary.builtIn().stream();
  }

  @ParameterizedTest
  @MethodSource("algorithms")
  void algorithm_checked_hasNoFindings(String name) {
    int runs = runs(name, FEW, 1500);
    assertThat(runs > 0 ? runs : runs(name, REDUCING, 1500)).as(name).isPositive();
  }

  @ParameterizedTest
  @MethodSource("algorithms")
  @Tag("slow")
  void algorithm_manyPlaces_hasNoFindings(String name) {
    int runs = runs(name, MORE, 97) + runs(name, MORE, 20_011) + runs(name, REDUCING, 20_011);
    System.out.println(name + ": " + runs + " runs, no findings");
    assertThat(runs).isPositive();
  }

  /** How many runs there were; none of them has a finding. */
  private static int runs(String name, List<Place> places, long elements) {
    CclConfig config = CclConfig.load(Optional.empty(), List.of());
    CollectiveAlgorithm algorithm = CollectiveLibrary.algorithm(config, name);
    int runs = 0;
    for (Place place : places) {
      for (CollectiveOp op : new TreeSet<>(algorithm.operations())) {
        Findings findings = new Findings();
        CollectiveTrial.Question question =
            new CollectiveTrial.Question(
                op,
                ReduceKind.SUM,
                DType.F32,
                op.hasRoot() ? 1 : -1,
                op == CollectiveOp.BARRIER ? 0 : elements);
        CollectiveTrial.Result result;
        try {
          result =
              CollectiveTrial.of(
                      place.machine, algorithm, config.of(name), place.level, place.leads)
                  .run(question, Mode.FULL, SimulatorOptions.DEFAULT.checkedBy(findings));
        } catch (CollectiveException e) {
          continue; // it refuses the place
        }
        runs++;
        assertThat(findings.list().stream().map(Finding::message))
            .as("%s: %s of %d ranks", name, question, place.leads.size())
            .isEmpty();
        assertThat(findings.messages()).isPositive();
        assertThat(result.problems()).isEmpty();
      }
    }
    return runs;
  }
}
