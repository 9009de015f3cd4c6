package org.kernbench.eval.training;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import org.kernbench.config.UsageException;
import org.kernbench.eval.training.TrainingBench.Scope;
import org.kernbench.eval.training.TrainingBench.Setup;
import org.kernbench.machine.Machine;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.layers.TransformerConfig.Style;
import org.kernbench.nn.optim.Zero;
import org.kernbench.nn.pipeline.LayerSplit;
import org.kernbench.tensor.DType;
import org.kernbench.torch.placement.RankLevel;
import org.kernbench.torch.placement.Spread;

/**
 * What a training step needs of a rank's memory at least, known before it runs: weights, gradients,
 * the optimizer's tensors, and of activations the inputs of blocks alone. What does not even fit so
 * is refused, with the layouts nearest to it that may.
 */
final class LayoutFit {
  private static final int SHOWN = 3;

  private final Setup setup;
  private final Machine machine;
  private final RankLevel level;
  private final Spread spread;

  /**
   * Bytes that a rank holds at least.
   *
   * @param optimizer master copies and moments
   */
  record Need(long weights, long gradients, long optimizer, long activations) {
    long all() {
      return weights + gradients + optimizer + activations;
    }
  }

  LayoutFit(Setup setup, Machine machine, RankLevel level, Spread spread) {
    this.setup = setup;
    this.machine = machine;
    this.level = level;
    this.spread = spread;
  }

  /**
   * Refuses a layout that cannot fit.
   *
   * @throws UsageException with what it needs, what there is, and layouts that may fit
   */
  void check() {
    if (setup.scope() != Scope.STEP) {
      return;
    }
    Need need = need(setup.tp(), setup.pipe().pp());
    if (need.all() <= capacity()) {
      return;
    }
    List<String> others = nearest();
    throw new UsageException(
        """
        layout %s needs at least %s of each rank (weights %s, gradients %s, optimizer %s, inputs \
        of blocks %s); a %s has %s; %s\
        """
            .formatted(
                name(setup.tp(), setup.pipe().pp()),
                shown(need.all()),
                shown(need.weights),
                shown(need.gradients),
                shown(need.optimizer),
                shown(need.activations),
                level.name().toLowerCase(Locale.ROOT),
                shown(capacity()),
                others.isEmpty()
                    ? "no layout of this machine fits: take fewer layers, a larger rank_level, or a"
                        + " machine with more packages"
                    : "expected one that fits, e.g. " + String.join("; ", others)));
  }

  /** Memory of the PEs that a rank computes on. */
  long capacity() {
    int cubes = level == RankLevel.SIP && spread == Spread.ALL ? machine.cubesPerSip() : 1;
    int pes = level == RankLevel.PE || spread == Spread.LEAD ? 1 : machine.pesPerCube();
    return machine.hbm().sizeBytes() * cubes * pes;
  }

  /** The need of the fullest stage. */
  Need need(int tp, int pp) {
    boolean asked = pp == setup.pipe().pp();
    int parts = asked ? parts() : pp;
    LayerSplit split =
        asked && setup.pipe().split().isPresent()
            ? setup.pipe().split().get()
            : LayerSplit.even(setup.config().layers(), parts);
    Need most = new Need(0, 0, 0, 0);
    for (int rank = 0; rank < pp; rank++) {
      long elements = 0;
      long inputs = 0;
      for (int part : partsOf(rank, pp, parts)) {
        int blocks = split.blocks().get(part);
        elements += elements(blocks, part == 0, part == parts - 1, tp);
        inputs += (long) blocks * held(rank, pp, parts);
      }
      Need need = need(elements, inputs, tp);
      most = need.all() > most.all() ? need : most;
    }
    return most;
  }

  private int parts() {
    return setup.pipe().schedule().map(s -> s.depth()).orElse(1);
  }

  private List<Integer> partsOf(int rank, int pp, int parts) {
    return pp == setup.pipe().pp() && setup.pipe().schedule().isPresent()
        ? setup.pipe().schedule().get().stagesOf(rank).stream()
            .map(s -> setup.pipe().schedule().get().part(s))
            .toList()
        : List.of(Math.min(rank, parts - 1));
  }

