package org.kernbench.torch.collective;

import java.util.Locale;
import org.kernbench.torch.Distributed;

/** The collectives of {@link Distributed}, and which part of the whole vector each rank gives. */
public enum CollectiveOp {
  /** Every rank ends with the reduction of all ranks' vectors. */
  ALL_REDUCE("allReduce"),
  /** Every rank ends with its own part of the reduction of all ranks' vectors. */
  REDUCE_SCATTER("reduceScatter"),
  /** Every rank gives its part and ends with the whole vector. */
  ALL_GATHER("allGather"),
  /** The root gives the whole vector, every rank ends with it. */
  BROADCAST("broadcast"),
  /** The root ends with the reduction of all ranks' vectors. */
  REDUCE("reduce"),
  /** Every rank gives its part, the root ends with the whole vector. */
  GATHER("gather"),
  /** The root gives the whole vector, every rank ends with its part. */
  SCATTER("scatter"),
  /** Every rank gives a block for each rank and ends with a block of each; see {@link Splits}. */
  ALL_TO_ALL("allToAll"),
  /** Messages from one rank to another: {@link CollectiveCall#messages}. */
  POINT_TO_POINT("send and recv"),
  /** No rank goes on before all have arrived. No data. */
  BARRIER("barrier");

  private final String method;

  CollectiveOp(String method) {
    this.method = method;
  }

  /** The method of {@link Distributed} that asks for it, for reports. */
  public String method() {
    return method;
  }

  /** The word for it in configurations, for example {@code reduce_scatter}. */
  public String word() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Whether elements of different ranks are combined. */
  public boolean reduces() {
    return this == ALL_REDUCE || this == REDUCE_SCATTER || this == REDUCE;
  }

  /** Whether one rank is the root. */
  public boolean hasRoot() {
    return this == BROADCAST || this == REDUCE || this == GATHER || this == SCATTER;
  }

  /** Whether ranks own parts of the whole vector. */
  public boolean hasParts() {
    return this == REDUCE_SCATTER || this == ALL_GATHER || this == GATHER || this == SCATTER;
  }
}
