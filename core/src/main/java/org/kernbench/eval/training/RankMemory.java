package org.kernbench.eval.training;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.kernbench.nn.experts.ExpertsConfig;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.layers.TransformerConfig.Latent;
import org.kernbench.nn.layers.TransformerConfig.Style;
import org.kernbench.nn.optim.Zero;
import org.kernbench.nn.pipeline.LayerSplit;
import org.kernbench.nn.pipeline.PipelineSchedule;
import org.kernbench.tensor.DType;

/**
 * What a training step needs of a rank's memory, known before it runs. Weights, gradients and the
 * optimizer's tensors are counted to the element; of activations what the backward pass reads, so
 * at least: copies of operands and what is made on the way are apart.
 */
final class RankMemory {
  private final Setup setup;
  private final LayoutGrid grid;
  private final TransformerConfig config;

  /**
   * Bytes that a rank holds at least.
   *
   * @param optimizer master copies and moments
   * @param activations of all microbatches that are held at once
   */
  record Need(long weights, long gradients, long optimizer, long activations) {
    long all() {
      return weights + gradients + optimizer + activations;
    }

    /** All parts. */
    String parts() {
      return "weights %s, gradients %s, optimizer %s, activations %s"
          .formatted(shown(weights), shown(gradients), shown(optimizer), shown(activations));
    }
  }

  /**
   * The memory of a step.
   *
   * @param grid the layout, that of the step or another
   */
  RankMemory(Setup setup, LayoutGrid grid) {
    this.setup = setup;
    this.grid = grid;
    this.config = setup.config();
  }

  /** The need of the fullest rank of a pipeline. */
  Need need() {
    Optional<PipelineSchedule> schedule =
        setup.pipe().schedule().filter(s -> grid.pp() == setup.pipe().pp());
    int parts = schedule.map(PipelineSchedule::depth).orElse(grid.pp());
    LayerSplit split =
        schedule
            .flatMap(s -> setup.pipe().split())
            .orElseGet(() -> LayerSplit.even(config.layers(), parts));
    Need most = new Need(0, 0, 0, 0);
    for (int rank = 0; rank < grid.pp(); rank++) {
      Need need = stages(of(rank, schedule), parts, split, held(rank, schedule));
      most = need.all() > most.all() ? need : most;
    }
    return most;
  }

  private static List<Integer> of(int rank, Optional<PipelineSchedule> schedule) {
    return schedule
        .map(s -> s.stagesOf(rank).stream().map(s::part).toList())
        .orElseGet(() -> List.of(rank));
  }

  /** Microbatches of a stage that are held at once, on average over a rank's stages, at least. */
  private int held(int rank, Optional<PipelineSchedule> schedule) {
    return schedule
        .map(s -> Math.max(1, s.held(rank) / Math.max(1, s.stagesOf(rank).size())))
        .orElseGet(() -> Math.min(setup.pipe().microbatches(), grid.pp() - rank));
  }

  private Need stages(List<Integer> own, int parts, LayerSplit split, int held) {
    long elements = 0;
    long expert = 0;
    long kept = 0;
    for (int part : own) {
      boolean first = part == 0;
      boolean last = part == parts - 1;
      int from = split.blocks().subList(0, part).stream().mapToInt(Integer::intValue).sum();
      for (int block = from; block < from + split.blocks().get(part); block++) {
        elements += block(block);
        expert += experts(block);
        kept += (bytes(kept(block)) - saved(block)) * held;
      }
      elements += ends(first, last);
      kept += last ? bytes(config.vocabulary() / grid.tp()) : 0;
    }
    Need dense = need(elements, (long) grid.dp() * grid.cp());
    Need routed = need(expert, replicasOfExperts());
    return new Need(
        dense.weights() + routed.weights(),
        dense.gradients() + routed.gradients(),
        dense.optimizer() + routed.optimizer(),
        kept * rows());
  }

  /** Ranks that have the same experts. */
  private long replicasOfExperts() {
    long owners = (long) setup.experts().ep() * setup.experts().etp();
    return Math.max(1, (long) grid.tp() * grid.cp() * grid.dp() / owners);
  }

  /** Of parameters that so many ranks have. */
  private Need need(long elements, long ranks) {
    DType type = setup.dtype();
    long working = type == DType.F64 ? 8 : 4;
    long grad = setup.data().gradType().map(DType::sizeBytes).orElse((int) working);
    long master = type == DType.F64 || type == DType.F32 ? 0 : 4;
    long states = elements * (master + 2 * working);
    Zero zero = grid.zero();
    return new Need(
        elements * type.sizeBytes() / (zero == Zero.PARAMETERS ? ranks : 1),
        elements * grad / (zero == Zero.PARAMETERS || zero == Zero.GRADIENTS ? ranks : 1),
        zero == Zero.NONE ? states : states / ranks,
        0);
  }

  /** Tokens of a microbatch of a rank. */
  private long rows() {
    long samples = setup.batch() / grid.dp() / setup.pipe().microbatches();
    return (long) setup.tokens() / grid.cp() * samples;
  }

  // ---- elements of parameters ----

  /** What a rank has of a block. */
  private long block(int block) {
    long h = config.hidden();
    boolean plain = config.style().isPlain();
    long norms = plain ? 4 * h : 2 * h;
    long biases = plain ? h + of(config.heads() + 2L * config.keyHeads()) : 0;
    return norms + biases + attention() + feedForward(block);
  }

