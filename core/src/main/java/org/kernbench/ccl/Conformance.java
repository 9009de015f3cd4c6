package org.kernbench.ccl;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Random;
import java.util.TreeSet;
import org.kernbench.device.DeadlockException;
import org.kernbench.device.Mode;
import org.kernbench.device.SimulationException;
import org.kernbench.machine.BufferKind;
import org.kernbench.machine.IpcqSpec;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.torch.CollectiveOp;
import org.kernbench.torch.RankLevel;
import org.kernbench.torch.ReduceKind;

/**
 * Does an algorithm do what it says, everywhere? Runs it over group sizes, shapes, vector lengths,
 * types, operations, sub-groups and slot memories, and checks every run ({@link CollectiveTrial}):
 * values, the same bits everywhere, bytes on the wire, time against the lower bound, no deadlock;
 * and the slots that it says it needs.
 *
 * <p>An algorithm may refuse a group by a {@link CollectiveException} with the reason. That is no
 * failure, but it is counted, and one that refuses everything does not pass.
 */
public final class Conformance {
  private static final ReduceKind[] KINDS = ReduceKind.values();
  private static final DType[] TYPES = {
    DType.F32,
    DType.F16,
    DType.BF16,
    DType.I32,
    DType.F64,
    DType.F8E4M3,
    DType.F8E5M2,
    DType.I8,
    DType.I64
  };

  /** How much is run. */
  public enum Extent {
    /** A few lengths of every group, types and so on drawn by the seed: a second or two. */
    FAST,
    /** Everything that is listed, 64 MiB in mode time included: minutes. */
    FULL
  }

  /**
   * What was found.
   *
   * @param algorithm its name
   * @param cases runs that were made and checked
   * @param refused groups and calls that the algorithm refused
   * @param refusals the first reasons, by group
   * @param failures what failed, each with all it takes to run it again; at most {@value #KEPT}
   * @param failed how many cases failed
   * @param worstForecast largest ratio of time to forecast, or forecast to time, of vectors of at
   *     least 2 KiB; 0 without forecasts
   * @param slots slot counts that were tried: enough ends, one less does not
   */
  public record Report(
      String algorithm,
      int cases,
      int refused,
      Map<String, String> refusals,
      List<String> failures,
      int failed,
      double worstForecast,
      int slots) {
    /** Whether something was run and nothing failed. */
    public boolean passes() {
      return cases > 0 && failed == 0;
    }
  }

  /** A machine and the ranks on it. */
  private record Place(String name, Machine machine, RankLevel level, List<Pe> leads) {}

  private static final int KEPT = 20;

  private static final int SHORT = 1000;
  private static final int LONG = 10_000;

  private final List<Place> places = places();

  /** The suite; its machines are made once, for any number of algorithms. */
  public Conformance() {}

  /**
   * Runs an algorithm through all of it.
   *
   * @param config what {@code ccl.yaml} says about the algorithm
   * @param seed of what is drawn in a {@link Extent#FAST} run
   */
  public Report run(
      CollectiveAlgorithm algorithm, AlgorithmConfig config, Extent extent, long seed) {
    return new Suite(algorithm, config, extent, seed).run(places);
  }

  /** One algorithm on its way through. */
  private static final class Suite {
    private final CollectiveAlgorithm algorithm;
    private final AlgorithmConfig config;
    private final Extent extent;
    private final Random random;
    private final Map<String, String> refusals = new LinkedHashMap<>();
    private final List<String> failures = new ArrayList<>();
    private int cases;
    private int refused;
    private int failed;
    private int slots;
    private double worstForecast;

    Suite(CollectiveAlgorithm algorithm, AlgorithmConfig config, Extent extent, long seed) {
      this.algorithm = algorithm;
      this.config = config;
      this.extent = extent;
      this.random = new Random(seed);
    }

    Report run(List<Place> places) {
      for (Place place : places) {
        place(place);
      }
      if (cases == 0) {
        everywhereOnce(places); // what was drawn was refused
      }
      slots();
      if (extent == Extent.FULL) {
        longVectors();
      }
      return new Report(
          config.name(), cases, refused, refusals, failures, failed, worstForecast, slots);
    }

    // ---- what is run in each place ----

