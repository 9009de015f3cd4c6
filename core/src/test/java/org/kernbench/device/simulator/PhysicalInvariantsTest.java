package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.memory.Region;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.LinkKind;

/**
 * What has to hold on any machine that can be built, whatever the model. The predecessor once had
 * all slices of a cube behind one controller, for six weeks: every number was plausible, and these
 * would have failed.
 */
final class PhysicalInvariantsTest {
  private static final int BYTES = 16_384;

  private static DeviceRig rig(String fidelity) {
    return DeviceRig.of(Mode.TIME, "sip-2026", "cube.hbm.fidelity=" + fidelity);
  }

  private static List<Consumer<PePort>> pes(
      int n, java.util.function.IntFunction<Consumer<PePort>> f) {
    return IntStream.range(0, n).mapToObj(f).toList();
  }

  private static long loadPs(String fidelity, Pe from, int bytes) {
    try (DeviceRig rig = rig(fidelity)) {
      rig.run(p -> p.load(Region.of(rig.machine.addresses().hbm(from, 0), bytes)));
      return rig.row(0).ps();
    }
  }

  /** The slices of a cube are independent: eight PEs stream eight times as fast as one. */
  @ParameterizedTest
  @ValueSource(strings = {"flat", "banked"})
  void cube_allPesOnTheirSlices_addUp(String fidelity) {
    long[] alone = new long[1];
    try (DeviceRig rig = rig(fidelity)) {
      alone[0] = rig.run(p -> p.load(rig.hbm(0, 0, BYTES * 16))).criticalPs();
    }
    try (DeviceRig rig = rig(fidelity)) {
      Launch launch = rig.run(pes(8, i -> p -> p.load(rig.hbm(i, 0, BYTES * 16))));
      assertThat(launch.criticalPs()).isEqualTo(alone[0]);
    }
  }

  /** All 128 PEs of a package at once, each on its own slice: as fast as one. */
  @ParameterizedTest
  @ValueSource(strings = {"flat", "banked"})
  void package_allPesOnTheirSlices_addUp(String fidelity) {
    try (DeviceRig rig = rig(fidelity)) {
      Launch launch = rig.run(pes(128, i -> p -> p.load(rig.hbm(i, 0, BYTES))));
      assertThat(launch.criticalPs()).isEqualTo(1_000 + loadPs(fidelity, rig.pe(0), BYTES));
    }
  }

  /** The nearest slice at each distance is farther than the nearest of the distance before. */
  @ParameterizedTest
  @ValueSource(strings = {"flat", "banked"})
  void load_fartherAway_takesLonger(String fidelity) {
    Machine machine = rig(fidelity).machine;
    TreeMap<Integer, Long> nearest = new TreeMap<>();
    for (int i = 0; i < 6 * 128; i += i < 8 ? 1 : 11) {
      Pe place = machine.peAt(i);
      nearest.merge(distance(machine, place), loadPs(fidelity, place, 256), Math::min);
    }
    assertThat(nearest).hasSizeGreaterThan(10);
    assertThat(List.copyOf(nearest.values())).isSorted().doesNotHaveDuplicates();
  }

  /**
   * From PE 0 in the corner of package 0: routers in the cube, then cubes, then packages of the
   * torus, each counted straight.
   */
  private static int distance(Machine machine, Pe to) {
    int sip = to.sip() == 0 ? 0 : to.sip() % 3 == 0 || to.sip() < 3 ? 1 : 2;
    int cubes = to.cube() % 4 + to.cube() / 4;
    if (sip > 0) {
      return 1000 * sip;
    }
    if (cubes > 0) {
      return 100 * cubes;
    }
    int links = machine.route(machine.peNode(new Pe(0, 0, 0)), machine.hbmNode(to)).length();
    return links - 3; // PE to router, router to controller, port
  }

  /** The nearest of each farther kind of place is farther than the farthest that is nearer. */
  @ParameterizedTest
  @ValueSource(strings = {"flat", "banked"})
  void load_ownCubeOtherCubeOtherPackage_areInThatOrder(String fidelity) {
    long own = loadPs(fidelity, new Pe(0, 0, 0), BYTES);
    long cubeNearest = Long.MAX_VALUE;
    for (int pe = 1; pe < 8; pe++) {
      cubeNearest = Math.min(cubeNearest, loadPs(fidelity, new Pe(0, 0, pe), BYTES));
    }
    long nextCube = Long.MAX_VALUE;
    long farCube = 0;
    for (int pe = 0; pe < 8; pe++) {
      nextCube = Math.min(nextCube, loadPs(fidelity, new Pe(0, 1, pe), BYTES));
      farCube = Math.max(farCube, loadPs(fidelity, new Pe(0, 15, pe), BYTES));
    }
    long otherPackage = Long.MAX_VALUE;
    for (int sip = 1; sip < 6; sip++) {
      otherPackage = Math.min(otherPackage, loadPs(fidelity, new Pe(sip, 0, 0), BYTES));
    }
    assertThat(List.of(own, cubeNearest, nextCube, farCube, otherPackage)).isSorted();
    assertThat(own).isLessThan(cubeNearest);
    assertThat(farCube).isLessThan(otherPackage);
  }

