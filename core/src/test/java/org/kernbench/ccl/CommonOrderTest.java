package org.kernbench.ccl;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.config.ConfigException;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.ProcessGroup;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/** Groups that were made together add in one order. */
final class CommonOrderTest {
  private static final int ELEMENTS = 60;

  /** They add in the order in which the links of their own group let values come. */
  private static final Set<String> BY_LINKS = Set.of("packed_trees", "double_binary_tree");

  private static Machine torus(int width, int height) {
    return Machines.load(
        "ring",
        List.of(
            "system.sips.topology=torus_2d",
            "system.sips.count=" + width * height,
            "system.sips.w=" + width,
            "system.sips.h=" + height));
  }

  /** Group g of {@code groups} has every rank that leaves g. */
  private static List<List<Integer>> interleaved(int ranks, int groups) {
    return IntStream.range(0, groups)
        .mapToObj(g -> IntStream.range(0, ranks / groups).mapToObj(i -> g + i * groups).toList())
        .toList();
  }

  private static List<List<Pe>> leads(List<List<Integer>> groups) {
    return groups.stream()
        .map(ranks -> ranks.stream().map(sip -> new Pe(sip, 0, 0)).toList())
        .toList();
  }

  private static List<Integer> own(Machine machine, List<Pe> leads) {
    RingOrder order = RingOrder.of(new Group(machine, RankLevel.SIP, leads));
    return IntStream.range(0, leads.size()).mapToObj(order::rankAt).toList();
  }

  private static long slowestHopPs(Machine machine, List<List<Pe>> groups, List<Integer> order) {
    long slowest = 0;
    for (List<Pe> leads : groups) {
      for (int i = 0; i < order.size(); i++) {
        Pe from = leads.get(order.get(i));
        Pe to = leads.get(order.get((i + 1) % order.size()));
        slowest = Math.max(slowest, LinkCosts.between(machine, from, to).messagePs(64 << 10));
      }
    }
    return slowest;
  }

  @Test
  void common_groupsThatWouldDiffer_isTheQuickestOfTheirOrders() {
    Random random = new Random(324);
    int differing = 0;
    for (int i = 0; i < 60; i++) {
      Machine machine = torus(2 + random.nextInt(3), 2 + random.nextInt(3));
      List<Integer> all = new ArrayList<>(IntStream.range(0, machine.sips()).boxed().toList());
      Collections.shuffle(all, random);
      int size = machine.sips() / 2;
      List<List<Pe>> groups =
          leads(
              Stream.of(all.subList(0, size), all.subList(size, 2 * size))
                  .map(ranks -> ranks.stream().sorted().toList())
                  .toList());
      List<List<Integer>> natural = groups.stream().map(leads -> own(machine, leads)).toList();
      List<Integer> common = RingOrder.common(machine, groups);

      if (size < 3 || natural.stream().distinct().count() == 1) {
        assertThat(common).isEmpty();
        continue;
      }
      differing++;
      assertThat(natural).contains(common);
      long slowest = slowestHopPs(machine, groups, common);
      natural.forEach(other ->
          assertThat(slowestHopPs(machine, groups, other)).isGreaterThanOrEqualTo(slowest));
    }
    assertThat(differing).isGreaterThan(20);
  }

  @Test
  void common_packagesOfADefaultMachine_differ() {
    Machine machine = torus(3, 2);
    List<List<Pe>> groups = leads(interleaved(6, 2));

    assertThat(own(machine, groups.get(0))).isNotEqualTo(own(machine, groups.get(1)));
    assertThat(RingOrder.common(machine, groups)).isEqualTo(own(machine, groups.get(0)));
  }

  /** Rank i of each group has the same numbers, whose sum depends on the order. */
  @ParameterizedTest
  @CsvSource({
    "3, 2, 2, ALL_REDUCE",
    "4, 3, 2, ALL_REDUCE",
    "4, 3, 3, ALL_REDUCE",
    "3, 3, 3, ALL_REDUCE",
    "4, 3, 2, REDUCE_SCATTER",
    "4, 3, 3, REDUCE_SCATTER",
    "3, 2, 2, REDUCE",
    "4, 3, 2, REDUCE"
  })
  void sums_ofTheSameValuesInGroupsMadeTogether_haveTheSameBits(
      int width, int height, int groups, CollectiveOp op) {
    Machine machine = torus(width, height);
    int ranks = width * height;
    Set<String> served = new TreeSet<>();
    for (String algorithm : CclConfig.load(Optional.empty(), List.of()).names(op)) {
      Map<Integer, double[]> results = new ConcurrentHashMap<>();
      try {
        run(
            machine,
            op,
            algorithm,
            worker -> {
              ProcessGroup group =
                  worker
                      .distributed()
                      .newSubgroupsByEnumeration(interleaved(ranks, groups), "replicas")
                      .own();
              results.put(worker.rank(), sum(worker, group, op));
            });
      } catch (SimulationException | ConfigException | CollectiveException e) {
        continue; // not for such groups
      }
      for (int rank = 0; rank < ranks; rank++) {
        int same = op == CollectiveOp.ALL_REDUCE ? 0 : rank / groups * groups;
        if (!BY_LINKS.contains(algorithm)) {
          assertThat(results.get(rank))
              .as("%s, rank %d", algorithm, rank)
              .isEqualTo(results.get(same));
        }
      }
      served.add(algorithm);
    }
    assertThat(served).contains(op == CollectiveOp.REDUCE_SCATTER ? "cycle" : "chain");
    assertThat(served).hasSizeGreaterThan(5);
  }

  private static double[] sum(Worker worker, ProcessGroup group, CollectiveOp op) {
    Random random = new Random(group.rank());
    double[] own = random.doubles(ELEMENTS * group.size()).map(x -> x - 0.5).toArray();
    Tensor in = worker.torch().from(own, Shape.of(own.length), DType.F64, "x");
    if (op == CollectiveOp.REDUCE_SCATTER) {
      Tensor out = worker.torch().zeros(Shape.of(ELEMENTS), DType.F64, "part");
      group.reduceScatter(out, in, ReduceKind.SUM);
      return out.toDoubles();
    }
    if (op == CollectiveOp.REDUCE) {
      group.reduce(in, group.globalRank(0), ReduceKind.SUM);
      return group.rank() == 0 ? in.toDoubles() : new double[0];
    }
    group.allReduce(in, ReduceKind.SUM);
    return in.toDoubles();
  }

  private static void run(
      Machine machine, CollectiveOp op, String algorithm, Consumer<Worker> body) {
    List<String> how =
        op == CollectiveOp.ALL_REDUCE
            ? List.of("defaults.algorithm=" + algorithm, "defaults.subgroups=" + algorithm)
            : List.of("defaults.operations." + op.word().replace('-', '_') + "=" + algorithm);
    List<String> all = new ArrayList<>(List.of("defaults.algorithm=ring"));
    all.addAll(how);
    all.add(
        "algorithms." + (op == CollectiveOp.ALL_REDUCE ? algorithm : "ring") + ".rank_level=sip");
    CollectiveLibrary library =
        CollectiveLibrary.open(machine, CclConfig.load(Optional.empty(), all));
    TorchOptions options = TorchOptions.DEFAULT.withMode(Mode.VALUES).withCollectives(library);
    try (Torch torch = Torch.open(machine, options)) {
      torch.distributed().initProcessGroup("ahbm");
      torch.multiprocessing().spawn(body, machine.sips());
    }
  }
}