    private static List<Long> lengths(int ranks) {
      // none at all and one element, around the number of ranks, odd, over several slots, 96 KiB
      long[] all = {1, ranks - 1L, ranks, ranks + 1L, 1013, 9001, 49_152};
      return new TreeSet<>(Arrays.stream(all).filter(n -> n > 0).boxed().toList())
          .stream().toList();
    }

    private void place(Place place) {
      Map<BufferKind, CollectiveTrial> trials = new EnumMap<>(BufferKind.class);
      for (CollectiveOp op : new TreeSet<>(algorithm.operations())) {
        List<Long> lengths = op == CollectiveOp.BARRIER ? List.of(0L) : lengths(place.leads.size());
        for (long length : lengths) {
          // Blocks of an all-to-all are even, and there is something in each.
          long elements = op == CollectiveOp.ALL_TO_ALL ? length * place.leads.size() : length;
          if (extent == Extent.FULL) {
            all(place, trials, op, elements);
          } else if (random.nextInt(lengths.size() * algorithm.operations().size() * 3 / 2) == 0) {
            one(place, trials, op, elements);
          }
        }
      }
    }

    private void all(
        Place place, Map<BufferKind, CollectiveTrial> trials, CollectiveOp op, long elements) {
      int[] roots = op.hasRoot() ? new int[] {0, place.leads.size() - 1} : new int[] {-1};
      for (int root : roots) {
        for (ReduceKind kind : op.reduces() ? KINDS : new ReduceKind[] {ReduceKind.SUM}) {
          for (DType type : TYPES) {
            if (!op.reduces() || meets(kind, type, elements)) {
              run(place, trials, BufferKind.TCM, question(op, kind, type, root, elements));
            }
          }
        }
        run(
            place,
            trials,
            BufferKind.SRAM,
            question(op, ReduceKind.SUM, DType.F16, root, elements));
        run(place, trials, BufferKind.HBM, question(op, ReduceKind.AVG, DType.F32, root, elements));
      }
    }

    /** Short vectors: every type with every reduction; long ones: every one of each. */
    private static boolean meets(ReduceKind kind, DType type, long elements) {
      if (elements <= SHORT) {
        return true;
      }
      return elements <= LONG
          ? kind == ReduceKind.SUM || type == DType.F16
          : kind.ordinal() == type.ordinal() % KINDS.length;
    }

    private void everywhereOnce(List<Place> places) {
      CollectiveOp op = new TreeSet<>(algorithm.operations()).first();
      for (Place place : places) {
        one(place, new EnumMap<>(BufferKind.class), op, 1013L * place.leads.size());
      }
    }

    private void one(
        Place place, Map<BufferKind, CollectiveTrial> trials, CollectiveOp op, long elements) {
      ReduceKind kind = op.reduces() ? KINDS[random.nextInt(KINDS.length)] : ReduceKind.SUM;
      DType type = TYPES[random.nextInt(TYPES.length)];
      BufferKind buffer = BufferKind.values()[random.nextInt(BufferKind.values().length)];
      int root = op.hasRoot() ? random.nextInt(place.leads.size()) : -1;
      run(place, trials, buffer, question(op, kind, type, root, elements));
    }

    private static CollectiveTrial.Question question(
        CollectiveOp op, ReduceKind kind, DType type, int root, long elements) {
      return new CollectiveTrial.Question(op, kind, type, root, elements);
    }

    private void run(
        Place place,
        Map<BufferKind, CollectiveTrial> trials,
        BufferKind kind,
        CollectiveTrial.Question question) {
      try {
        CollectiveTrial trial = trials.get(kind);
        if (trial == null) {
          trial =
              CollectiveTrial.of(
                  place.machine, algorithm, config.withBufferKind(kind), place.level, place.leads);
          trials.put(kind, trial);
        }
        CollectiveTrial planned = trial;
        check(
            place.name + ", " + question + ", slots in " + kind.name().toLowerCase(Locale.ROOT),
            place,
            question,
            () -> planned.run(question, Mode.FULL));
      } catch (CollectiveException e) {
        refuse(place.name, e);
      }
    }

    private interface Run {
      CollectiveTrial.Result result();
    }