  /** n PEs on one slice share it: together not faster than it is, and not much slower. */
  @ParameterizedTest
  @ValueSource(strings = {"flat", "banked"})
  void controller_sharedByPes_givesEachItsPart(String fidelity) {
    int bytes = 8 * BYTES;
    for (int n : new int[] {1, 2, 3, 8}) {
      try (DeviceRig rig = rig(fidelity)) {
        Launch launch = rig.run(pes(n, i -> p -> p.load(rig.hbm(0, (long) i * bytes, bytes))));
        double rate = n * (double) bytes / launch.criticalPs() * 1e12;
        double peak = rig.machine.hbm().rate().bytesPerSecond();
        long alone = loadPs(fidelity, rig.pe(0), 64);
        double expected = n * bytes / (alone / 1e12 + n * bytes / peak);
        double least = fidelity.equals("flat") ? 0.95 : 0.75; // streams meet in banks
        assertThat(rate).as("%d PEs", n).isBetween(least * expected, 1.02 * expected);
        List<Long> ends = rig.rows(OpKind.LOAD).stream().map(r -> r.endPs()).sorted().toList();
        if (n > 1) { // fair: the first is served until shortly before the last
          double first = ends.getFirst() - launch.startPs();
          assertThat(first).as("%d PEs", n).isGreaterThan(0.7 * launch.criticalPs());
        }
      }
    }
  }

  /** Stripes that follow each other use all channels; those at one channel's distance only one. */
  @ParameterizedTest
  @ValueSource(ints = {256, 2048})
  void channels_stridedAndEqualAddresses_serveEvenlyOrOneByOne(int stride) {
    try (DeviceRig rig = rig("banked")) {
      int rows = 512;
      rig.run(p -> p.load(new Region(rig.machine.addresses().hbm(p.pe(), 0), rows, 256, stride)));
      double ns = rig.row(0).ps() / 1e3 - 80;
      double perStripe = ns / rows;
      double channel = 256 / 32.0; // ns of a stripe on one channel
      assertThat(perStripe)
          .isEqualTo(stride == 256 ? channel / 8 : channel, within(0.15 * channel));
    }
  }

  /** Equal addresses from eight PEs: one row, one channel, one after the other. */
  @ParameterizedTest
  @ValueSource(ints = {2, 8})
  void channel_equalAddresses_serialise(int n) {
    try (DeviceRig rig = rig("banked")) {
      Launch launch = rig.run(pes(n, i -> p -> p.load(rig.hbm(0, 0, 256))));
      List<Long> ends = rig.rows(OpKind.LOAD).stream().map(r -> r.endPs()).sorted().toList();
      assertThat(ends.getLast() - ends.getFirst()).isGreaterThanOrEqualTo((n - 1) * 8_000L);
      assertThat(launch.criticalPs()).isPositive();
    }
  }

  /** Between any two kinds of place there is a way, and it takes time; so does a credit. */
  @ParameterizedTest
  @ValueSource(
      strings = {"sip-2026", "kb-compat", "tiny", "ring", "dgx-a100", "dgx-h100", "2x-dgx-h100"})
  void routes_allPairsOfPlaces_takeTime(String preset) {
    try (DeviceRig rig = DeviceRig.of(Mode.TIME, preset)) {
      Machine m = rig.machine;
      int last = m.peCount() - 1;
      List<Integer> nodes = new ArrayList<>(List.of(m.hostNode()));
      for (Pe pe : List.of(m.peAt(0), m.peAt(Math.min(1, last)), m.peAt(last))) {
        nodes.add(m.peNode(pe));
        nodes.add(m.hbmNode(pe));
        nodes.add(m.sramNode(pe.sip(), pe.cube()));
        nodes.add(m.mCpuNode(pe.sip(), pe.cube()));
      }
      for (int from : nodes) {
        for (int to : nodes) {
          if (from != to) {
            assertThat(m.route(from, to).latencyPs())
                .as("%s to %s", m.node(from).name(), m.node(to).name())
                .isPositive();
          }
        }
      }
      EnumSet<LinkKind> absent = EnumSet.of(LinkKind.SIP_TO_NIC, LinkKind.NIC); // but with nodes
      for (int link = 0; link < m.linkCount(); link++) {
        absent.remove(m.linkKind(link));
      }
      for (LinkKind kind : EnumSet.complementOf(absent)) {
        if (kind != LinkKind.HBM_PORT) { // a memory may answer at once: the way to it takes time
          assertThat(m.spec(kind).latencyPs()).as("%s of %s", kind, preset).isPositive();
        }
      }
    }
  }
}
