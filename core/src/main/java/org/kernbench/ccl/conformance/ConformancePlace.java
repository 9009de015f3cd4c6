package org.kernbench.ccl.conformance;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.torch.placement.RankLevel;

/**
 * A machine and the ranks on it.
 *
 * @param name for reports
 * @param leads by rank
 */
record ConformancePlace(String name, Machine machine, RankLevel level, List<Pe> leads) {
  private static final String RING = "system.sips.topology=ring_1d";

  /** Of a given machine, more are not run at once: values of all are compared. */
  private static final int MOST_RANKS = 1024;

  private static final String REDUCES = "system.sips.reduces=true";

  /** Copies the list. */
  ConformancePlace {
    leads = List.copyOf(leads);
  }

  int ranks() {
    return leads.size();
  }

  /** Where values, bits and bytes are checked: every number of ranks from 2 to 17, and shapes. */
  static List<ConformancePlace> all() {
    List<ConformancePlace> places = new ArrayList<>();
    for (int n = 2; n <= 17; n++) {
      // 16 neighbours of 8 slots would leave no room in TCM
      String slots = "ipcq.slots=" + (n < 17 ? 8 : 6);
      places.add(sips("ring of " + n, "ring", n, "ring_1d", "auto", slots));
    }
    places.add(sips("torus 3x2", "ring", 6, "torus_2d", "3"));
    places.add(sips("torus 2x3", "ring", 6, "torus_2d", "2"));
    places.add(sips("mesh 3x2", "ring", 6, "mesh_2d_no_wrap", "3"));
    places.add(sips("mesh 2x3", "ring", 6, "mesh_2d_no_wrap", "2"));
    places.add(sips("line of 6", "ring", 6, "mesh_2d_no_wrap", "6"));
    places.add(sips("torus 6x1", "ring", 6, "torus_2d", "6"));
    places.add(sips("torus 1x2", "ring", 2, "torus_2d", "1"));
    places.add(sips("torus 3x3", "ring", 9, "torus_2d", "3"));
    places.add(sips("six fully connected", "ring", 6, "fully_connected", "auto"));
    places.add(sips("six on a switch", "ring", 6, "switch", "auto"));
    for (int[] shape : new int[][] {{4, 4}, {3, 5}, {2, 2}, {1, 5}, {3, 2}}) {
      places.add(cubes(shape[0], shape[1]));
    }
    Machine cube = Machines.load("sip-2026", List.of("system.sips.count=1", RING));
    for (int n = 2; n <= 8; n++) {
      places.add(pes(cube, n));
    }
    Machine seven = sips("", "ring", 7, "ring_1d", "auto").machine();
    places.add(group("ranks 0 2 4 of a ring of 7", seven, 0, 2, 4));
    places.add(group("ranks 5 1 of a ring of 7", seven, 5, 1));
    places.add(group("ranks 6 3 2 0 of a ring of 7", seven, 6, 3, 2, 0));
    Machine torus = sips("", "ring", 6, "torus_2d", "3").machine();
    places.add(group("a column of torus 3x2", torus, 1, 4));
    places.add(group("a row of torus 3x2", torus, 3, 4, 5));
    Machine mesh = cubes(4, 4).machine();
    List<Pe> row = List.of(new Pe(0, 4, 0), new Pe(0, 5, 0), new Pe(0, 6, 0), new Pe(0, 7, 0));
    places.add(new ConformancePlace("a row of 4x4 cubes", mesh, RankLevel.CUBE, row));
    List<Pe> corners =
        List.of(new Pe(0, 0, 0), new Pe(0, 3, 0), new Pe(0, 12, 0), new Pe(0, 15, 0));
    places.add(new ConformancePlace("corners of 4x4 cubes", mesh, RankLevel.CUBE, corners));
    return places;
  }

  /**
   * Where algorithms are checked that need a switch that adds up: all its ports, some, in any
   * order.
   */
  static List<ConformancePlace> reducing() {
    List<ConformancePlace> places = new ArrayList<>();
    for (int n = 2; n <= 17; n++) {
      places.add(sips(n + " on a switch that reduces", "ring", n, "switch", "auto", REDUCES));
    }
    Machine seven = places.get(5).machine();
    places.add(group("ranks 0 2 4 of 7 on a switch that reduces", seven, 0, 2, 4));
    places.add(group("ranks 6 3 2 0 of 7 on a switch that reduces", seven, 6, 3, 2, 0));
    places.add(
        sips(
            "five on a switch that reduces at 0.85",
            "ring",
            5,
            "switch",
            "auto",
            REDUCES,
            "system.sips.reduction_efficiency=0.85"));
    return places;
  }

  /** Of these, where nothing takes time but what the closed forms count. */
  static List<ConformancePlace> reducingModel() {
    List<ConformancePlace> places = new ArrayList<>();
    for (int n = 2; n <= 9; n++) {
      String name = "model, " + n + " on a switch that reduces";
      places.add(sips(name, "model-sips", n, "switch", "auto", REDUCES));
    }
    return places;
  }

  /** Of these, where each PE ends a command before it issues the next. */
  static List<ConformancePlace> reducingSerial() {
    List<ConformancePlace> places = new ArrayList<>();
    for (int n : new int[] {2, 3, 6}) {
      places.add(
          sips(
              n + " on a switch that reduces",
              "ring",
              n,
              "switch",
              "auto",
              REDUCES,
              "pe.cpu.issue=serial"));
    }
    return places;
  }

