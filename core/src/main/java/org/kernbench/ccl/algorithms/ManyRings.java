package org.kernbench.ccl.algorithms;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Schedule;
import org.kernbench.ccl.flow.Dataflow;
import org.kernbench.ccl.flow.DrawnAlgorithm;
import org.kernbench.ccl.flow.RingsFlow;
import org.kernbench.machine.Machine;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.placement.RankLevel;

/**
 * Several rings at once over packages that are joined each to each: the vector in as many parts,
 * each round a ring of its own, and no two rings over one link ({@link HamiltonCycles}). With all
 * of them every link carries the same, {@code 2 S/p} of an all-reduce over p ranks, for all p but 4
 * and 6. What {@code rings} of {@code ring} and {@code cycle} is.
 */
record ManyRings(String name, Set<CollectiveOp> operations) implements DrawnAlgorithm {

  /**
   * A schedule of several rings, where so many are wanted and exist; empty if it is one, which is
   * not drawn.
   *
   * @throws CollectiveException if rings would share links
   */
  static Optional<Schedule> wanted(
      CollectiveAlgorithm of, Group group, IpcqSpec queues, AlgorithmConfig config) {
    int rings = config.rings().orElse(1);
    if (rings == 1 || group.size() < 2 || (rings == AlgorithmConfig.ALL && group.size() == 2)) {
      return Optional.empty();
    }
    return Optional.of(new ManyRings(of.name(), of.operations()).plan(group, queues, config));
  }

  @Override
  public RankLevel defaultRankLevel() {
    return RankLevel.SIP;
  }

  @Override
  public Artist artist(Group group, AlgorithmConfig config) {
    List<int[]> rings = rings(group, config);
    return new Artist() {
      @Override
      public List<Dataflow> draw(CollectiveOp op, int root) {
        return List.of(RingsFlow.draw(group.size(), op, rings));
      }

      @Override
      public int rings() {
        return rings.size();
      }
    };
  }

  private static List<int[]> rings(Group group, AlgorithmConfig config) {
    int wanted = config.rings().orElse(1);
    checkPackages(group, config);
    List<int[]> all = HamiltonCycles.of(group.size());
    if (wanted != AlgorithmConfig.ALL && wanted > all.size()) {
      throw new CollectiveException(
          """
          algorithms.%s.rings: got %s; %s packages joined each to each have %s that share no \
          link: use at most %s, or all\
          """
              .formatted(config.name(), wanted, group.size(), all.size(), all.size()));
    }
    List<int[]> rings = all.subList(0, Math.min(wanted, all.size()));
    checkLinks(group, config, rings);
    return rings;
  }

  private static void checkPackages(Group group, AlgorithmConfig config) {
    Map<Integer, Integer> rankOf = new HashMap<>();
    for (int rank = 0; rank < group.size(); rank++) {
      Integer other = rankOf.put(group.lead(rank).sip(), rank);
      if (other != null) {
        throw refused(config, "ranks %s and %s are on one package".formatted(other, rank));
      }
    }
  }

  private static void checkLinks(Group group, AlgorithmConfig config, List<int[]> rings) {
    Machine m = group.machine();
    Set<Integer> used = new HashSet<>();
    for (int[] ring : rings) {
      for (int i = 0; i < ring.length; i++) {
        int to = ring[(i + 1) % ring.length];
        for (int link : m.route(group.lead(ring[i]), group.lead(to)).links()) {
          if (m.linkKind(link).isBetweenSips() && !used.add(link)) {
            throw refused(config, "rings would share link " + m.link(link).name());
          }
        }
      }
    }
  }

  private static CollectiveException refused(AlgorithmConfig config, String why) {
    int wanted = config.rings().orElse(1);
    return new CollectiveException(
        """
        algorithms.%s.rings: got %s, but %s; expected packages that are joined each to each \
        (fully_connected), with one rank on each: use 1\
        """
            .formatted(config.name(), wanted == AlgorithmConfig.ALL ? "all" : wanted, why));
  }
}
