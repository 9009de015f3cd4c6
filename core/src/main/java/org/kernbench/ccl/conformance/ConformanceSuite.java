package org.kernbench.ccl.conformance;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Random;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.ccl.library.Auto;
import org.kernbench.ccl.library.SteadyForecast;
import org.kernbench.device.DeadlockException;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.SimulationException;
import org.kernbench.machine.spec.BufferKind;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;

/** One algorithm on its way through {@link Conformance}. */
final class ConformanceSuite {
  /** Failures and refusals that are reported. */
  static final int KEPT = 20;

  /** Factor within which forecasts must be where they do not claim to be exact. */
  static final double NEAR = 3;

  /** Share of the time by which an exact forecast may be off: a picosecond for each command. */
  private static final double EXACT = 5e-4;

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

  /** One type of each size. */
  private static final List<DType> SIZES = List.of(DType.F32, DType.F16, DType.I8, DType.I64);

  private static final int LONG = 40_000;
  private static final int LONGEST = 16 << 20; // 64 MiB of f32

  /** Of a given machine, ranks up to which 64 MiB are sent. */
  private static final int MOST_LONG = 64;

  /**
   * The machines and ranks, made once.
   *
   * @param given whether they are those of one machine, which an algorithm need not serve
   */
  record Places(
      List<ConformancePlace> all,
      List<ConformancePlace> model,
      List<ConformancePlace> serial,
      List<ConformancePlace> longVectors,
      boolean given) {
    static Places load() {
      return new Places(
          ConformancePlace.all(),
          ConformancePlace.model(),
          ConformancePlace.serial(),
          ConformancePlace.longVectors(),
          false);
    }

    /** The groups of one machine, which is none of the cost model. */
    static Places of(Machine machine) {
      List<ConformancePlace> all = ConformancePlace.of(machine);
      return new Places(
          all,
          List.of(),
          ConformancePlace.of(machine.with(List.of("pe.cpu.issue=serial"))),
          all.stream().filter(place -> place.ranks() <= MOST_LONG).limit(1).toList(),
          true);
    }

    /** For algorithms that refuse all of these: networks with a switch that adds up. */
    static Places reducing() {
      List<ConformancePlace> model = ConformancePlace.reducingModel();
      return new Places(
          ConformancePlace.reducing(),
          model,
          ConformancePlace.reducingSerial(),
          model.subList(4, 5),
          false);
    }
  }

  private final CollectiveAlgorithm algorithm;
  private final AlgorithmConfig config;
  private final boolean full;
  private final Random random;
  private Places places;
  private final List<CollectiveOp> operations;
  private final Map<String, String> refusals = new LinkedHashMap<>();
  private final List<String> failures = new ArrayList<>();
  private int cases;
  private int refused;
  private int failed;

  private int slotsCounted;
  private int leastSlots = Integer.MAX_VALUE;
  private int mostSlots;

  private int exactForecasts;
  private double worstExact;
  private int otherForecasts;
  private double worstOther;
  private int used;
  private int notUsed;
  private double worstElsewhere;
  private final Map<CollectiveTrial, SteadyForecast> steady = new IdentityHashMap<>();

  private double leastRatio = Double.POSITIVE_INFINITY;
  private double mostRatio;
  private double longRatio;

  ConformanceSuite(
      CollectiveAlgorithm algorithm,
      AlgorithmConfig config,
      Conformance.Extent extent,
      long seed,
      Places places) {
    this.algorithm = algorithm;
    this.config = config;
    this.full = extent == Conformance.Extent.FULL;
    this.random = new Random(seed);
    this.places = places;
    this.operations = List.copyOf(new TreeSet<>(algorithm.operations()));
  }

  Conformance.Report run() {
    places.all.forEach(this::values);
    if (cases == 0) {
      everywhereOnce(); // what was drawn was refused
      if (cases == 0 && places.given) {
        return report();
      }
      if (cases == 0) {
        places = Places.reducing();
        places.all.forEach(this::values);
      }
      if (cases == 0) {
        fail("every group", "refused, so nothing could be checked; serve at least one");
      }
    }
    nothingToMove();
    forecasts();
    slots();
    if (full) {
      longVectors();
    }
    return report();
  }

  private Conformance.Report report() {
    return new Conformance.Report(
        config.name(),
        cases,
        refused,
        refusals,
        failures,
        failed,
        new Conformance.Slots(slotsCounted, slotsCounted == 0 ? 0 : leastSlots, mostSlots),
        new Conformance.Forecasts(
            exactForecasts, worstExact, otherForecasts, worstOther, used, notUsed, worstElsewhere),
        new Conformance.Ratios(mostRatio == 0 ? 0 : leastRatio, mostRatio, longRatio));
  }

  // ---- values, bits, bytes ----

