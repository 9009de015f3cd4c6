package org.kernbench.nn.placements;

import java.util.Locale;
import org.kernbench.torch.collective.ReduceKind;

/** How ranks along one dimension of a mesh share a tensor. */
public sealed interface Placement {
  /**
   * Each has a run of indices along an axis, as evenly as they go: the first ones have one more.
   *
   * @param dim the axis, from 0
   */
  record Shard(int dim) implements Placement {
    /** Checks the axis. */
    public Shard {
      if (dim < 0) {
        throw new IllegalArgumentException("Shard(" + dim + "); expected an axis from 0");
      }
    }

    @Override
    public String toString() {
      return "Shard(" + dim + ")";
    }
  }

  /** Each has all of it. */
  record Replicate() implements Placement {
    @Override
    public String toString() {
      return "Replicate";
    }
  }

  /**
   * Each has a tensor of the whole shape; the value is what these reduce to.
   *
   * @param op how
   */
  record Partial(ReduceKind op) implements Placement {
    @Override
    public String toString() {
      return "Partial(" + op.name().toLowerCase(Locale.ROOT) + ")";
    }
  }
}