    private void check(String what, Place place, CollectiveTrial.Question question, Run run) {
      try {
        CollectiveTrial.Result result = run.result();
        cases++;
        if (!result.problems().isEmpty()) {
          fail(what, String.join("; ", result.problems()));
        }
        if (result.predictedPs().isPresent()
            && result.ps() > 0
            && question.elements() * question.dtype().sizeBytes() >= 2048) {
          double ratio = result.predictedPs().getAsLong() / (double) result.ps();
          worstForecast = Math.max(worstForecast, Math.max(ratio, 1 / ratio));
        }
      } catch (CollectiveException e) {
        refuse(place.name + ": " + question.op().word(), e);
      } catch (SimulationException | IllegalStateException | IllegalArgumentException e) {
        cases++;
        fail(what, e instanceof DeadlockException ? "deadlock: " + e.getMessage() : "" + e);
      }
    }

    private void refuse(String where, CollectiveException e) {
      refused++;
      if (refusals.size() < KEPT) {
        refusals.putIfAbsent(where, String.valueOf(e.getMessage()));
      }
    }

    private void fail(String what, String why) {
      failed++;
      if (failures.size() < KEPT) {
        failures.add(what + ": " + why);
      }
    }

    // ---- 64 MiB ----

    private void longVectors() {
      List<Place> places = new ArrayList<>();
      for (String topology : List.of("ring_1d", "torus_2d", "mesh_2d_no_wrap")) {
        Machine machine = Machines.load("model-sips", List.of("system.sips.topology=" + topology));
        List<Pe> leads = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
          leads.add(new Pe(i, 0, 0));
        }
        places.add(some("six packages, " + topology, machine, RankLevel.SIP, leads));
      }
      Machine cubes = Machines.load("model-cubes", List.of());
      List<Pe> leads = new ArrayList<>();
      for (int i = 0; i < 16; i++) {
        leads.add(new Pe(0, i, 0));
      }
      places.add(some("sixteen cubes", cubes, RankLevel.CUBE, leads));
      for (Place place : places) {
        try {
          CollectiveTrial trial =
              CollectiveTrial.of(place.machine, algorithm, config, place.level, place.leads);
          for (CollectiveOp op : new TreeSet<>(algorithm.operations())) {
            if (op != CollectiveOp.BARRIER) {
              CollectiveTrial.Question question =
                  question(op, ReduceKind.SUM, DType.F32, op.hasRoot() ? 0 : -1, 16 << 20);
              check(
                  place.name + ", " + question,
                  place,
                  question,
                  () -> trial.run(question, Mode.TIME));
            }
          }
        } catch (CollectiveException e) {
          refuse(place.name, e);
        }
      }
    }

    // ---- slots ----

    /**
     * Where each command ends before the next is issued, the least slots end and one less does not.
     */
    private void slots() {
      for (int n = 2; n <= 7; n += extent == Extent.FULL ? 1 : 4) {
        Machine machine =
            Machines.load("ring", List.of("system.sips.count=" + n, RING, "pe.cpu.issue=serial"));
        List<Pe> leads = new ArrayList<>();
        for (int i = 0; i < n; i++) {
          leads.add(new Pe(i, 0, 0));
        }
        Place place = some("ring of " + n + ", serial issue", machine, RankLevel.SIP, leads);
        for (CollectiveOp op : new TreeSet<>(algorithm.operations())) {
          try {
            slots(place, op);
          } catch (CollectiveException e) {
            refuse(place.name, e);
          }
        }
      }
    }

    private void slots(Place place, CollectiveOp op) {
      CollectiveTrial trial =
          CollectiveTrial.of(place.machine, algorithm, config, place.level, place.leads);
      long elements = op == CollectiveOp.BARRIER ? 0 : 4096L * place.leads.size();
      CollectiveTrial.Question question =
          question(op, ReduceKind.SUM, DType.F32, op.hasRoot() ? 0 : -1, elements);
      OptionalInt least = trial.leastSlots(question);
      if (least.isEmpty()) {
        return;
      }
      int enough = least.getAsInt();
      for (int count = Math.max(1, enough - 1); count <= enough; count++) {
        slots++;
        boolean ends = ends(trial, question, place.machine.ipcq(), count);
        if (ends != (count == enough)) {
          fail(
              place.name + ", " + question,
              ends
                  ? "says that it needs " + enough + " slots, but ends with " + count
                  : "says that " + enough + " slots are enough, but deadlocks with " + count);
        }
      }
    }

