package org.kernbench.nn.placements;

import java.util.List;
import org.kernbench.machine.Pe;
import org.kernbench.nn.parallel.HyperCommGrid;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.torch.Distributed;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Torch;

/** Ranks in named dimensions, and the groups of one of them along each ({@code DeviceMesh}). */
public final class DeviceMesh {
  private final RankGrid ranks;
  private final List<ProcessGroup> groups;

  private final ProcessGroup world;

  private DeviceMesh(RankGrid ranks, List<ProcessGroup> groups, ProcessGroup world) {
    this.ranks = ranks;
    this.groups = groups;
    this.world = world;
  }

  /** The mesh of a grid, which has all ranks of the world. All ranks call it alike. */
  public static DeviceMesh create(Distributed distributed, RankGrid ranks) {
    HyperCommGrid grid = new HyperCommGrid(distributed, ranks);
    return new DeviceMesh(
        ranks, ranks.names().stream().map(grid::create).toList(), distributed.world());
  }

  /** Names of the dimensions, in the order in which placements are given. */
  public List<String> names() {
    return ranks.names();
  }

  /** Ranks along each dimension. */
  public List<Integer> sizes() {
    return ranks.shape();
  }

  /** The ranks that differ from this one in a dimension only. */
  public ProcessGroup group(int dimension) {
    return groups.get(dimension);
  }

  /**
   * How long a redistribution by rings takes, from the routes between the ranks: kernels, launches
   * and others on the way are not in it.
   */
  public long predictedPs(Torch torch, Redistribution plan) {
    return new MeshPace(torch.machine(), this).ps(plan);
  }

  /** Lead PEs of the ranks of each group along a dimension, of all ranks of the mesh. */
  List<List<Pe>> devices(int dimension) {
    List<Pe> leads = world.leadPes();
    return ranks.enumerate(names().get(dimension)).stream()
        .map(group -> group.stream().map(rank -> leads.get(world.groupRank(rank))).toList())
        .toList();
  }

  /** This rank's number along each dimension. */
  int[] coordinates() {
    return groups.stream().mapToInt(ProcessGroup::rank).toArray();
  }
}