  /** What a tensor-parallel rank has of so many heads' elements. */
  private long of(long heads) {
    return heads * config.headSize() / grid.tp();
  }

  private long attention() {
    if (config.latent().isEmpty()) {
      return config.attentionElements() / grid.tp();
    }
    Latent l = config.latent().get();
    long down = config.downElements();
    return (config.attentionElements() - down) / grid.tp() + down + l.queryRank() + l.keyRank();
  }

  private long feedForward(int block) {
    long h = config.hidden();
    long matrices = config.style().isPlain() ? 2 : 3;
    Optional<ExpertsConfig> experts = config.experts().filter(e -> block >= e.dense());
    if (experts.isEmpty()) {
      long biases = config.style().isPlain() ? config.ffn() / grid.tp() + h : 0;
      return matrices * h * config.ffn() / grid.tp() + biases;
    }
    ExpertsConfig e = experts.get();
    return e.experts() * h + 3 * h * e.ffn() * e.shared() / grid.tp();
  }

  /** What a rank has of the experts of a block that tokens are sent to. */
  private long experts(int block) {
    return config
        .experts()
        .filter(e -> block >= e.dense())
        .map(e ->
            3L
                * config.hidden()
                * e.ffn()
                * e.experts()
                / ((long) setup.experts().ep() * setup.experts().etp()))
        .orElse(0L);
  }

  /** Tables, positions, and the last norm. */
  private long ends(boolean first, boolean last) {
    long h = config.hidden();
    boolean plain = config.style().isPlain();
    long table = config.vocabulary() * h / grid.tp();
    long tables = first && last && setup.pipe().tied() ? 1 : (first ? 1 : 0) + (last ? 1 : 0);
    return tables * table
        + (first && plain ? config.maxSequence() * h : 0)
        + (last ? (plain ? 2 : 1) * h : 0);
  }

  /** Elements of the matrices of a block, experts left out. */
  static long block(TransformerConfig c) {
    long mlp =
        c.experts()
            .map(e -> (long) e.experts() * c.hidden() + 3L * c.hidden() * e.ffn() * e.shared())
            .orElse((c.style() == Style.LLAMA ? 3L : 2L) * c.hidden() * c.ffn());
    return c.attentionElements() + mlp;
  }

  // ---- elements of activations for each token ----

  /**
   * What a block keeps: inputs of its products and norms, what attention and activations are made
   * of.
   */
  private long kept(int block) {
    int between = setup.sp() ? grid.tp() : 1;
    long h = config.hidden() / between;
    return switch (grid.recompute()) {
      case FULL -> h;
      case ATTENTION -> 3 * h + inner(block);
      case NONE -> 4 * h + heads() + inner(block);
    };
  }

  private long bytes(long elements) {
    return elements * setup.dtype().sizeBytes();
  }

  /**
   * Bytes that it keeps less where layers multiply in 8 bits: their inputs, unless a product in the
   * type of the run reads them, too, as what leads down to latent attention and routers do.
   */
  private long saved(int block) {
    if (!setup.f8()) {
      return 0;
    }
    boolean routed = config.experts().filter(e -> block >= e.dense()).isPresent();
    long h = config.hidden() / (setup.sp() ? grid.tp() : 1);
    long ofAttention =
        (config.latent().isPresent() ? 0 : h)
            + (long) config.heads() * config.valueSize() / grid.tp();
    long ofFeedForward = (routed ? 0 : h) + linear(block) / grid.tp();
    long inputs =
        switch (grid.recompute()) {
          case FULL -> 0;
          case ATTENTION -> ofFeedForward;
          case NONE -> ofAttention + ofFeedForward;
        };
    return inputs * (setup.dtype().sizeBytes() - 1);
  }

  /** Inner elements of a block for each token, experts left out that a router chooses. */
  private long linear(int block) {
    return config
        .experts()
        .filter(e -> block >= e.dense())
        .map(e -> (long) e.shared() * e.ffn())
        .orElse((long) config.ffn());
  }

  private long heads() {
    long queries = (long) config.heads() * config.headSize();
    long keys = (long) config.keyHeads() * (config.headSize() + config.valueSize());
    long out = (long) config.heads() * config.valueSize();
    return (queries + keys + out) / grid.tp();
  }

  private long inner(int block) {
    Optional<ExpertsConfig> experts = config.experts().filter(e -> block >= e.dense());
    if (experts.isEmpty()) {
      return (config.style().isPlain() ? 2L : 3L) * config.ffn() / grid.tp();
    }
    ExpertsConfig e = experts.get();
    // if all tokens of a sample choose the same experts, what these do not take is dropped
    long taken = (long) e.topK() * e.capacityOf(setup.tokens());
    long each = 2L * config.hidden() + 3L * e.ffn() / setup.experts().etp();
    return taken * each / setup.tokens() / (setup.sp() ? grid.tp() : 1)
        + 3L * e.shared() * e.ffn() / grid.tp();
  }

  /** Bytes as people read them. */
  static String shown(long bytes) {
    if (bytes < 1L << 20) {
      return String.format(Locale.ROOT, "%.1f KiB", bytes / 1024.0);
    }
    return bytes < 1L << 30
        ? String.format(Locale.ROOT, "%.2f MiB", bytes / (double) (1L << 20))
        : String.format(Locale.ROOT, "%.2f GiB", bytes / (double) (1L << 30));
  }
}
