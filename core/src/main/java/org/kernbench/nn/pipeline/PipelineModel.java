package org.kernbench.nn.pipeline;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Recipe;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.layers.Module;
import org.kernbench.nn.layers.Parts;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.layers.TransformerStage;
import org.kernbench.nn.optim.Checkpoint;
import org.kernbench.nn.optim.GradientSync;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.collective.ReduceKind;

/** The stages of a transformer that one rank of a pipeline has. */
public final class PipelineModel implements Module {
  private final Parts parts = new Parts();
  private final PipelineLayout layout;
  private final PipelineSchedule schedule;
  private final boolean tied;
  private final Map<Integer, TransformerStage> stages = new LinkedHashMap<>();
  private final List<Parameter> copies = new ArrayList<>();

  /**
   * The stages of the rank that calls.
   *
   * @param split blocks of each stage, as many as the schedule's model has stages
   * @param tied whether the head's weight is the table of the embedding
   */
  public PipelineModel(
      TransformerConfig config,
      PipelineLayout layout,
      PipelineSchedule schedule,
      LayerSplit split,
      boolean tied,
      Init init) {
    this.layout = layout;
    this.schedule = schedule;
    this.tied = tied;
    List<Integer> own = new ArrayList<>(schedule.stagesOf(layout.pp().rank()));
    own.sort(Comparator.comparing(s -> !schedule.isFirst(s))); // a table before who shares it
    Optional<Parameter> table = Optional.empty();
    for (int s : own) {
      TransformerStage.Range range = split.range(schedule.part(s), tied);
      TransformerStage stage =
          parts.add(new TransformerStage(config, layout.stage(), init, range, table));
      stages.put(s, stage);
      if (range.embeds()) {
        table = stage.table();
      } else if (tied) {
        stage.table().ifPresent(copies::add); // the first stage counts it
      }
      if (s >= schedule.depth()) {
        copies.addAll(stage.parameters()); // the first direction counts them
      }
    }
  }

  /** The rank's stages, by their numbers in the schedule. */
  public Map<Integer, TransformerStage> stages() {
    return new LinkedHashMap<>(stages);
  }

  /**
   * A checkpoint of the whole model, with this rank's stages; to it comes the state of its
   * optimizer. What is there twice is in the file once, and each rank that has it loads it.
   */
  public Checkpoint checkpoint(Torch torch) {
    return new Checkpoint(torch, layout.stage()).across(layout.pp()).with(this);
  }

  /** The recipe of the rank's gradients, given that within a stage. */
  public Recipe recipe(Recipe within) {
    return new PipelineRecipe(within, layout.pp(), copies);
  }

  /**
   * Sums gradients of parameters that other ranks of the pipeline have as well, once each rank has
   * those of its data-parallel group: tied embeddings, and all of a model that is there twice. All
   * ranks of the pipeline call it.
   */
  public void sumShared(Torch torch) {
    if (schedule.chains() > 1) {
      ProcessGroup mirror = layout.mirror().orElseThrow();
      int ranks = schedule.ranks();
      int own = layout.pp().rank();
      // both ranks take the lower part of the model first
      int lower = Math.min(own, ranks - 1 - own);
      stagesOfPart(lower).forEach(p -> sum(torch, p, mirror));
      stagesOfPart(ranks - 1 - lower).forEach(p -> sum(torch, p, mirror));
    } else if (tied) {
      layout
          .embedding()
          .ifPresent(group ->
              stages.values().stream()
                  .flatMap(stage -> stage.table().stream())
                  .forEach(p -> sum(torch, p, group)));
    }
  }

  private List<Parameter> stagesOfPart(int part) {
    return stages.entrySet().stream()
        .filter(e -> schedule.part(e.getKey()) == part)
        .flatMap(e -> e.getValue().parameters().stream())
        .toList();
  }

  /**
   * A gradient lies where its bucket has it, and buckets of two stages have other members: on many
   * PEs one that does not lie as its parameter is summed in a copy that does.
   */
  private static void sum(Torch torch, Parameter p, ProcessGroup group) {
    if (p.isFrozen()) {
      return;
    }
    Tensor grad = GradientSync.gradient(p);
    if (!Compute.isSpread(torch)) {
      group.allReduce(grad, ReduceKind.SUM);
      return;
    }
    try (Tensor like = Compute.parameter(torch, grad.name(), grad.shape(), grad.dtype())) {
      if (grad.shardSpecs().equals(like.shardSpecs())) {
        group.allReduce(grad, ReduceKind.SUM);
        return;
      }
      Compute compute = new Compute(torch, t -> t);
      compute.mapInto("copy", like, List.of(grad), x -> x.getFirst());
      group.allReduce(like, ReduceKind.SUM);
      compute.mapInto("copy", grad, List.of(like), x -> x.getFirst());
    }
  }

  @Override
  public Parts parts() {
    return parts;
  }
}