  /**
   * Where nothing takes time but what the closed forms count: the machines of the cost model, with
   * every number of packages up to 9.
   */
  static List<ConformancePlace> model() {
    List<ConformancePlace> places = new ArrayList<>();
    for (int n = 2; n <= 9; n++) {
      places.add(sips("model ring of " + n, "model-sips", n, "ring_1d", "auto"));
    }
    places.add(sips("model torus 3x2", "model-sips", 6, "torus_2d", "3"));
    places.add(sips("model torus 3x3", "model-sips", 9, "torus_2d", "3"));
    places.add(sips("model mesh 3x2", "model-sips", 6, "mesh_2d_no_wrap", "3"));
    places.add(sips("model line of 5", "model-sips", 5, "mesh_2d_no_wrap", "5"));
    places.add(sips("model, six connected", "model-sips", 6, "fully_connected", "auto"));
    places.add(sips("model, six on a switch", "model-sips", 6, "switch", "auto"));
    places.add(modelCubes());
    return places;
  }

  private static ConformancePlace modelCubes() {
    Machine cubes = Machines.load("model-cubes", List.of());
    return new ConformancePlace("model 4x4 cubes", cubes, RankLevel.CUBE, cubes(16));
  }

  /** Where 64 MiB are sent. */
  static List<ConformancePlace> longVectors() {
    return List.of(
        sips("six packages, ring", "model-sips", 6, "ring_1d", "auto"),
        sips("six packages, torus", "model-sips", 6, "torus_2d", "3"),
        sips("six packages, mesh", "model-sips", 6, "mesh_2d_no_wrap", "3"),
        modelCubes());
  }

  /** Where each PE ends a command before it issues the next, so that slots can be too few. */
  static List<ConformancePlace> serial() {
    String serial = "pe.cpu.issue=serial";
    List<ConformancePlace> places = new ArrayList<>();
    for (int n : new int[] {2, 3, 4, 5, 6, 7, 9}) {
      places.add(sips("ring of " + n, "ring", n, "ring_1d", "auto", serial));
    }
    places.add(sips("torus 3x2", "ring", 6, "torus_2d", "3", serial));
    places.add(sips("torus 3x3", "ring", 9, "torus_2d", "3", serial));
    places.add(sips("mesh 3x2", "ring", 6, "mesh_2d_no_wrap", "3", serial));
    places.add(sips("six on a switch", "ring", 6, "switch", "auto", serial));
    places.add(cubes(2, 2, serial));
    places.add(cubes(3, 5, serial));
    return places;
  }

  /**
   * The groups of one machine: all its packages, those along each dimension of its network, three
   * out of order; the cubes of a package, the PEs of a cube.
   */
  static List<ConformancePlace> of(Machine machine) {
    List<ConformancePlace> places = new ArrayList<>();
    int sips = machine.sips();
    if (sips > MOST_RANKS) {
      String name = String.format(Locale.ROOT, "the first %,d packages of %,d", MOST_RANKS, sips);
      places.add(group(name, machine, IntStream.range(0, MOST_RANKS).toArray()));
    } else if (sips > 1) {
      places.add(group("all " + sips + " packages", machine, IntStream.range(0, sips).toArray()));
    }
    int stride = 1;
    for (int d = 0; d < machine.dimensions().size(); d++) {
      int size = machine.dimensions().get(d).size();
      int apart = stride;
      if (size > 1 && size < sips) {
        int[] along = IntStream.range(0, Math.min(size, MOST_RANKS)).map(k -> k * apart).toArray();
        places.add(group("packages along dimension " + d, machine, along));
      }
      stride *= size;
    }
    if (sips > 3) {
      int[] mixed = {sips - 1, 0, sips / 2};
      places.add(group("packages " + Arrays.toString(mixed), machine, mixed));
    }
    if (machine.cubesPerSip() > 1) {
      List<Pe> cubes = cubes(machine.cubesPerSip());
      places.add(new ConformancePlace("the cubes of a package", machine, RankLevel.CUBE, cubes));
    }
    if (machine.pesPerCube() > 1) {
      places.add(pes(machine, machine.pesPerCube()));
    }
    return places;
  }

  /** A ring of packages, not all of which need be ranks of it; and one alone. */
  static ConformancePlace alone() {
    return sips("one rank", "ring", 1, "ring_1d", "auto");
  }

  private static ConformancePlace sips(
      String name, String preset, int n, String topology, String width, String... more) {
    List<String> set = new ArrayList<>(List.of(more));
    set.add("system.sips.count=" + n);
    set.add("system.sips.topology=" + topology);
    set.add("system.sips.w=" + width);
    Machine machine = Machines.load(preset, set);
    List<Pe> leads = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      leads.add(new Pe(i, 0, 0));
    }
    return new ConformancePlace(name, machine, RankLevel.SIP, leads);
  }

  private static ConformancePlace cubes(int width, int height, String... more) {
    List<String> set = new ArrayList<>(List.of(more));
    set.add("sip.cube_mesh.w=" + width);
    set.add("sip.cube_mesh.h=" + height);
    Machine machine = Machines.load("tiny", set);
    String name = width + "x" + height + " cubes";
    return new ConformancePlace(name, machine, RankLevel.CUBE, cubes(width * height));
  }

  private static List<Pe> cubes(int n) {
    List<Pe> leads = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      leads.add(new Pe(0, i, 0));
    }
    return leads;
  }

  private static ConformancePlace pes(Machine machine, int n) {
    List<Pe> pes = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      pes.add(machine.peAt(i));
    }
    return new ConformancePlace(n + " PEs of a cube", machine, RankLevel.PE, pes);
  }

  private static ConformancePlace group(String name, Machine machine, int... sips) {
    List<Pe> leads = Arrays.stream(sips).mapToObj(s -> new Pe(s, 0, 0)).toList();
    return new ConformancePlace(name, machine, RankLevel.SIP, leads);
  }
}
