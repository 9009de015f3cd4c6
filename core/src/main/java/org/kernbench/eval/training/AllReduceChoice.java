package org.kernbench.eval.training;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicReference;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.device.Mode;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.machine.CannotFoldException;
import org.kernbench.machine.Machine;
import org.kernbench.machine.SimulationException;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.nn.parallel.Dim;
import org.kernbench.nn.parallel.HyperCommGrid;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.RankGenerator;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;
import org.kernbench.torch.placement.Spread;

/**
 * How all-reduces of a training step go: by the algorithm that the user names; or by the quickest
 * of those that share out long vectors, each simulated on all PEs of all ranks at once in the
 * groups of the layout. What one PE's part would take on an idle machine says little, because all
 * of a package's PEs send through the same links (ADR 0235).
 */
final class AllReduceChoice {
  private static final String AUTO = "auto";
  private static final String BY_LEVEL = "by_level";
  private static final String RING = "ring";
  private static final String BY_DIMENSION = "by_dimension";

  static final Param<String> PARAM =
      Param.word(
          "algorithm",
          BY_LEVEL,
          "by_level, auto, or a name in ccl.yaml",
          """
          how all-reduces go, also sums of gradients; by_level: the quickest of those simulated if \
          ranks are packages, else ring\
          """);

  /** Of equally quick ones the first is taken. */
  private static final List<String> TRIED =
      List.of(
          RING,
          "ring_bidirectional",
          "torus_both_orders",
          "packed_trees",
          "two_shot",
          BY_DIMENSION,
          "in_switch");

  /** Those of them in which ranks do alike. */
  private static final List<String> ALIKE = List.of(RING, BY_DIMENSION);

  /** What is simulated of a sum at most, in bytes and in chunks of the fabric. */
  private static final long MOST_BYTES = 16 << 20;

  private static final long MOST_CHUNKS = 8192;
  private static final int ROW_BYTES = 4096;

  /**
   * The sums of a step that are worth a choice.
   *
   * @param tp ranks that sum activations
   * @param replicas ranks that sum gradients: those that differ in {@code cp} and {@code dp}
   * @param pp stages, each of which sums by itself
   * @param gradientBytes of a large sum of gradients
   * @param activationBytes of a sum of activations; 0 if there are none
   */
  record Sums(int tp, int replicas, int pp, long gradientBytes, long activationBytes) {
    private int ranks() {
      return tp * replicas * pp;
    }

    private boolean ofActivations() {
      return tp > 1 && activationBytes > 0;
    }

    private boolean isEmpty() {
      return replicas == 1 && !ofActivations();
    }
  }

  private final BenchContext context;
  private final Machine machine;
  private final RankLevel level;
  private final int worldSize;
  private final Sums sums;
  private final String asked;
  private final boolean folds;
  private final Map<Spread, String> chosen = new EnumMap<>(Spread.class);
  private final Map<Spread, Tried> tried = new EnumMap<>(Spread.class);

  /** What came of a trial, for people. */
  private record Tried(String quickest, String times) {}

  /**
   * A choice for ranks of some level.
   *
   * @param worldSize ranks of the run, at least those that sum
   * @param folds whether one package can stand for all: then algorithms are tried in which ranks do
   *     alike, and of each one package
   */
  AllReduceChoice(
      BenchContext context,
      Machine machine,
      RankLevel level,
      int worldSize,
      Sums sums,
      boolean folds) {
    this.context = context;
    this.folds = folds;
    this.machine = machine;
    this.level = level;
    this.worldSize = worldSize;
    this.sums = sums;
    this.asked = context.param(PARAM);
  }

  /**
   * What the user named, or one that needs no choice: to compare other things that are to be chosen
   * as well.
   */
  CclConfig untried() {
    return ccl(tries() ? first() : asked, worldSize);
  }

  /** What goes without a choice. */
  private String first() {
    return folds ? BY_DIMENSION : RING;
  }

  /** Collectives of ranks that compute on some of their PEs. */
  CclConfig ccl(Spread spread) {
    return ccl(chosen.computeIfAbsent(spread, this::choose), worldSize);
  }

  /** The collectives of one rank, which has none to speak of. */
  CclConfig ofOneRank() {
    return ccl(tries() ? RING : asked, 1);
  }

