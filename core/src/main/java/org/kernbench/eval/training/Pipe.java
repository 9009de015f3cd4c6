package org.kernbench.eval.training;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.kernbench.config.Suggest;
import org.kernbench.config.UnreadableException;
import org.kernbench.config.UsageException;
import org.kernbench.config.UserFile;
import org.kernbench.eval.Outcome;
import org.kernbench.nn.layers.Recompute;
import org.kernbench.nn.optim.LossScaler;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.pipeline.LayerSplit;
import org.kernbench.nn.pipeline.PipelineSchedule;
import org.kernbench.nn.pipeline.ScheduleCsv;
import org.kernbench.nn.pipeline.Schedules;

/**
 * How a step goes through a pipeline.
 *
 * @param pp ranks of the pipeline
 * @param schedule empty if the model is whole on each rank, and the batch one microbatch
 * @param split blocks of each stage
 * @param tied whether the head's weight is the embedding's table
 * @param recompute which activations are made again on the way back
 * @param norm to which gradients are shrunk
 * @param lossScale factor of the loss; with one above 1 a step whose gradients overflow is skipped
 * @param omitted samples whose gradients one rank leaves out, though their tokens count
 * @param asked what the user asked for, if it was by parameters
 */
record Pipe(
    int pp,
    Optional<PipelineSchedule> schedule,
    Optional<LayerSplit> split,
    boolean tied,
    Recompute recompute,
    double norm,
    double lossScale,
    Set<Integer> omitted,
    Optional<Asked> asked) {
  /** As many blocks in each stage. */
  static final String EVEN = "even";

  private static final double NORM = 1;

  /** No pipeline. */
  static final Pipe NONE = whole(false, Recompute.NONE);

  private static Pipe whole(boolean tied, Recompute recompute) {
    return new Pipe(
        1,
        Optional.empty(),
        Optional.empty(),
        tied,
        recompute,
        NORM,
        1,
        Set.of(),
        Optional.empty());
  }

  /** A copy with gradients shrunk to another norm. */
  Pipe withNorm(double other) {
    return new Pipe(pp, schedule, split, tied, recompute, other, lossScale, omitted, asked);
  }

  /** A copy with another factor of the loss. */
  Pipe withLossScale(double other) {
    return new Pipe(pp, schedule, split, tied, recompute, norm, other, omitted, asked);
  }

  /** A copy without the gradients of some samples; on one rank. */
  Pipe without(Set<Integer> samples) {
    return new Pipe(pp, schedule, split, tied, recompute, norm, lossScale, samples, asked);
  }

  /** A copy that makes other activations again. */
  Pipe with(Recompute other) {
    return new Pipe(pp, schedule, split, tied, other, norm, lossScale, omitted, asked);
  }

  /** A copy with other blocks in each stage. */
  Pipe with(PipelineSchedule other, LayerSplit blocks) {
    return new Pipe(
        other.ranks(),
        Optional.of(other),
        Optional.of(blocks),
        tied,
        recompute,
        norm,
        lossScale,
        omitted,
        asked);
  }

  private Pipe askedBy(Asked user) {
    return new Pipe(
        pp, schedule, split, tied, recompute, norm, lossScale, omitted, Optional.of(user));
  }

  /** What a user asked for. */
  record Asked(int pp, int microbatches, String schedule, int vpp, String layers) {
    private boolean isPlain() {
      return pp == 1
          && microbatches == 1
          && schedule.equals("1f1b")
          && vpp == 1
          && layers.equals(EVEN);
    }
  }

  static Pipe of(Asked asked, int layers, boolean tied, Recompute recompute) {
    if (asked.isPlain()) {
      return whole(tied, recompute).askedBy(asked);
    }
    try {
      PipelineSchedule schedule = schedule(asked);
      int stages = schedule.depth();
      LayerSplit split =
          asked.layers.equals(EVEN)
              ? LayerSplit.even(layers, stages)
              : LayerSplit.parse(asked.layers, layers, stages);
      return whole(tied, recompute).with(schedule, split).askedBy(asked);
    } catch (LayoutException e) {
      throw new UsageException(String.valueOf(e.getMessage()));
    }
  }

  private static PipelineSchedule schedule(Asked asked) {
    if (isFile(asked.schedule)) {
      return file(asked.schedule, asked.pp, "pp is " + asked.pp, asked.microbatches);
    }
    Schedules named = named(asked.schedule);
    boolean interleaves = named == Schedules.ONE_F_ONE_B && asked.vpp > 1;
    return (interleaves ? Schedules.INTERLEAVED : named)
        .of(asked.pp, asked.microbatches, asked.vpp);
  }

  /** Whether a schedule is a file of the user, not a name. */
  static boolean isFile(String schedule) {
    return schedule.endsWith(".csv");
  }

  /**
   * The schedule of a name.
   *
   * @throws UsageException if there is none
   */
  static Schedules named(String schedule) {
    String word = schedule.toLowerCase(Locale.ROOT);
    List<String> known = Stream.of(Schedules.values()).map(Schedules::toString).toList();
    return Stream.of(Schedules.values())
        .filter(s -> s.toString().equals(word))
        .findFirst()
        .orElseThrow(() ->
            new UsageException(
                "schedule: got \"%s\"; expected one of %s, or a file.csv%s"
                    .formatted(schedule, String.join(", ", known), Suggest.hint(word, known))));
  }

  /**
   * The schedule in a file.
   *
   * @param pp ranks that it must have
   * @param why they are so many, for people
   * @throws UsageException if it cannot be read, or is of other numbers
   */
  static PipelineSchedule file(String path, int pp, String why, int microbatches) {
    PipelineSchedule read;
    try {
      String text = UserFile.text(UserFile.path(path), "a schedule, a line for each rank");
      read = ScheduleCsv.parse(path, text);
    } catch (UnreadableException e) {
      throw new UsageException("schedule: " + path + ": " + e.getMessage());
    }
    if (read.ranks() != pp || read.microbatches() != microbatches) {
      throw new UsageException(
          "%s: %s ranks and %s microbatches, but %s and microbatches %s; expected the same"
              .formatted(path, read.ranks(), read.microbatches(), why, microbatches));
    }
    return read;
  }

  /** What scales the loss. */
  LossScaler scaler() {
    return new LossScaler(LossScaler.Settings.constant(lossScale));
  }

  /** This model on one rank. */
  Pipe onOneRank() {
    return whole(tied, Recompute.NONE).withNorm(norm);
  }

  /** Whether a schedule puts weight gradients off. */
  static boolean putsOff(PipelineSchedule schedule) {
    return IntStream.range(0, schedule.ranks()).anyMatch(rank -> schedule.putOff(rank) > 0);
  }

  int microbatches() {
    return schedule.map(PipelineSchedule::microbatches).orElse(1);
  }

  /** Whether it could be over other stages, with all else that was asked for. */
  boolean mayBe(int stages, Recompute again, boolean dividesOptimizer, int layers) {
    if (asked.isEmpty()) {
      return stages == pp;
    }
    Asked a = asked.get();
    try {
      of(new Asked(stages, a.microbatches, a.schedule, a.vpp, a.layers), layers, tied, again)
          .check(dividesOptimizer);
      return true;
    } catch (UsageException e) {
      return false;
    }
  }

  /**
   * Refuses what cannot be.
   *
   * @param dividesOptimizer whether ranks have parts of the optimizer's state
   */
  void check(boolean dividesOptimizer) {
    if (recompute != Recompute.NONE && schedule.filter(Pipe::putsOff).isPresent()) {
      throw new UsageException(
          "recompute %s with schedule %s, which puts weight gradients off; expected one of them"
              .formatted(recompute, schedule.get().name()));
    }
    if (tied && schedule.filter(any -> any.depth() > 1).isPresent() && dividesOptimizer) {
      throw new UsageException(
          "tied embeddings over stages with distributed_optimizer; expected one of them off");
    }
    if (schedule.isPresent() && schedule.get().chains() > 1 && dividesOptimizer) {
      throw new UsageException(
          """
          schedule dualpipe with distributed_optimizer: it has the model twice; expected \
          distributed_optimizer=off\
          """);
    }
  }

  void conditions(Outcome outcome) {
    schedule.ifPresent(s -> outcome.condition("stages", s.depth()).condition("order", s.name()));
  }
}
