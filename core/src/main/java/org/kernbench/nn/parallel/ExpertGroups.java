package org.kernbench.nn.parallel;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.torch.ProcessGroup;

/**
 * The groups of one rank in layers of experts. The ranks of a stage are numbered once more for
 * them, {@code etp-ep-edp}, whatever {@code tp}, {@code cp} and {@code dp} are: a view of the same
 * ranks ({@code docs/spec/megatron.md} 1.4).
 *
 * @param etp expert tensor parallel: divides each expert
 * @param ep expert parallel: divides the experts
 * @param edp expert data parallel: ranks with the same part of the same experts, over which their
 *     gradients are summed
 * @param region {@code etp} and {@code ep} together: ranks that have all experts once
 * @param stage all ranks of the stage
 */
public record ExpertGroups(
    ProcessGroup etp, ProcessGroup ep, ProcessGroup edp, ProcessGroup region, ProcessGroup stage) {
  private static final String VIEW = "experts";

  /**
   * Sizes of the groups.
   *
   * @param ep ranks over which experts are divided, 1 or more
   * @param etp ranks over which each expert is divided, 1 or more
   */
  public record Sizes(int ep, int etp) {
    /** All experts whole on each rank. */
    public static final Sizes NONE = new Sizes(1, 1);

    /** Checks the numbers. */
    public Sizes {
      if (ep < 1 || etp < 1) {
        throw LayoutException.argument("ep " + ep + ", etp " + etp + "; expected 1 or more");
      }
    }

    /**
     * Refuses what does not divide the ranks of a stage.
     *
     * @throws LayoutException with the sizes that do
     */
    public void check(int tp, int cp, int dp) {
      int ranks = tp * cp * dp;
      if (ranks % (ep * etp) != 0) {
        throw LayoutException.argument(
            """
            ep %s x etp %s do not divide the %s ranks of a stage, tp %s x cp %s x dp %s; expected \
            sizes that do, so that every expert is somewhere equally often\
            """
                .formatted(ep, etp, ranks, tp, cp, dp));
      }
    }
  }

  /**
   * Makes the groups of a grid with dimensions {@code tp}, {@code dp} and perhaps {@code cp} and
   * {@code pp}, the latter last. All ranks of the world call it alike.
   *
   * @throws LayoutException if the sizes do not divide the ranks of a stage
   */
  public static ExpertGroups of(HyperCommGrid grid, Sizes sizes) {
    RankGrid ranks = grid.ranks();
    int cp = ranks.has(Dim.CP) ? ranks.size(Dim.CP) : 1;
    int pp = ranks.has(Dim.PP) ? ranks.size(Dim.PP) : 1;
    sizes.check(ranks.size(Dim.TP), cp, ranks.size(Dim.DP));
    int edp = ranks.size() / pp / sizes.ep / sizes.etp;
    List<Integer> shape = new ArrayList<>(List.of(sizes.etp, sizes.ep, edp));
    List<Dim> dims = new ArrayList<>(List.of(Dim.ETP, Dim.EP, Dim.EDP));
    if (ranks.has(Dim.PP)) {
      shape.add(pp);
      dims.add(Dim.PP);
    }
    List<String> names = dims.stream().map(Dim::token).toList();
    List<String> shared = ranks.has(Dim.PP) ? List.of(Dim.PP.token()) : List.of();
    grid.registerView(VIEW, shape, names, shared);
    return new ExpertGroups(
        grid.createIn(VIEW, Dim.ETP),
        grid.createIn(VIEW, Dim.EP),
        grid.createIn(VIEW, Dim.EDP),
        grid.createIn(VIEW, Dim.ETP, Dim.EP),
        grid.createIn(VIEW, Dim.ETP, Dim.EP, Dim.EDP));
  }

  /**
   * The number in its stage of a member of this rank's region.
   *
   * @param etpRank its number in its {@code etp} group
   * @param epRank its number in its {@code ep} group
   */
  public int inStage(int etpRank, int epRank) {
    return etpRank + etp.size() * (epRank + ep.size() * edp.rank());
  }
}
