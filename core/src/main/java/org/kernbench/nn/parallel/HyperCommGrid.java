package org.kernbench.nn.parallel;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.torch.Distributed;
import org.kernbench.torch.ProcessGroup;

/**
 * The process groups of one rank in a grid of ranks ({@code HyperCommGrid} in Megatron-LM): those
 * along one dimension or several, made when asked for and found again under one key, in whatever
 * order the dimensions are named.
 *
 * <p>To make groups is a collective of the <em>world</em>: all its ranks, also those outside of the
 * grid, make the same grids' groups in the same order; one that does not is named by the error. A
 * rank outside gets a handle that is no member, which no operation takes, never "none".
 *
 * <p>Source: {@code docs/spec/megatron.md} 1 and 2. All errors are {@link LayoutException}s.
 */
public final class HyperCommGrid {
  private final Distributed distributed;
  private final int rank;
  private RankGrid grid;
  private final Map<String, ProcessGroup> groups = new LinkedHashMap<>();

  /**
   * The groups of a grid, none of them made yet, for the rank that calls.
   *
   * @throws LayoutException of kind STATE if there is no process group, or the grid is larger than
   *     the world less its offset
   */
  public HyperCommGrid(Distributed distributed, RankGrid grid) {
    if (!distributed.isInitialized()) {
      throw LayoutException.state(
          "grid " + grid + ": the world's size is not known; call initProcessGroup first");
    }
    int world = distributed.getWorldSize();
    if (grid.size() > world - grid.offset()) {
      throw LayoutException.state(
          """
          grid %s of shape %s needs %s ranks, more than the world of %s less the offset %s\
          """
              .formatted(grid, grid.shape(), grid.size(), world, grid.offset()));
    }
    this.distributed = distributed;
    this.rank = distributed.getRank();
    this.grid = grid;
  }

  /**
   * {@link #HyperCommGrid(Distributed, RankGrid)} of {@link RankGrid#of(List, List, int)}.
   *
   * @param shape size of each dimension
   * @param names of the dimensions, the fastest first
   * @param offset number of the first rank
   */
  public HyperCommGrid(
      Distributed distributed, List<Integer> shape, List<String> names, int offset) {
    this(distributed, RankGrid.of(shape, names, offset));
  }

  /** How ranks are numbered, and which groups there can be. */
  public RankGrid ranks() {
    return grid;
  }

  /** The number of the rank whose groups these are. */
  public int rank() {
    return rank;
  }

  public Distributed distributed() {
    return distributed;
  }

  /** Whether this rank is in the grid ({@code is_current_rank_in_grid}). */
  public boolean isMember() {
    return grid.contains(rank);
  }

  /** {@link RankGrid#withView}, of this grid. */
  public void registerView(
      String view, List<Integer> shape, List<String> names, List<String> shared) {
    grid = grid.withView(view, shape, names, shared);
  }

  /** {@link RankGrid#enumerate(Collection)}: the groups that {@link #create} would make. */
  public List<List<Integer>> enumerate(String... dims) {
    return grid.enumerate(dims);
  }

  /** {@link RankGrid#enumerate(Dim, Dim...)}. */
  public List<List<Integer>> enumerate(Dim first, Dim... more) {
    return grid.enumerate(Dim.tokens(first, more));
  }

  /**
   * Makes the groups along some dimensions ({@code create_pg}); all ranks of the world call it.
   *
   * @return the group of this rank; a handle that is no member for a rank outside of the grid
   * @throws LayoutException of kind KEY if they have been made: what was asked for then may differ
   */
  public ProcessGroup create(String... dims) {
    return createIn(RankGrid.BASE, dims);
  }

  /** {@link #create(String...)} of the dimensions that training knows. */
  public ProcessGroup create(Dim first, Dim... more) {
    return createIn(RankGrid.BASE, first, more);
  }

  /** {@link #createIn(String, String...)} of the dimensions that training knows. */
  public ProcessGroup createIn(String view, Dim first, Dim... more) {
    return createIn(view, Dim.tokens(first, more).toArray(String[]::new));
  }

  /** {@link #create} of dimensions of a view; of shared ones only, makes the base's. */
  public ProcessGroup createIn(String view, String... dims) {
    List<String> asked = List.of(dims);
    String key = grid.key(view, asked);
    if (groups.containsKey(key)) {
      throw LayoutException.key(
          "grid %s: groups %s exist; use get, or destroy before the next create"
              .formatted(grid, key));
    }
    List<List<Integer>> ranks = grid.enumerateIn(view, asked);
    ProcessGroup own = distributed.newSubgroupsByEnumeration(ranks, String.join("-", asked)).own();
    groups.put(key, own);
    return own;
  }

  /**
   * The group of this rank along some dimensions ({@code get_pg}), which {@link #create} has made.
   *
   * @throws LayoutException of kind KEY if it has not
   */
  public ProcessGroup get(String... dims) {
    return getIn(RankGrid.BASE, dims);
  }

  /** {@link #get(String...)} of the dimensions that training knows. */
  public ProcessGroup get(Dim first, Dim... more) {
    return getIn(RankGrid.BASE, Dim.tokens(first, more).toArray(String[]::new));
  }

  /** {@link #get} of dimensions of a view; of shared ones only, the base's. */
  public ProcessGroup getIn(String view, String... dims) {
    String key = grid.key(view, List.of(dims));
    ProcessGroup found = groups.get(key);
    if (found == null) {
      throw LayoutException.key(
          """
          grid %s: no groups %s; create them first, on every rank of the world; there are \
          %s\
          """
              .formatted(grid, key, groups.keySet()));
    }
    return found;
  }

  /**
   * Leaves every group that this rank is a member of, and forgets all; the same can be made again.
   */
  public void destroy() {
    for (ProcessGroup group : groups.values()) {
      if (distributed.isInitialized() && group.isMember()) {
        distributed.destroyProcessGroup(group);
      }
    }
    groups.clear();
  }

  @Override
  public String toString() {
    return "HyperCommGrid(" + grid + ")";
  }
}
