package org.kernbench.eval.training;

import java.util.List;
import org.kernbench.eval.Param;
import org.kernbench.tensor.DType;
import org.kernbench.torch.placement.RankLevel;

/** Parameters that all benches have that train. */
final class TrainingParams {
  static final Param<DType> DTYPE =
      Param.choice(
          "dtype",
          DType.BF16,
          List.of(DType.BF16, DType.F16, DType.F32, DType.F64),
          "type of values");

  private TrainingParams() {}

  static Param<RankLevel> rankLevel(RankLevel defaultValue) {
    return Param.choice("rank_level", defaultValue, RankLevel.class, "what a rank owns");
  }
}
