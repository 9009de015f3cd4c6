package org.kernbench.eval.probe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.cli.Golden;
import org.kernbench.device.CopyDirection;
import org.kernbench.device.log.OpKind;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.Route;

/** What the probe says of machines, and that its checks can fail. */
class ProbeTest {
  private static List<Map<String, String>> rows(Probe probe) {
    List<String> lines = probe.csv().lines().toList();
    String[] header = lines.getFirst().split(",", -1);
    List<Map<String, String>> rows = new ArrayList<>();
    for (String line : lines.subList(1, lines.size())) {
      String[] cells = line.split(",(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)", -1);
      Map<String, String> row = new HashMap<>();
      for (int i = 0; i < header.length; i++) {
        row.put(header[i], cells[i].replace("\"", ""));
      }
      rows.add(row);
    }
    return rows;
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "tiny |",
        "ring |",
        "tiny | cube.hbm.fidelity=banked",
        "tiny | fabric.buffer=256 KiB",
        "tiny | fabric.buffer=512 B",
        "dgx-h100 |",
        "kb-compat | sip.cube_mesh.w=2; sip.cube_mesh.h=2; system.sips.count=2"
            + "; system.sips.w=auto; system.sips.h=auto",
      })
  void probe_everyKindOfMachine_allChecksHold(String preset, String overrides) {
    List<String> all = overrides == null ? List.of() : List.of(overrides.split("; "));
    Probe probe = Probe.of(Machines.load(preset, all));
    assertThat(probe.problems()).isEmpty();
    assertThat(probe.isOk()).isTrue();
  }

  /** A switch that has to have a whole piece before it passes any of it on. */
  @Test
  void probe_switchOfWholeMessages_isTheClosedFormWithOnePieceMore() {
    Probe probe =
        Probe.of(
            Machines.parse(
                "whole.yaml",
                """
                extends: ring
                system:
                  network:
                    - {kind: switch, size: 4, bandwidth: 100 GB/s, latency: 100 ns,
                       forward: whole_messages}
                """,
                List.of()));
    assertThat(probe.problems()).isEmpty();
    assertThat(probe.isOk()).isTrue();
  }

  /** What has no closed form is not said to be it. */
  @ParameterizedTest
  @CsvSource({
    "ring, fabric.buffer=4 KiB, closed forms have no finite buffers",
    "tiny, cube.hbm.fidelity=banked, closed forms have no banks"
  })
  void text_ofWhatHasNoClosedForm_saysSo(String machine, String override, String why) {
    String text = Probe.of(Machines.load(machine, List.of(override))).text();
    assertThat(text)
        .containsPattern("\n  - +alone it is the closed form +" + why + ": .*closed form")
        .doesNotContainPattern("\n  ok +alone it is the closed form");
    assertThat(Probe.of(Machines.load(machine, List.of())).text())
        .containsPattern("\n  ok +alone it is the closed form");
  }

  /**
   * A row for each dimension, by hand: a package that is k links away along a ring of latency L is
   * k L there and k L back from its neighbour's memory, and one message at the slower links' rate.
   */
  @Test
  void dimensions_nearestAndFarthest_differByTheirLinks() {
    Machine machine =
        Machines.load(
            "torus-4x4x4",
            List.of(
                "system.network[1].latency=300 ns",
                "system.network[2].latency=400 ns",
                "system.network[2].bandwidth=20 GB/s"));
    Map<String, Double> ns = new HashMap<>();
    for (Map<String, String> row : rows(Probe.of(machine))) {
      if (row.get("table").equals("dimension") && row.get("operation").equals("load")) {
        ns.put(row.get("case") + row.get("bytes"), Double.valueOf(row.get("simulated_ns")));
      }
    }
    assertThat(ns).hasSize(12);
    double[] latency = {250, 300, 400};
    for (int d = 0; d < 3; d++) {
      String name = "dimension " + d + ", ring of 4, ";
      double near = ns.get(name + "nearest64");
      assertThat(ns.get(name + "farthest64") - near)
          .isEqualTo(
              2 * (latency[d] + 2 * 12), within(1e-6)); // past a package: two links to its router
      assertThat(near - ns.get("dimension 0, ring of 4, nearest64"))
          .isEqualTo(
              2 * (latency[d] - latency[0]) + (d == 2 ? 64 / 20.0 - 64 / 50.0 : 0), within(0.002));
      assertThat(ns.get(name + "nearest1048576") - near)
          .isEqualTo((1048576 - 64) / (d == 2 ? 20.0 : 50), within(1e-2));
    }
  }

  /** All of what it says of a small machine, table by table. */
  @Test
  void text_andRows_areTheReviewedOnes() {
    Probe probe = Probe.of(Machines.load("tiny", List.of()));
    Golden.check("eval/probe-tiny.txt", probe.text());
    Golden.check("eval/probe-tiny.csv", probe.csv());
  }

  /** By hand: 28 set-up, 9.25 there, 30.5 HBM, 11.25 back, n / 217.6 GB/s. */
  @Test
  void ownSlice_load_isTheSumOfItsParts() {
    for (Map<String, String> row : rows(Probe.of(Machines.load("tiny", List.of())))) {
      if (row.get("case").equals("own slice")) {
        double expected = 79 + Double.parseDouble(row.get("bytes")) / 217.6;
        assertThat(Double.parseDouble(row.get("simulated_ns"))).isEqualTo(expected, within(0.2));
        assertThat(Double.parseDouble(row.get("formula_ns"))).isEqualTo(expected, within(0.2));
      }
    }
  }

  /** The predecessor's fault: cubes nearer than the other half of one's own. */
  @Test
  void checks_nearCubesFarRouters_failTheOrder() {
    Probe probe =
        Probe.of(
            Machines.load(
                "tiny",
                List.of(
                    "sip.links.cube_to_cube.latency=0.1 ns",
                    "cube.noc.latency=50 ns",
                    "cube.noc.w=8",
                    "cube.pe_layout.pe_per_corner=3",
                    "cube.memory_map.hbm_total_gb_per_cube=6",
                    "cube.hbm.channels=48")));
    assertThat(probe.problems()).anyMatch(p -> p.contains("farther is slower"));
    assertThat(probe.text()).contains("FAILED farther is slower");
  }

  @Test
  void accesses_everyPlaceAndCrowd_bringEveryByte() {
    ProbePaths paths = new ProbePaths(Machines.load("tiny", List.of()));
    Pe me = new Pe(0, 0, 0);
    for (ProbePaths.Place place : paths.places(me)) {
      for (OpKind kind : List.of(OpKind.LOAD, OpKind.STORE)) {
        assertThat(paths.areExact(List.of(new ProbePaths.Access(me, place, 1000, kind))))
            .as("%s from %s", kind, place.name())
            .isTrue();
      }
    }
    for (ProbePaths.Case each : paths.crowds(1000)) {
      assertThat(paths.areExact(each.crowd())).as(each.name()).isTrue();
    }
  }

  /** Host to device: link and way there, data, memory, and the acknowledgement. */
  @Test
  void hostCopy_toNearestSlice_isTheSumOfItsParts() {
    Machine machine = Machines.load("tiny", List.of());
    ProbePaths paths = new ProbePaths(machine);
    var place = paths.slice("x", new Pe(0, 0, 0));
    Route there = machine.route(machine.hostNode(), place.node());
    Route back = machine.route(place.node(), machine.hostNode());
    long bytes = 1 << 20;
    long expected =
        there.latencyPs()
            + back.latencyPs()
            - machine.hbm().latencyPs()
            + bytes * 1_000_000 / 128_000;
    for (CopyDirection direction : CopyDirection.values()) {
      assertThat(paths.hostCopyPs(place, bytes, direction)).isEqualTo(expected);
    }
  }
}
