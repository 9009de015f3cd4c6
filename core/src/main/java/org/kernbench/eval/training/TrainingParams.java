package org.kernbench.eval.training;

import java.util.List;
import java.util.Map;
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

  static Param<RankLevel> rankLevel(RankLevel defaultValue) {
    return Param.choice("rank_level", defaultValue, RankLevel.class, "what a rank owns");
  }
}