  private static List<Long> lengths(int ranks) {
    // one element, around the number of ranks, odd, over several slots, 96 KiB of f16
    long[] all = {1, ranks - 1L, ranks, ranks + 1L, 1013, 9001, 49_152};
    return List.copyOf(new TreeSet<>(Arrays.stream(all).filter(n -> n > 0).boxed().toList()));
  }

  private void values(ConformancePlace place) {
    Map<BufferKind, CollectiveTrial> trials = new EnumMap<>(BufferKind.class);
    for (CollectiveOp op : operations) {
      List<Long> lengths = op == CollectiveOp.BARRIER ? List.of(0L) : lengths(place.ranks());
      if (places.given && !full) { // few groups, so each has a case of each operation
        long length = lengths.get(random.nextInt(lengths.size()));
        one(place, trials, op, elements(op, length, place.ranks()));
        continue;
      }
      for (long length : lengths) {
        if (full) {
          all(place, trials, op, elements(op, length, place.ranks()));
        } else if (random.nextInt(lengths.size() * operations.size() * 3 / 2) == 0) {
          one(place, trials, op, elements(op, length, place.ranks()));
        }
      }
    }
  }

  /** Blocks of an all-to-all are even, and there is something in each. */
  private static long elements(CollectiveOp op, long length, int ranks) {
    return op == CollectiveOp.ALL_TO_ALL ? length * ranks : length;
  }

  private void all(
      ConformancePlace place,
      Map<BufferKind, CollectiveTrial> trials,
      CollectiveOp op,
      long elements) {
    int[] roots = op.hasRoot() ? new int[] {0, place.ranks() - 1} : new int[] {-1};
    for (int root : roots) {
      for (ReduceKind kind : op.reduces() ? KINDS : new ReduceKind[] {ReduceKind.SUM}) {
        for (DType type : TYPES) {
          if (meets(op, kind, type, elements, place.ranks())) {
            run(place, trials, BufferKind.TCM, question(op, kind, type, root, elements));
          }
        }
      }
      run(place, trials, BufferKind.SRAM, question(op, ReduceKind.SUM, DType.F16, root, elements));
      run(place, trials, BufferKind.HBM, question(op, ReduceKind.AVG, DType.F32, root, elements));
    }
  }

  /**
   * What moves where follows from the length and the size of an element; what is computed from the
   * type and the reduction. So every length meets every size, every type every reduction, and all
   * pairs of length and type, and of length and reduction, are there; but not all triples.
   */
  private static boolean meets(
      CollectiveOp op, ReduceKind kind, DType type, long elements, int ranks) {
    if (elements == elements(op, ranks + 1L, ranks)) {
      return true;
    }
    int number = Arrays.asList(TYPES).indexOf(type);
    boolean paired = !op.reduces() || kind.ordinal() == number % KINDS.length;
    return paired && (SIZES.contains(type) || (op.reduces() && elements < LONG));
  }

  private void everywhereOnce() {
    CollectiveOp op = operations.getFirst();
    for (ConformancePlace place : places.all) {
      one(place, new EnumMap<>(BufferKind.class), op, 1013L * place.ranks());
    }
  }

  private void one(
      ConformancePlace place,
      Map<BufferKind, CollectiveTrial> trials,
      CollectiveOp op,
      long elements) {
    ReduceKind kind = op.reduces() ? KINDS[random.nextInt(KINDS.length)] : ReduceKind.SUM;
    DType type = TYPES[random.nextInt(TYPES.length)];
    BufferKind buffer = BufferKind.values()[random.nextInt(BufferKind.values().length)];
    int root = op.hasRoot() ? random.nextInt(place.ranks()) : -1;
    run(place, trials, buffer, question(op, kind, type, root, elements));
  }

  private static CollectiveTrial.Question question(
      CollectiveOp op, ReduceKind kind, DType type, int root, long elements) {
    return new CollectiveTrial.Question(op, kind, type, root, elements);
  }

  private void run(
      ConformancePlace place,
      Map<BufferKind, CollectiveTrial> trials,
      BufferKind kind,
      CollectiveTrial.Question question) {
    CollectiveTrial trial = trials.get(kind);
    if (trial == null) {
      trial = planned(place, config.withBufferKind(kind));
      if (trial == null) {
        return;
      }
      trials.put(kind, trial);
    }
    CollectiveTrial planned = trial;
    String slots = ", slots in " + kind.name().toLowerCase(Locale.ROOT);
    CollectiveTrial.Result result =
        check(place, question, slots, () -> planned.run(question, Mode.FULL));
    if (result != null && result.predictedPs().isPresent() && result.ps() > 0) {
      elsewhere(place, question, slots, planned, result.ps());
    }
  }

