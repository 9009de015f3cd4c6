package org.kernbench.ccl;

import java.util.Set;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.placement.RankLevel;

/** An algorithm that says of itself what another does, and does something else with its plans. */
interface WrappedAlgorithm extends CollectiveAlgorithm {
  /** The other. */
  CollectiveAlgorithm inner();

  @Override
  default String name() {
    return inner().name();
  }

  @Override
  default Set<CollectiveOp> operations() {
    return inner().operations();
  }

  @Override
  default RankLevel defaultRankLevel() {
    return inner().defaultRankLevel();
  }
}
