package org.kernbench.eval.training;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.machine.CannotFoldException;
import org.kernbench.machine.Machine;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.multimodal.Microbatch;
import org.kernbench.nn.multimodal.TwoModuleConfig;
import org.kernbench.nn.multimodal.TwoModuleLayout;
import org.kernbench.nn.multimodal.TwoModuleTraining;
import org.kernbench.nn.optim.Communication;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;
import org.kernbench.torch.placement.RankLevel;
import org.kernbench.torch.placement.Spread;

/** One training step of two modules on a machine. */
public final class TwoModuleStep {
  private TwoModuleStep() {}

  /** What to change in a configuration for a world of some ranks; all-reduces are by ring. */
  public static List<String> world(RankLevel level, int ranks) {
    return AllReduceChoice.overrides("ring", level, ranks);
  }

  /** Runs a program on every rank. */
  public static void run(
      Machine machine,
      CclConfig ccl,
      TorchOptions options,
      int ranks,
      Consumer<Worker> body,
      Consumer<Torch> afterwards) {
    run(false, machine, ccl, options, ranks, () -> body, afterwards);
  }

  /**
   * Runs a program on every rank, or on those of the first package for all.
   *
   * @param program makes one that remembers nothing of another that has run
   * @throws CannotFoldException if that is not exact
   */
  static void run(
      boolean folded,
      Machine machine,
      CclConfig ccl,
      TorchOptions options,
      int ranks,
      Supplier<Consumer<Worker>> program,
      Consumer<Torch> afterwards) {
    CollectiveLibrary library = CollectiveLibrary.open(machine, ccl);
    TorchOptions all = options.withCollectives(library);
    try (Torch torch =
        folded ? Torch.openFolded(machine, all, program) : Torch.open(machine, all)) {
      torch.distributed().initProcessGroup(library.name());
      torch.multiprocessing().spawn(program.get(), ranks);
      torch.synchronize();
      afterwards.accept(torch);
    }
  }

  /**
   * How long a step takes.
   *
   * @param ps from the first kernel to the last
   * @param boundPs no run takes less
   * @param communicationPs of its collectives
   * @param exposedPs the part of these that no computation hides
   */
  public record Timing(long ps, long boundPs, long communicationPs, long exposedPs) {}

  /**
   * Where it runs.
   *
   * @param ccl how collectives run, for its {@link #world}
   * @param level what a rank owns
   * @param spread which PEs of that compute
   */
  public record Place(Machine machine, CclConfig ccl, RankLevel level, Spread spread) {
    /** How many PEs a rank has, whether they compute or not. */
    int pes() {
      return level.pes(machine);
    }
  }

  /** The time of one step, without values. */
  public static Timing time(
      Place place,
      TwoModuleConfig model,
      TwoModuleLayout layout,
      TwoModuleTraining.Settings settings,
      List<Microbatch> data) {
    List<Timing> found = new ArrayList<>();
    int ranks = layout.ranks();
    double flops = flops(model, settings.frozen(), data);
    StepBound bound = new StepBound(place.machine, flops, ranks, place.pes());
    run(
        place.machine,
        place.ccl,
        TorchOptions.DEFAULT.withMode(Mode.TIME).withSpread(place.spread),
        layout.worldSize(),
        w -> body(w, model, layout, settings, data, bound),
        torch -> found.add(timing(torch, bound, ranks)));
    return found.getFirst();
  }

  private static Timing timing(Torch torch, StepBound bound, int ranks) {
    CommunicationSums costs = new CommunicationSums(Communication.of(torch), ranks);
    return new Timing(
        torch.simulator().nowPs(), bound.bound().ps(), costs.timePs(), costs.exposedPs());
  }

  private static void body(
      Worker worker,
      TwoModuleConfig model,
      TwoModuleLayout layout,
      TwoModuleTraining.Settings settings,
      List<Microbatch> data,
      StepBound bound) {
    TwoModuleTraining.create(worker, model, layout, settings)
        .ifPresent(training -> {
          try (training) {
            training.train(data);
            bound.changes(training.bytesRead(), training.bytesWritten());
          }
        });
  }

  /** The multiply-adds of a step: a backward pass costs two forward passes. */
  static double flops(TwoModuleConfig model, boolean frozen, List<Microbatch> data) {
    double samples = 0;
    double textual = 0;
    for (Microbatch m : data) {
      samples += m.hasModality() ? m.samples() : 0;
      textual += m.samples();
    }
    TransformerConfig e = model.encoder();
    TransformerConfig l = model.language();
    double patches = samples * model.tokensPerSample();
    double sequence = data.getFirst().sequence();
    double tokens = textual * sequence;
    // the encoder's input has no gradient
    double first = TrainingFlops.linear(patches, model.patch(), e.hidden());
    double encoder = e.layers() * TrainingFlops.block(e, patches, model.tokensPerSample());
    double up = TrainingFlops.linear(patches, e.hidden(), model.projector());
    double down = TrainingFlops.linear(patches, model.projector(), l.hidden());
    double language =
        l.layers() * TrainingFlops.block(l, tokens, (sequence + 1) / 2)
            + TrainingFlops.linear(tokens, l.hidden(), l.vocabulary());
    return (frozen ? first + encoder : 2 * first + 3 * encoder)
        + (frozen ? 2 : 3) * up // nobody before it wants a gradient
        + 3 * down
        + 3 * language;
  }
}
