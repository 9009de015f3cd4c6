package org.kernbench.ccl;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.torch.placement.RankLevel;

/** The ranks that take part in a collective, and where they are. */
public final class Group {
  private final Machine machine;
  private final RankLevel level;
  private final List<Pe> leads;
  private final Map<Pe, Integer> ranks = new HashMap<>();

  /**
   * A group.
   *
   * @param level what one rank owns
   * @param leads by rank, the PE that runs the rank's part of a collective; all different
   */
  public Group(Machine machine, RankLevel level, List<Pe> leads) {
    this.machine = machine;
    this.level = level;
    this.leads = List.copyOf(leads);
    for (int rank = 0; rank < this.leads.size(); rank++) {
      Integer other = ranks.put(this.leads.get(rank), rank);
      if (other != null) {
        throw new IllegalArgumentException(
            "ranks " + other + " and " + rank + " share " + this.leads.get(rank));
      }
    }
  }

  /** The machine they are on. */
  public Machine machine() {
    return machine;
  }

  /** What one rank owns. */
  public RankLevel level() {
    return level;
  }

  /** By rank, the PE that runs the rank's part. */
  public List<Pe> leads() {
    return leads;
  }

  /** The PE that runs a rank's part. */
  public Pe lead(int rank) {
    return leads.get(rank);
  }

  /** Number of ranks. */
  public int size() {
    return leads.size();
  }

  /**
   * The rank whose part a PE runs.
   *
   * @throws CollectiveException if it runs none
   */
  public int rankOf(Pe pe) {
    Integer rank = ranks.get(pe);
    if (rank == null) {
      throw new CollectiveException(
          pe + " runs the part of no rank; launch the kernel on the lead PEs of the group only");
    }
    return rank;
  }
}
