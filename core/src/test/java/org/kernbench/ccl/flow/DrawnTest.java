package org.kernbench.ccl.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.Bed;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.library.Auto;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.placement.RankLevel;

/**
 * Every drawn algorithm, on every network, number of ranks and root, proved: each rank is left with
 * what the operation asks for, every contribution in it exactly once.
 */
final class DrawnTest {
  private static final AlgorithmConfig CONFIG =
      CclConfig.load(Optional.empty(), List.of()).of("ring");

  /** All that are drawn. */
  static List<DrawnAlgorithm> algorithms() {
    List<DrawnAlgorithm> drawn = new ArrayList<>();
    for (String name : CollectiveLibrary.builtIn()) {
      if (!name.equals(Auto.NAME)
          && CollectiveLibrary.builtIn(name) instanceof DrawnAlgorithm each) {
        drawn.add(each);
      }
    }
    return drawn;
  }

  static Stream<Group> groups() {
    List<Group> groups = new ArrayList<>();
    for (int n = 2; n <= 17; n++) {
      for (String topology :
          List.of("ring_1d", "torus_2d", "mesh_2d_no_wrap", "switch", "fully_connected")) {
        boolean grid = topology.startsWith("torus") || topology.startsWith("mesh");
        if (n == 10 || n == 13 || n == 14 || (grid && (n < 4 || n % 2 == 1) && n != 9)) {
          continue;
        }
        Machine m =
            Machines.load(
                "ring", List.of("system.sips.count=" + n, "system.sips.topology=" + topology));
        groups.add(new Group(m, RankLevel.SIP, Bed.leads(m, RankLevel.SIP, n)));
      }
    }
    for (int[] shape : new int[][] {{4, 4}, {3, 5}, {1, 7}, {3, 3}, {17, 1}}) {
      Machine m =
          Machines.load(
              "tiny",
              List.of(
                  "system.sips.count=1",
                  "sip.cube_mesh.w=" + shape[0],
                  "sip.cube_mesh.h=" + shape[1]));
      groups.add(new Group(m, RankLevel.CUBE, Bed.leads(m, RankLevel.CUBE, shape[0] * shape[1])));
    }
    Machine six = Machines.load("sip-2026", List.of());
    groups.add(new Group(six, RankLevel.CUBE, Bed.leads(six, RankLevel.CUBE, 32)));
    groups.add(new Group(six, RankLevel.PE, Bed.leads(six, RankLevel.PE, 8)));
    groups.add(new Group(six, RankLevel.PE, Bed.leads(six, RankLevel.PE, 24)));
    List<Pe> scattered =
        List.of(
            new Pe(5, 3, 1), new Pe(0, 0, 0), new Pe(2, 7, 7), new Pe(2, 7, 1), new Pe(4, 15, 2));
    groups.add(new Group(six, RankLevel.PE, scattered));
    return groups.stream();
  }

  @ParameterizedTest
  @MethodSource("groups")
  void drawing_anyGroup_givesEveryRankWhatTheOperationAsksFor(Group group) {
    int n = group.size();
    for (DrawnAlgorithm algorithm : algorithms()) {
      DrawnAlgorithm.Artist artist = algorithm.artist(group, CONFIG);
      for (CollectiveOp op : algorithm.operations()) {
        for (int root : op.hasRoot() ? new int[] {0, n / 2, n - 1} : new int[] {-1}) {
          for (Dataflow flow : artist.draw(op, root)) {
            String what = algorithm.name() + " " + op + " root " + root;
            check(what, op, root, FlowProof.results(flow), n);
            assertThat(new FlowSteps(flow).all()).as(what).isNotEmpty();
          }
        }
      }
    }
  }

  private static void check(String what, CollectiveOp op, int root, BitSet[][] results, int n) {
    BitSet all = new BitSet();
    all.set(0, n);
    for (int rank = 0; rank < n; rank++) {
      for (int unit = 0; unit < results[rank].length; unit++) {
        BitSet expected = expected(op, root, rank, unit, n, all);
        assertThat(results[rank][unit])
            .as("%s: unit %d at rank %d of %d", what, unit, rank, n)
            .isEqualTo(expected);
      }
    }
  }

  private static BitSet expected(CollectiveOp op, int root, int rank, int unit, int n, BitSet all) {
    int owner = unit % n;
    return switch (op) {
      case ALL_REDUCE -> all;
      case REDUCE -> rank == root ? all : null;
      case REDUCE_SCATTER -> rank == owner ? all : null;
      case ALL_GATHER -> only(owner);
      case GATHER -> rank == root ? only(owner) : null;
      case BROADCAST -> only(root);
      case SCATTER -> rank == owner ? only(root) : null;
      case ALL_TO_ALL -> rank == unit % n ? only(unit / n) : null;
      case BARRIER, POINT_TO_POINT -> throw new AssertionError(op);
    };
  }

  private static BitSet only(int rank) {
    BitSet one = new BitSet();
    one.set(rank);
    return one;
  }

  @Test
  void proof_contributionTwice_isFound() {
    Dataflow flow = new Dataflow(2);
    flow.addUnits(1, 1);
    Dataflow.Part there = flow.move(flow.own(0, 0, 1), 1);
    Dataflow.Part sum = flow.combine(there, flow.own(1, 0, 1));
    flow.store(flow.finish(flow.combine(sum, flow.move(flow.own(0, 0, 1), 1))));
    assertThatThrownBy(() -> FlowProof.results(flow)).hasMessageContaining("twice");
  }
}