  /** Microbatches of a stage that are held at once, on average over a rank's stages, at least. */
  private int held(int rank, int pp, int parts) {
    if (pp == setup.pipe().pp() && setup.pipe().schedule().isPresent()) {
      int stages = setup.pipe().schedule().get().stagesOf(rank).size();
      return Math.max(1, setup.pipe().schedule().get().held(rank) / Math.max(1, stages));
    }
    return Math.min(setup.pipe().microbatches(), Math.max(1, parts - rank));
  }

  private Need need(long elements, long blockInputs, int tp) {
    DType type = setup.dtype();
    long grad = type == DType.F64 ? 8 : 4;
    long master = type == DType.F64 || type == DType.F32 ? 0 : 4;
    long states = elements * (master + 2 * grad);
    long ranks = (long) setup.dp() * setup.cp();
    long batch = setup.batch() / setup.dp() / setup.pipe().microbatches();
    long rows = (long) setup.tokens() / setup.cp() / (setup.sp() ? tp : 1) * batch;
    long activations = rows * setup.config().hidden() * type.sizeBytes() * blockInputs;
    Zero zero = setup.data().zero();
    return new Need(
        elements * type.sizeBytes() / (zero == Zero.PARAMETERS ? ranks : 1),
        elements * grad / (zero == Zero.PARAMETERS || zero == Zero.GRADIENTS ? ranks : 1),
        zero == Zero.NONE ? states : states / ranks,
        activations);
  }

  /** Elements of matrices and tables; vectors are left out. */
  private long elements(int blocks, boolean first, boolean last, int tp) {
    TransformerConfig c = setup.config();
    long table = (long) c.vocabulary() * c.hidden();
    long ends = first && last && setup.pipe().tied() ? 1 : (first ? 1 : 0) + (last ? 1 : 0);
    return (blocks * block(c) + ends * table) / tp + blocks * ofExperts();
  }

  /** Elements of the experts of a block that a rank has. */
  private long ofExperts() {
    long ranks = (long) setup.experts().ep() * setup.experts().etp();
    return setup
        .config()
        .experts()
        .map(e -> 3L * setup.config().hidden() * e.ffn() * e.experts() / ranks)
        .orElse(0L);
  }

  /** Elements of the matrices of a block, experts left out. */
  static long block(TransformerConfig c) {
    long projections = c.attentionElements();
    long mlp =
        c.experts()
            .map(e -> (long) e.experts() * c.hidden()) // the router
            .orElse((c.style() == Style.LLAMA ? 3L : 2L) * c.hidden() * c.ffn());
    return projections + mlp;
  }

  /** Layouts with other tp and pp that fit the machine, the nearest first. */
  private List<String> nearest() {
    int devices = level.devices(machine);
    TransformerConfig c = setup.config();
    record Other(int tp, int pp, double distance) {}
    List<Other> all = new ArrayList<>();
    for (int tp = 1; tp <= devices; tp++) {
      boolean divides =
          c.heads() % tp == 0
              && c.keyHeads() % tp == 0
              && (c.experts().isPresent() || c.ffn() % tp == 0)
              && c.vocabulary() % tp == 0
              && (!setup.sp() || setup.tokens() / setup.cp() % tp == 0);
      for (int pp = 1; divides && pp <= c.layers(); pp++) {
        long ranks = (long) tp * pp * setup.cp() * setup.dp();
        boolean divided =
            tp * setup.cp() * setup.dp() % (setup.experts().ep() * setup.experts().etp()) == 0;
        boolean same = pp == setup.pipe().pp() && tp == setup.tp();
        if (ranks <= devices && divided && !same && need(tp, pp).all() <= capacity()) {
          double distance =
              Math.abs(Math.log((double) tp / setup.tp()))
                  + Math.abs(Math.log((double) pp / setup.pipe().pp()));
          all.add(new Other(tp, pp, distance));
        }
      }
    }
    return all.stream()
        .sorted(Comparator.comparingDouble(Other::distance).thenComparingInt(Other::pp))
        .limit(SHOWN)
        .map(o -> name(o.tp, o.pp))
        .toList();
  }

  private String name(int tp, int pp) {
    return "tp=%s cp=%s dp=%s pp=%s".formatted(tp, setup.cp(), setup.dp(), pp);
  }

  private static String shown(long bytes) {
    return bytes < 1L << 20
        ? String.format(Locale.ROOT, "%.1f KiB", bytes / 1024.0)
        : String.format(Locale.ROOT, "%.2f GiB", bytes / (double) (1L << 30));
  }
}
