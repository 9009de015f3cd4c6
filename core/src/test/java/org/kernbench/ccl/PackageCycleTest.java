package org.kernbench.ccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/** The ring goes round links that are dead or slow, where there is a way. */
final class PackageCycleTest {
  private static Machine machine(String topology, int sips, String width, String links) {
    return Machines.load(
        "ring",
        List.of(
            "system.sips.topology=" + topology,
            "system.sips.count=" + sips,
            "system.sips.w=" + width,
            "system.sips.h=auto",
            "system.sips.links=" + (links.isEmpty() ? "alike" : links)));
  }

  private static Group group(Machine machine) {
    return new Group(
        machine,
        RankLevel.SIP,
        IntStream.range(0, machine.sips()).mapToObj(sip -> new Pe(sip, 0, 0)).toList());
  }

  /** Packages by position. */
  private static int[] cycle(Machine machine) {
    RingOrder order = RingOrder.of(group(machine));
    return IntStream.range(0, machine.sips()).map(order::rankAt).toArray();
  }

  private static boolean crosses(int[] cycle, int from, int to) {
    for (int i = 0; i < cycle.length; i++) {
      if (cycle[i] == from && cycle[(i + 1) % cycle.length] == to) {
        return true;
      }
    }
    return false;
  }

  /** Whether each package is next to the one before, over a link that works. */
  private static boolean isCycle(Machine machine, int[] cycle) {
    for (int i = 0; i < cycle.length; i++) {
      Pe from = new Pe(cycle[i], 0, 0);
      Pe to = new Pe(cycle[(i + 1) % cycle.length], 0, 0);
      int hops = 0;
      for (int link : machine.route(from, to).links()) {
        hops += machine.linkKind(link) == org.kernbench.machine.spec.LinkKind.SIP_TO_SIP ? 1 : 0;
      }
      if (hops != 1) {
        return false;
      }
    }
    return IntStream.of(cycle).distinct().count() == cycle.length;
  }

  /** Every link of the grid dead, one after the other: a torus loses nothing by it. */
  @ParameterizedTest
  @CsvSource({"torus_2d, 6, 3", "torus_2d, 16, 4", "torus_2d, 12, 4", "torus_2d, 64, 8"})
  void ring_anyOneLinkOfATorusDead_hasACycleWithoutIt(String topology, int sips, String width) {
    Machine whole = machine(topology, sips, width, "");
    int[] usual = cycle(whole);
    for (int i = 0; i < sips; i++) {
      int from = usual[i];
      int to = usual[(i + 1) % sips];
      Machine machine = machine(topology, sips, width, from + "-" + to + " dead");

      assertThat(isCycle(machine, cycle(machine))).as("%d-%d dead", from, to).isTrue();
    }
  }

  @Test
  void ring_deadLinkOfATorus_takesAsLongAsWithoutIt() {
    long whole = ps(machine("torus_2d", 6, "3", ""));
    long dead = ps(machine("torus_2d", 6, "3", "0-1 dead"));

    assertThat(dead).isEqualTo(whole);
  }

  @Test
  void ring_slowLink_isLeftOutIfAnotherCycleIsThere() {
    Machine machine = machine("torus_2d", 6, "3", "0-1 20 GB/s");
    int[] cycle = cycle(machine);

    assertThat(crosses(cycle, 0, 1) || crosses(cycle, 1, 0)).isFalse();
    assertThat(isCycle(machine, cycle)).isTrue();
  }

  /** The usual order of these is no cycle, so no copy of it is: the search has to find one. */
  @ParameterizedTest
  @CsvSource({
    "torus_2d, 9, 3, 0-1 dead",
    "torus_2d, 15, 5, 0-1 dead; 7-8 dead",
    "fully_connected, 5, auto, 0-1 20 GB/s; 1-2 20 GB/s"
  })
  void ring_noCopyOfTheUsualOrderServes_isSearched(
      String topology, int sips, String width, String links) {
    Machine machine = machine(topology, sips, width, links);
    int[] cycle = cycle(machine);

    assertThat(isCycle(machine, cycle)).isTrue();
    assertThat(crosses(cycle, 0, 1) || crosses(cycle, 1, 0)).isFalse();
  }

  @Test
  void ring_linkDeadOneWay_goesTheOther() {
    Machine machine = machine("ring_1d", 6, "auto", "2->3 dead");

    assertThat(isCycle(machine, cycle(machine))).isTrue();
  }

  @Test
  void ring_noCycleIsLeft_staysAsItWas() {
    Machine machine = machine("ring_1d", 6, "auto", "2-3 dead");

    assertThat(cycle(machine)).containsExactly(0, 1, 2, 3, 4, 5);
  }

  /** Against all orders there are, on grids of six to eight packages with several links dead. */
  @Test
  void ring_deadLinks_findsACycleExactlyIfThereIsOne() {
    SplittableRandom random = new SplittableRandom(5);
    int found = 0;
    int none = 0;
    for (int i = 0; i < 60; i++) {
      boolean torus = random.nextBoolean();
      int width = random.nextInt(2, 5);
      int sips = width * 2;
      List<String> dead = new ArrayList<>();
      for (int j = random.nextInt(1, 4); j > 0; j--) {
        int from = random.nextInt(sips);
        int to = from % width < width - 1 ? from + 1 : (from + width) % sips;
        dead.add(Math.min(from, to) + "-" + Math.max(from, to) + " dead");
      }
      Machine machine;
      try {
        machine =
            machine(
                torus ? "torus_2d" : "mesh_2d_no_wrap",
                sips,
                Integer.toString(width),
                String.join("; ", new java.util.LinkedHashSet<>(dead)));
      } catch (org.kernbench.config.ConfigException e) {
        continue; // falls apart
      }
      boolean exists = exists(machine, new int[sips], 1, new boolean[sips]);
      assertThat(isCycle(machine, cycle(machine))).as("%s", dead).isEqualTo(exists);
      found += exists ? 1 : 0;
      none += exists ? 0 : 1;
    }
    assertThat(found).isPositive();
    assertThat(none).isPositive();
  }

  private static boolean exists(Machine machine, int[] path, int length, boolean[] seen) {
    seen[0] = true;
    if (length == path.length) {
      return isCycle(machine, path);
    }
    for (int next = 1; next < path.length; next++) {
      if (!seen[next]) {
        seen[next] = true;
        path[length] = next;
        if (exists(machine, path, length + 1, seen)) {
          return true;
        }
        seen[next] = false;
      }
    }
    return false;
  }

  private static long ps(Machine machine) {
    CclConfig config = CclConfig.load(java.util.Optional.empty(), List.of());
    CollectiveTrial trial =
        CollectiveTrial.of(
            machine,
            CollectiveLibrary.algorithm(config, "ring"),
            config.of("ring"),
            RankLevel.SIP,
            group(machine).leads());
    return trial
        .run(
            new CollectiveTrial.Question(
                CollectiveOp.ALL_REDUCE, ReduceKind.SUM, DType.F16, -1, 6 * 1024),
            Mode.FULL)
        .ps();
  }
}
