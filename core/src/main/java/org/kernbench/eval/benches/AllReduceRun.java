package org.kernbench.eval.benches;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.kernbench.ccl.FoldedCall;
import org.kernbench.ccl.bounds.Bounds;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.config.UsageException;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.QueueSet;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.simulator.Simulator;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.eval.Folding;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.ValueCheck;
import org.kernbench.eval.output.Digest;
import org.kernbench.eval.output.Numbers;
import org.kernbench.machine.CannotFoldException;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.machine.spec.OperationClass;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;
import org.kernbench.torch.collective.CollectiveBackend;
import org.kernbench.torch.collective.CollectiveRun;
import org.kernbench.torch.collective.Communicator;
import org.kernbench.torch.placement.RankLevel;

/**
 * One all-reduce through the public path: {@code initProcessGroup}, {@code spawn}, {@code
 * allReduce}, with the values of every rank compared with sums in f64.
 *
 * @param machine what it runs on
 * @param elements of each rank's tensor, at least 1
 * @param dtype of the elements
 * @param pattern what the ranks hold before
 * @param mode what is computed
 * @param recording how much is recorded
 * @param folding whether one package may stand for all in mode {@code time}
 */
public record AllReduceRun(
    Machine machine,
    int elements,
    DType dtype,
    Pattern pattern,
    Mode mode,
    SimulatorOptions recording,
    Folding folding) {

  /** One that simulates every package. */
  public AllReduceRun(
      Machine machine,
      int elements,
      DType dtype,
      Pattern pattern,
      Mode mode,
      SimulatorOptions recording) {
    this(machine, elements, dtype, pattern, mode, recording, Folding.OFF);
  }

  /** Remembers what the process group was connected to. */
  private static final class Observed implements CollectiveBackend {
    private final CollectiveBackend backend;
    private List<Pe> leads = List.of();

    Observed(CollectiveBackend backend) {
      this.backend = backend;
    }

    @Override
    public String name() {
      return backend.name();
    }

    @Override
    public RankLevel rankLevel() {
      return backend.rankLevel();
    }

    @Override
    public int worldSize() {
      return backend.worldSize();
    }

    @Override
    public Communicator connect(List<Pe> leadPes) {
      leads = leadPes;
      return backend.connect(leadPes);
    }
  }

  /**
   * Runs it.
   *
   * @param collectives algorithm and queues
   * @throws UsageException if there is only one rank, or the sums do not fit the dtype
   */
  public Outcome run(CollectiveBackend collectives) {
    int ranks = collectives.worldSize();
    checkRanks(collectives);
    checkRange(ranks);
    Outcome outcome = Outcome.on(machine);
    if (mode == Mode.TIME && wantsFolding() && folded(outcome, collectives)) {
      return outcome;
    }
    forecastEnd(collectives);
    Observed backend = new Observed(collectives);
    try (Torch torch =
        Torch.open(machine, new TorchOptions(mode, recording, Optional.of(backend)))) {
      connect(torch, backend);
      Results results = new Results(ranks);
      torch.multiprocessing().spawn(results::body, ranks);
      report(outcome, torch, backend, results);
    }
    return outcome;
  }

  /** Who looks at a long run wants to know when it ends. */
  private void forecastEnd(CollectiveBackend collectives) {
    if (mode != Mode.VALUES && collectives instanceof CollectiveLibrary library) {
      recording
          .shown()
          .ifPresent(w -> w.expects(() -> library.ofAllRanks().forecastPs(dtype, elements)));
    }
  }

  /** Unless told to, runs that keep rows keep those of every package, and explain them. */
  private boolean wantsFolding() {
    return folding == Folding.ON || (folding == Folding.AUTO && recording.opLogLimit() == 0);
  }

  /**
   * Runs one package for all.
   *
   * @return false if that is not exact, and every package may be run
   * @throws UsageException if it is not, and folding was asked for
   */
  private boolean folded(Outcome outcome, CollectiveBackend collectives) {
    try {
      if (!(collectives instanceof CollectiveLibrary library)) {
        throw new CannotFoldException("the collectives are not those of kernbench");
      }
      CollectiveLibrary.OfGroup bound = library.ofAllRanks();
      try (FoldedCall call =
          FoldedCall.allReduce(
              bound.group(), bound.schedule(), bound.queues(), dtype, elements, recording)) {
        conditions(outcome, bound.algorithm(), library, bound.queues());
        outcome.folded(call.note());
        Simulator simulator = call.simulator();
        OpLog log = simulator.opLog();
        outcome.simulated(
            simulator.eventCount(), log.isHashOfAll() ? log.hash() : log.hash() + " of package 0");
        List<Pe> leads = bound.group().leads();
        reportTime(outcome, simulator, call.launch(), call.queues(), leads, bound.queues());
      }
      return true;
    } catch (CannotFoldException e) {
      if (folding == Folding.ON) {
        throw new UsageException("cannot fold: " + e.getMessage());
      }
      outcome.condition("fold", "no: " + e.getMessage());
      return false;
    }
  }

  /** Queues that do not fit the machine are an error of the configuration, not of the program. */
  private static void connect(Torch torch, Observed backend) {
    try {
      torch.distributed().initProcessGroup(backend.name());
    } catch (SimulationException e) {
      throw new UsageException(String.valueOf(e.getMessage()));
    }
  }

  /** The bodies of the ranks and what they found. */
  private final class Results {
    private final ValueCheck.Comparison comparison;
    private final double[] sums;
    private final Digest digest = new Digest();
    private double[] first = {};
    private int differing = -1;

    Results(int ranks) {
      boolean values = mode != Mode.TIME;
      this.comparison = new ValueCheck.Comparison(allowed(ranks));
      this.sums = values ? pattern.sums(ranks, elements, dtype) : new double[0];
    }

    void body(Worker worker) {
      int rank = worker.rank();
      Tensor x = input(worker, rank, worker.worldSize());
      worker.distributed().allReduce(x);
      if (mode != Mode.TIME) {
        look(rank, x.toDoubles());
      }
      x.close();
    }

    private Tensor input(Worker worker, int rank, int ranks) {
      Shape shape = Shape.of(elements);
      if (mode == Mode.TIME) {
        return worker.torch().empty(shape, dtype, "x");
      }
      return pattern == Pattern.RANK
          ? worker.torch().full(shape, dtype, pattern.at(rank, 0, ranks), "x")
          : worker.torch().from(pattern.values(rank, elements, ranks, dtype), shape, dtype, "x");
    }

    private void look(int rank, double[] values) {
      comparison.add(rank, values, (r, i) -> sums[i]);
      digest.add(values);
      if (rank == 0) {
        first = values;
      } else if (differing < 0 && !Arrays.equals(first, values)) {
        differing = rank;
      }
    }
  }

  /** Beyond the numbers that the dtype holds exactly, each addition rounds by at most u. */
  private double allowed(int ranks) {
    return pattern.isExact(dtype, ranks)
        ? 0
        : ranks * dtype.unitRoundoff() * pattern.largestSum(ranks);
  }

  /** Nothing moves in a group of one: there would be no time to report. */
  private void checkRanks(CollectiveBackend collectives) {
    if (collectives.worldSize() == 1) {
      throw new UsageException(
          """
          one rank only, of level %s on machine %s, so there is nothing to reduce; use a \
          finer rank_level, a larger world_size (--ccl-set \
          algorithms.NAME.rank_level=pe), or a larger machine\
          """
              .formatted(collectives.rankLevel().name().toLowerCase(Locale.ROOT), machine.name()));
    }
  }

  private void checkRange(int ranks) {
    double largest = pattern.largestSum(ranks);
    double limit = dtype.maxFinite();
    if (largest > limit) {
      String smaller =
          "smaller values (--param pattern=%s), "
              .formatted(pattern == Pattern.RANK ? "mixed" : "sparse");
      throw new UsageException(
          String.format(
              Locale.ROOT,
              """
              the sums of %d ranks reach %.0f, beyond the largest %s, %.0f; use a wider dtype \
              (e.g. --param dtype=f32), %sor fewer ranks (world_size)\
              """,
              ranks,
              largest,
              dtype.code(),
              limit,
              smaller));
    }
  }

  // ---- what came out ----

  private void report(Outcome outcome, Torch torch, Observed backend, Results results) {
    CollectiveRun run = torch.distributed().history().getLast();
    IpcqSpec ipcq = run.queues().spec();
    conditions(outcome, run.algorithm(), backend, ipcq);
    if (backend.backend instanceof CollectiveLibrary library) {
      outcome.choices(library.choices());
    }
    OpLog log = torch.simulator().opLog();
    outcome.simulated(torch.simulator().eventCount(), mode == Mode.VALUES ? "" : log.hash());
    if (mode != Mode.TIME) {
      outcome.values(results.comparison.result(), results.digest.text());
      if (results.differing >= 0) {
        outcome.problem(
            "ranks 0 and %s hold different results; expected the same bits on all"
                .formatted(results.differing));
      }
    }
    if (mode != Mode.VALUES) {
      reportTime(outcome, torch.simulator(), run.launch(), run.queueSet(), backend.leads, ipcq);
    }
  }

  private long bytes() {
    return (long) elements * dtype.sizeBytes();
  }

  private void conditions(
      Outcome outcome, String algorithm, CollectiveBackend backend, IpcqSpec ipcq) {
    outcome
        .condition("algorithm", algorithm)
        .condition("ranks", backend.worldSize())
        .condition("rank_level", backend.rankLevel().name().toLowerCase(Locale.ROOT))
        .condition("pattern", pattern.word())
        .condition("n_elem", elements)
        .condition("bytes", bytes())
        .condition("buffer_kind", ipcq.bufferKind().name().toLowerCase(Locale.ROOT))
        .condition("slots", ipcq.slots())
        .condition("slot_size", ipcq.slotBytes());
  }

  private void reportTime(
      Outcome outcome,
      Simulator simulator,
      Launch launch,
      QueueSet queues,
      List<Pe> leads,
      IpcqSpec ipcq) {
    int ranks = leads.size();
    Bounds.Bound bound = Bounds.allReduce(machine, leads, bytes());
    outcome.time(launch.criticalPs(), bound.ps(), bound.kind()).kind(OperationClass.COLLECTIVE);
    double ns = launch.criticalPs() / 1e3;
    if (ns > 0) {
      outcome.metric("algbw_gb_per_s", Numbers.rounded(bytes() / ns));
      outcome.metric("busbw_gb_per_s", Numbers.rounded(bytes() / ns * 2 * (ranks - 1) / ranks));
    }
    long wayPs = launch.startPs() - launch.enqueuedPs();
    outcome.launchWay(wayPs).metric("launch_ns", Numbers.ns(wayPs));
    outcome.metric("peak_slots", simulator.peakSlots(queues));
    outcome.explained(simulator.opLog(), launch, ipcq);
  }
}
