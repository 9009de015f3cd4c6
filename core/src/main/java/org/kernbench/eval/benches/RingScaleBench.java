package org.kernbench.eval.benches;

import java.util.List;
import java.util.Locale;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.config.UsageException;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Folding;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.machine.Machine;
import org.kernbench.tensor.DType;

/**
 * {@code ring-scale}: a ring all-reduce over many packages of one PE each; shows how the simulator
 * scales.
 */
final class RingScaleBench implements Bench {
  /** With more ranks no operation keeps a row, and packages may run ahead of each other. */
  private static final int MOST_RANKS_KEPT = 255;

  /** With more ranks one must stand for all: the others would take gigabytes. */
  private static final int MOST_RANKS_RUN = 16_384;

  private static final int KEPT_OPERATIONS = 1 << 16;

  private static final Param<Integer> RANKS =
      Param.integer("ranks", 64, 2, 1 << 24, "number of ranks, one PE each");

  private static final Param<Long> BYTES =
      Param.size("bytes", "1 MiB", 4, 1L << 30, "size of each rank's tensor of f32");

  private static final Param<Integer> SUB_CHUNKS =
      Param.integer("sub_chunks", 1, 1, 64, "messages per segment of the ring");

  @Override
  public String name() {
    return "ring-scale";
  }

  @Override
  public String description() {
    return "ring all-reduce over many one-PE ranks; try --mode time --param ranks=1024";
  }

  @Override
  public List<Param<?>> params() {
    return List.of(RANKS, BYTES, SUB_CHUNKS);
  }

  @Override
  public Outcome run(BenchContext context) {
    int ranks = context.param(RANKS);
    DType dtype = DType.F32;
    long bytes = context.param(BYTES);
    if (bytes % dtype.sizeBytes() != 0) {
      throw new UsageException(
          """
          --param bytes: got %s B; expected a multiple of %s B, the elements are %s\
          """
              .formatted(bytes, dtype.sizeBytes(), dtype.code()));
    }
    CclConfig config =
        context.cclWith(
            List.of(
                "defaults.algorithm=ring",
                "algorithms.ring.sub_chunks=" + context.param(SUB_CHUNKS)));
    Machine machine = context.machine("ring", List.of("system.sips.count=" + ranks));
    checkPackages(machine, ranks);
    return new AllReduceRun(
            machine,
            Math.toIntExact(bytes / dtype.sizeBytes()),
            dtype,
            Pattern.exactIn(dtype, ranks),
            context.mode(),
            context.recording(ranks > MOST_RANKS_KEPT ? 0 : KEPT_OPERATIONS),
            folding(context, ranks))
        .run(CollectiveLibrary.open(machine, config));
  }

  /** Refuses a machine whose packages {@code system.sips.count} does not set. */
  static void checkPackages(Machine machine, int ranks) {
    if (machine.sips() != ranks) {
      throw new UsageException(
          "--param ranks: got %s; machine %s has %s packages, however many are asked for: expected that, or a machine with system.sips"
              .formatted(ranks, machine.name(), machine.sips()));
    }
  }

  private static Folding folding(BenchContext context, int ranks) {
    Folding folding = context.folding();
    if (ranks <= MOST_RANKS_RUN) {
      return folding;
    }
    if (folding == Folding.OFF) {
      throw new UsageException(
          String.format(
              Locale.ROOT,
              """
              --param ranks: got %,d; more than %,d only where one stands for all: in mode time, \
              with --fold auto or on, not checked or explained\
              """,
              ranks,
              MOST_RANKS_RUN));
    }
    return Folding.ON;
  }
}
