package org.kernbench.ccl.algorithms;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.Axes;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.flow.Dataflow;
import org.kernbench.ccl.flow.DrawnAlgorithm;
import org.kernbench.ccl.flow.GridFlow;
import org.kernbench.ccl.flow.GridFlow.Colour;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.placement.RankLevel;

/**
 * An algorithm that goes along the axes of a grid; see {@link GridFlow}. Where it scatters and
 * gathers, the two halves are also a reduce-scatter and an all-gather.
 *
 * @param axes how ranks lie on a grid
 * @param design the phases on such a grid: ways to go, each a list of colours
 */
record GridAlgorithm(
    String name,
    String description,
    RankLevel defaultRankLevel,
    Set<CollectiveOp> operations,
    Function<Group, Axes> axes,
    Function<Axes, List<List<Colour>>> design)
    implements DrawnAlgorithm {

  @Override
  public Artist artist(Group group, AlgorithmConfig config) {
    Axes grid = axes.apply(group);
    List<List<Colour>> ways = design.apply(grid);
    boolean pieces = grid.count() > 1;
    return (op, root) -> {
      List<Dataflow> drawings = new ArrayList<>();
      for (List<Colour> colours : ways) {
        if (!pieces || canStayInPieces(op, group.size(), colours)) {
          drawings.add(GridFlow.draw(grid, op, colours, false));
        }
        if (pieces && (op == CollectiveOp.ALL_REDUCE || colours.size() == 1)) {
          drawings.add(GridFlow.draw(grid, op, colours, true));
        }
      }
      return drawings;
    };
  }

  /**
   * Whether an all-reduce can be drawn with a message for each block of each rank, which each rank
   * receives and stores; of very many ranks the blocks can only go joined.
   */
  private static boolean canStayInPieces(CollectiveOp op, int ranks, List<Colour> colours) {
    long blocks = (long) ranks * (ranks - 1) * colours.size();
    return op != CollectiveOp.ALL_REDUCE || 2 * blocks < Dataflow.MOST_PARTS;
  }
}