  /** Off the machines of the cost model a forecast is near the time, or is not used. */
  private void elsewhere(
      ConformancePlace place,
      CollectiveTrial.Question question,
      String slots,
      CollectiveTrial trial,
      long ps) {
    if (SteadyForecast.isShort(question, place.ranks())) {
      return;
    }
    OptionalLong forecast =
        steady.computeIfAbsent(trial, SteadyForecast::new).ps(question, place.ranks());
    if (forecast.isEmpty()) {
      notUsed++;
      return;
    }
    used++;
    double ratio = forecast.getAsLong() / (double) ps;
    double factor = Math.max(ratio, 1 / ratio);
    worstElsewhere = Math.max(worstElsewhere, factor);
    if (factor > Auto.TRUSTED) {
      fail(
          place.name() + ", " + question + slots,
          """
          a forecast that is used is off by more than %s times: forecast %s ps, took %s ps\
          """
              .formatted(Auto.TRUSTED, forecast.getAsLong(), ps));
    }
  }

  private CollectiveTrial trial(ConformancePlace place, AlgorithmConfig own) {
    return CollectiveTrial.of(place.machine(), algorithm, own, place.level(), place.leads());
  }

  /** The algorithm bound to a place; null, and noted, if it refuses or fails. */
  private @Nullable CollectiveTrial planned(ConformancePlace place, AlgorithmConfig own) {
    List<CollectiveTrial> made = new ArrayList<>();
    judged(place, "", () -> made.add(trial(place, own)));
    return made.isEmpty() ? null : made.getFirst();
  }

  /** Does something and notes a refusal, or any other exception of the algorithm as a failure. */
  private void judged(ConformancePlace place, String more, Runnable body) {
    try {
      body.run();
    } catch (CollectiveException e) {
      refuse(place.name(), e);
    } catch (RuntimeException e) {
      cases++;
      fail(place.name() + more, reason(e));
    }
  }

  /** What an exception says; of an exception that has no words of ours also where it came from. */
  private static String reason(RuntimeException e) {
    return switch (e) {
      case DeadlockException deadlock -> "deadlock: " + deadlock.getMessage();
      case SimulationException told -> String.valueOf(told.getMessage());
      default -> e + place(e.getCause() == null ? e : e.getCause());
    };
  }

  private static String place(Throwable e) {
    return Arrays.stream(e.getStackTrace())
        .filter(frame -> !frame.getClassName().startsWith("java."))
        .findFirst()
        .map(frame -> " at " + frame.getFileName() + ":" + frame.getLineNumber())
        .orElse("");
  }