  /** Says what was chosen, and among what. */
  void report(Outcome outcome, Spread spread) {
    Tried text = tried.get(spread);
    if (text != null) {
      outcome.condition("all_reduce", text.quickest).condition("all_reduce_tried", text.times);
    }
  }

  /** What to change in a configuration, so that all-reduces go by an algorithm. */
  static List<String> overrides(String name, RankLevel level, int ranks) {
    return List.of(
        "defaults.algorithm=" + name,
        "algorithms." + name + ".rank_level=" + Param.word(level),
        "algorithms." + name + ".world_size=" + ranks);
  }

  private CclConfig ccl(String name, int ranks) {
    return context.cclWith(overrides(name, level, ranks));
  }

  /** Calls of single PEs are for the library's own choice, which has forecasts for them. */
  private boolean tries() {
    return asked.equals(BY_LEVEL) || (asked.equals(AUTO) && level != RankLevel.PE);
  }

  private String choose(Spread spread) {
    if (!tries()) {
      return asked;
    }
    if (sums.isEmpty() || (asked.equals(BY_LEVEL) && level != RankLevel.SIP)) {
      return first();
    }
    Optional<String> alike = folds ? quickest(true, spread) : Optional.empty();
    return alike.or(() -> quickest(false, spread)).orElse(RING);
  }

  /** The quickest of those that can be tried. */
  private Optional<String> quickest(boolean folded, Spread spread) {
    Optional<String> best = Optional.empty();
    long least = Long.MAX_VALUE;
    List<String> all = new ArrayList<>();
    for (String name : folded ? ALIKE : TRIED) {
      OptionalLong ps = timePs(folded, name, spread);
      if (ps.isPresent()) {
        all.add(String.format(Locale.ROOT, "%s %.3f us", name, ps.getAsLong() / 1e6));
        if (ps.getAsLong() < least) {
          least = ps.getAsLong();
          best = Optional.of(name);
        }
      }
    }
    best.ifPresent(name -> tried.put(spread, new Tried(name, String.join(", ", all))));
    return best;
  }

  /**
   * How long the sums take, one after the other; empty if the algorithm is for no group of them.
   */
  private OptionalLong timePs(boolean folded, String name, Spread spread) {
    AtomicReference<OptionalLong> found = new AtomicReference<>(OptionalLong.empty());
    try {
      TwoModuleStep.run(
          folded,
          machine,
          ccl(name, sums.ranks()),
          TorchOptions.DEFAULT.withMode(Mode.TIME).withSpread(spread),
          sums.ranks(),
          () -> this::sum,
          torch -> {
            if (torch.distributed().history().stream().anyMatch(c -> c.algorithm().equals(name))) {
              found.set(OptionalLong.of(torch.simulator().nowPs()));
            }
          });
    } catch (CollectiveException | SimulationException | CannotFoldException e) {
      return OptionalLong.empty(); // not on this machine, in these groups, or with these slots
    }
    return found.get();
  }

  private void sum(Worker worker) {
    RankGenerator ranks =
        new RankGenerator(
            List.of(Dim.TP, Dim.CP, Dim.DP, Dim.PP), sums.tp, 1, sums.replicas, sums.pp);
    HyperCommGrid grid = new HyperCommGrid(worker.distributed(), ranks.grid());
    ParallelLayout layout = ParallelLayout.of(grid, false);
    if (sums.replicas > 1) {
      allReduce(worker, layout.dpCp(), sums.gradientBytes);
    }
    if (sums.ofActivations()) {
      allReduce(worker, layout.tp(), sums.activationBytes);
    }
  }

  private void allReduce(Worker worker, ProcessGroup group, long bytes) {
    long most = Math.min(MOST_BYTES, MOST_CHUNKS * machine.fabric().chunkBytes());
    int rows = Math.toIntExact(Math.max(1, Math.min(bytes, most) / ROW_BYTES));
    int columns = ROW_BYTES / DType.F32.sizeBytes();
    Torch torch = worker.torch();
    Shape shape =
        folds // as buckets of gradients are
            ? Shape.of(
                Math.toIntExact(
                    DataParallel.filledUp(
                        (long) rows * columns, (long) group.size() * Compute.pes(torch))))
            : Shape.of(rows, columns);
    group.allReduce(Compute.spread(torch, "sum", shape, DType.F32), ReduceKind.SUM);
  }
}
