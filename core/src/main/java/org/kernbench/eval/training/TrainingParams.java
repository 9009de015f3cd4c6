package org.kernbench.eval.training;

import java.util.List;
import java.util.Map;
import org.kernbench.config.UsageException;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Param;
import org.kernbench.nn.kernels.WorkCount;
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

  static final Param<SpreadChoice> SPREAD =
      Param.choice(
          "spread",
          SpreadChoice.AUTO,
          SpreadChoice.class,
          "which PEs of it compute: all, those of its first cube, the lead, or the quickest of these");

  private static final String AUTO = "auto";

  static final Param<String> ALGORITHM =
      Param.word(
          "algorithm", "ring", "a name in ccl.yaml", "how all-reduces go, also sums of gradients");

  static final Param<Rows> ROWS =
      Param.choice("rows", Rows.COLLECTIVES, Rows.class, "what the table lists");

  /** What the table of a result lists. */
  enum Rows {
    COLLECTIVES("collectives"),
    OPERATIONS("operations");

    private final String word;

    Rows(String word) {
      this.word = word;
    }

    /**
     * The rows.
     *
     * @param work of the first rank, by kernel
     */
    List<Map<String, Object>> of(
        Torch torch, CommunicationSums costs, Map<String, WorkCount> work) {
      return switch (this) {
        case COLLECTIVES -> costs.rows();
        case OPERATIONS ->
            new OperationRows(
                    torch.machine(),
                    torch.simulator().opLog().launches(),
                    0,
                    torch.mesh().size(),
                    torch.simulator().nowPs(),
                    work)
                .rows();
      };
    }

    @Override
    public String toString() {
      return word;
    }
  }

  private TrainingParams() {}

  /** What to change in a configuration of collectives, so that all-reduces go as asked. */
  static List<String> allReduces(BenchContext context, RankLevel level, int ranks) {
    String name = context.param(ALGORITHM);
    if (name.equals(AUTO) && level != RankLevel.PE) {
      throw new UsageException(
          """
          --param algorithm: got "auto", which compares algorithms on one PE of each rank, and all \
          PEs of a %s send at once; name one, e.g. ring, ring_bidirectional, torus_both_orders or \
          packed_trees\
          """
              .formatted(Param.word(level)));
    }
    return List.of(
        "defaults.algorithm=" + name,
        "algorithms." + name + ".rank_level=" + Param.word(level),
        "algorithms." + name + ".world_size=" + ranks);
  }

  static Param<RankLevel> rankLevel(RankLevel defaultValue) {
    return Param.choice("rank_level", defaultValue, RankLevel.class, "what a rank owns");
  }
}