    private boolean ends(
        CollectiveTrial trial, CollectiveTrial.Question question, IpcqSpec machine, int count) {
      try {
        trial.run(question, Mode.TIME, config.withSlots(count).queues(machine));
        return true;
      } catch (DeadlockException e) {
        return false;
      }
    }
  }

  // ---- places ----

  private static List<Place> places() {
    List<Place> places = new ArrayList<>();
    for (int n = 2; n <= 17; n++) {
      places.add(sips("ring of " + n, n, "ring_1d", "auto"));
    }
    places.add(sips("torus 3x2", 6, "torus_2d", "3"));
    places.add(sips("torus 2x3", 6, "torus_2d", "2"));
    places.add(sips("mesh 3x2", 6, "mesh_2d_no_wrap", "3"));
    places.add(sips("mesh 2x3", 6, "mesh_2d_no_wrap", "2"));
    places.add(sips("line of 6", 6, "mesh_2d_no_wrap", "6"));
    places.add(sips("torus 6x1", 6, "torus_2d", "6"));
    places.add(sips("torus 1x2", 2, "torus_2d", "1"));
    places.add(sips("torus 3x3", 9, "torus_2d", "3"));
    places.add(sips("six fully connected", 6, "fully_connected", "auto"));
    places.add(sips("six on a switch", 6, "switch", "auto"));
    for (int[] shape : new int[][] {{4, 4}, {3, 5}, {2, 2}, {1, 5}, {3, 2}}) {
      places.add(cubes(shape[0], shape[1]));
    }
    Machine cube = Machines.load("sip-2026", List.of("system.sips.count=1", RING));
    for (int n = 2; n <= 8; n++) {
      places.add(some(n + " PEs of a cube", cube, RankLevel.PE, pes(cube, n)));
    }
    Machine seven = sips("", 7, "ring_1d", "auto").machine;
    places.add(group("ranks 0 2 4 of a ring of 7", seven, 0, 2, 4));
    places.add(group("ranks 5 1 of a ring of 7", seven, 5, 1));
    places.add(group("ranks 6 3 2 0 of a ring of 7", seven, 6, 3, 2, 0));
    Machine torus = sips("", 6, "torus_2d", "3").machine;
    places.add(group("a column of torus 3x2", torus, 1, 4));
    places.add(group("a row of torus 3x2", torus, 3, 4, 5));
    Machine mesh = cubes(4, 4).machine;
    List<Pe> row = List.of(new Pe(0, 4, 0), new Pe(0, 5, 0), new Pe(0, 6, 0), new Pe(0, 7, 0));
    places.add(some("a row of 4x4 cubes", mesh, RankLevel.CUBE, row));
    List<Pe> corners =
        List.of(new Pe(0, 0, 0), new Pe(0, 3, 0), new Pe(0, 12, 0), new Pe(0, 15, 0));
    places.add(some("corners of 4x4 cubes", mesh, RankLevel.CUBE, corners));
    return places;
  }

  private static final String RING = "system.sips.topology=ring_1d";

  private static Place sips(String name, int n, String topology, String width) {
    List<String> set = new ArrayList<>();
    set.add("system.sips.count=" + n);
    set.add("system.sips.topology=" + topology);
    set.add("system.sips.w=" + width);
    Machine machine = Machines.load("ring", set);
    List<Pe> leads = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      leads.add(new Pe(i, 0, 0));
    }
    return some(name, machine, RankLevel.SIP, leads);
  }

  private static Place cubes(int width, int height) {
    Machine machine =
        Machines.load("tiny", List.of("sip.cube_mesh.w=" + width, "sip.cube_mesh.h=" + height));
    List<Pe> leads = new ArrayList<>();
    for (int i = 0; i < width * height; i++) {
      leads.add(new Pe(0, i, 0));
    }
    return some(width + "x" + height + " cubes", machine, RankLevel.CUBE, leads);
  }

  private static List<Pe> pes(Machine machine, int n) {
    List<Pe> pes = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      pes.add(machine.peAt(i));
    }
    return pes;
  }

  private static Place group(String name, Machine machine, int... sips) {
    return some(
        name, machine, RankLevel.SIP, Arrays.stream(sips).mapToObj(s -> new Pe(s, 0, 0)).toList());
  }

  private static Place some(String name, Machine machine, RankLevel level, List<Pe> leads) {
    return new Place(name, machine, level, List.copyOf(leads));
  }
}
