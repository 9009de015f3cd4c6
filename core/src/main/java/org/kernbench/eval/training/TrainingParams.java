package org.kernbench.eval.training;

import java.util.List;
import java.util.Map;
import org.kernbench.config.UsageException;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Param;
import org.kernbench.nn.kernels.WorkCount;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.tensor.DType;
import org.kernbench.torch.Torch;
import org.kernbench.torch.placement.RankLevel;

/** Parameters that all benches have that train. */
final class TrainingParams {
  static final Param<DType> DTYPE =
      Param.choice(
          "dtype",
          DType.BF16,
          List.of(DType.BF16, DType.F16, DType.F32, DType.F64),
          "type of values");

  static final Param<DType> GRAD_DTYPE =
      Param.choice(
          "grad_dtype",
          DType.F32,
          List.of(DType.F32, DType.BF16),
          "type in which gradients add up and are summed over ranks; f32 is f64 for values in f64");

  static final Param<F8Scaling> F8 =
      Param.choice(
          "f8",
          F8Scaling.OFF,
          F8Scaling.class,
          """
          whether linear layers of blocks multiply in 8 bits, f8e4m3 and for gradients f8e5m2, with \
          a scale of each tensor's current largest value\
          """);

  static final Param<Samples> SAMPLES =
      Param.choice(
          "samples",
          Samples.OWN,
          Samples.class,
          """
          whether replicas have samples of their own, or alike those of the first: then one package \
          can stand for all (mode time)\
          """);

  /** What samples data-parallel replicas have. */
  enum Samples {
    OWN,
    ALIKE
  }

  /** Where scales of products in 8 bits come from. */
  enum F8Scaling {
    /** There are no such products. */
    OFF("off"),
    /** The largest value that a tensor has now. */
    CURRENT("current");

    private final String word;

    F8Scaling(String word) {
      this.word = word;
    }

    @Override
    public String toString() {
      return word;
    }
  }

  static final Param<SpreadChoice> SPREAD =
      Param.choice(
          "spread",
          SpreadChoice.AUTO,
          SpreadChoice.class,
          "which PEs of it compute: all, those of its first cube, the lead, or the quickest of these");

  static final Param<Rows> ROWS =
      Param.choice("rows", Rows.COLLECTIVES, Rows.class, "what the table lists");

  /** What the table of a result lists. */
  enum Rows {
    COLLECTIVES("collectives"),
    OPERATIONS("operations");

    /** With the moves of their chunks some 1 GB. */
    private static final int KEPT = 1 << 22;

    private final String word;

    Rows(String word) {
      this.word = word;
    }

    /**
     * The rows.
     *
     * @param level what a rank owns
     * @param work of the first rank, by kernel
     */
    List<Map<String, Object>> of(
        Torch torch, RankLevel level, CommunicationSums costs, Map<String, WorkCount> work) {
      return switch (this) {
        case COLLECTIVES -> costs.rows();
        case OPERATIONS ->
            new OperationRows(
                    torch.machine(),
                    torch.simulator().opLog(),
                    pe -> level.deviceOf(torch.machine(), pe) == 0,
                    torch.mesh().size(),
                    torch.simulator().nowPs(),
                    work)
                .rows();
      };
    }

    /** What to record for them: operations of a whole block tell how long engines were busy. */
    SimulatorOptions recording(BenchContext context) {
      return switch (this) {
        case COLLECTIVES -> context.recording();
        case OPERATIONS -> context.recording(KEPT);
      };
    }

    @Override
    public String toString() {
      return word;
    }
  }

  private TrainingParams() {}

  /**
   * How gradients are summed, with their type.
   *
   * @throws UsageException if parameters have another type than gradients in bf16
   */
  static DataParallel.Options inGradType(BenchContext context, DataParallel.Options options) {
    if (context.param(GRAD_DTYPE) == DType.F32) {
      return options;
    }
    DType dtype = context.param(DTYPE);
    if (dtype != context.param(GRAD_DTYPE)) {
      throw new UsageException(
          """
          grad_dtype is %s, dtype %s; expected grad_dtype=f32, or both %s\
          """
              .formatted(
                  Param.word(context.param(GRAD_DTYPE)),
                  Param.word(dtype),
                  Param.word(context.param(GRAD_DTYPE))));
    }
    return options.withGradType(dtype);
  }

  /** How one rank sums them in some type: rounding as a run of that type does. */
  static DataParallel.Options onOneRank(DataParallel.Options options, DType type) {
    return options
        .gradType()
        .filter(grad -> grad == type)
        .map(DataParallel.DEFAULT::withGradType)
        .orElse(DataParallel.DEFAULT);
  }

  static Param<RankLevel> rankLevel(RankLevel defaultValue) {
    return Param.choice("rank_level", defaultValue, RankLevel.class, "what a rank owns");
  }
}
