package org.kernbench.torch;

import java.util.List;

/**
 * What {@code newSubgroupsByEnumeration} made.
 *
 * @param own the group that the calling rank is in; one that it is no member of if it is in none
 * @param all every group, in the order of the lists
 */
public record SubGroups(ProcessGroup own, List<ProcessGroup> all) {
  /** Copies the list. */
  public SubGroups {
    all = List.copyOf(all);
  }
}