  /** Runs a case and notes what is wrong with it; null if there is no result. */
  private CollectiveTrial.@Nullable Result check(
      ConformancePlace place,
      CollectiveTrial.Question question,
      String more,
      Supplier<CollectiveTrial.Result> run) {
    String what = place.name() + ", " + question + more;
    try {
      CollectiveTrial.Result result = run.get();
      cases++;
      if (!result.problems().isEmpty()) {
        fail(what, String.join("; ", result.problems()));
      }
      if (result.bound().ps() > 0) {
        double ratio = result.ps() / (double) result.bound().ps();
        leastRatio = Math.min(leastRatio, ratio);
        mostRatio = Math.max(mostRatio, ratio);
      }
      return result;
    } catch (CollectiveException e) {
      refuse(place.name() + ": " + question.op().word(), e);
    } catch (RuntimeException e) {
      cases++;
      fail(what, reason(e));
    }
    return null;
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

  // ---- no elements, one rank ----

  private void nothingToMove() {
    IdleCalls calls = new IdleCalls(algorithm, config, this::fail);
    List<DType> types = full ? List.of(TYPES) : List.of(TYPES[random.nextInt(TYPES.length)]);
    judged(ConformancePlace.alone(), "", () -> calls.alone(types, 0, 1, 2, 1013));
    for (ConformancePlace place : some(places.all, 3)) {
      judged(place, ", no elements", () -> calls.ofNothing(place, types));
    }
    cases += calls.cases();
  }

  /** All of a list, or a few that are drawn. */
  private <T> List<T> some(List<T> all, int few) {
    if (full || all.size() <= few) {
      return all;
    }
    List<T> mixed = new ArrayList<>(all);
    Collections.shuffle(mixed, random);
    return mixed.subList(0, few);
  }

  // ---- forecasts ----

  /** Where the assumptions of the closed forms hold, forecasts that claim it are exact. */
  private void forecasts() {
    for (ConformancePlace place : some(places.model, 3)) {
      judged(place, "", () -> forecasts(place, trial(place, config)));
    }
  }

  private void forecasts(ConformancePlace place, CollectiveTrial trial) {
    for (CollectiveOp op : operations) {
      int p = place.ranks();
      List<Long> lengths = new ArrayList<>(List.of((long) p, 1013L, 2048L * p, 24_576L));
      if (full && op != CollectiveOp.ALL_TO_ALL) {
        lengths.add(1L << 18);
      }
      for (long length : some(lengths, 1)) {
        if (op != CollectiveOp.BARRIER) {
          int root = op.hasRoot() ? random.nextInt(p) : -1;
          long elements = elements(op, length, place.ranks());
          forecast(place, trial, question(op, ReduceKind.SUM, DType.F32, root, elements));
        }
      }
    }
  }

  private void forecast(
      ConformancePlace place, CollectiveTrial trial, CollectiveTrial.Question question) {
    CollectiveTrial.Result result =
        check(place, question, "", () -> trial.run(question, Mode.TIME));
    if (result == null || result.predictedPs().isEmpty()) {
      return;
    }
    long forecast = result.predictedPs().getAsLong();
    String numbers = ": forecast " + forecast + " ps, took " + result.ps() + " ps";
    String what = place.name() + ", " + question;
    if (trial.isForecastExact(question)) {
      double off = Math.abs(forecast - result.ps()) / (double) result.ps();
      exactForecasts++;
      worstExact = Math.max(worstExact, off);
      if (off > EXACT) {
        fail(what, "a forecast that claims to be exact is off" + numbers);
      }
    } else {
      double factor = factor(result);
      otherForecasts++;
      worstOther = Math.max(worstOther, factor);
      if (factor > NEAR) {
        fail(what, "a forecast is off by more than " + NEAR + " times" + numbers);
      }
    }
  }

  private static double factor(CollectiveTrial.Result result) {
    double ratio = result.predictedPs().orElse(0) / (double) result.ps();
    return Math.max(ratio, 1 / ratio);
  }

  // ---- 64 MiB ----

  private void longVectors() {
    for (ConformancePlace place : places.longVectors) {
      CollectiveTrial trial = planned(place, config);
      if (trial == null) {
        continue;
      }
      for (CollectiveOp op : operations) {
        if (op != CollectiveOp.BARRIER) {
          int root = op.hasRoot() ? 0 : -1;
          CollectiveTrial.Question question =
              question(op, ReduceKind.SUM, DType.F32, root, LONGEST);
          CollectiveTrial.Result result =
              check(place, question, "", () -> trial.run(question, Mode.TIME));
          if (result != null) {
            double ratio = result.ps() / (double) result.bound().ps();
            longRatio = longRatio == 0 ? ratio : Math.min(longRatio, ratio);
          }
        }
      }
    }
  }

  // ---- slots ----

  /**
   * Where each command ends before the next is issued, the least slots end and one less does not.
   */
  private void slots() {
    for (ConformancePlace place : some(places.serial, 2)) {
      int p = place.ranks();
      for (CollectiveOp op : operations) {
        List<Long> lengths =
            op == CollectiveOp.BARRIER ? List.of(0L) : List.of(1L, 1013L, 4096L * p, 100_000L);
        for (long length : some(lengths, 2)) {
          int root = op.hasRoot() ? p - 1 : -1;
          CollectiveTrial.Question question =
              question(op, ReduceKind.SUM, DType.F32, root, elements(op, length, p));
          judged(place, ", " + question, () -> slots(place, question));
        }
      }
    }
  }

  private void slots(ConformancePlace place, CollectiveTrial.Question question) {
    CollectiveTrial trial = trial(place, config);
    OptionalInt promised = trial.promisedSlots(question);
    OptionalInt followed = trial.leastSlots(question);
    if (followed.isEmpty() && promised.isEmpty()) {
      return; // it looks at data, or never ends, which its other runs will show
    }
    String what = place.name() + ", " + question;
    int enough = promised.isPresent() ? promised.getAsInt() : followed.orElseThrow();
    slotsCounted++;
    leastSlots = Math.min(leastSlots, enough);
    mostSlots = Math.max(mostSlots, enough);
    if (followed.isPresent() && followed.getAsInt() != enough) {
      fail(
          what, "says that it needs " + enough + " slots; its kernels need " + followed.getAsInt());
    }
    for (int count = Math.max(1, enough - 1); count <= enough; count++) {
      boolean ends = ends(place, trial, question, count);
      if (ends != (count == enough)) {
        fail(
            what,
            ends
                ? "says that it needs " + enough + " slots, but ends with " + count
                : "says that " + enough + " slots are enough, but deadlocks with " + count);
      }
    }
  }

  private boolean ends(
      ConformancePlace place, CollectiveTrial trial, CollectiveTrial.Question question, int count) {
    try {
      trial.run(question, Mode.TIME, config.withSlots(count).queues(place.machine().ipcq()));
      return true;
    } catch (DeadlockException e) {
      return false;
    }
  }
}
