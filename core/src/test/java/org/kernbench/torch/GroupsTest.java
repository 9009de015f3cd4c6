package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.device.Mode;
import org.kernbench.machine.SimulationException;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.DpPolicy;

/** Process groups mean what they mean in PyTorch, with its traps turned into errors. */
final class GroupsTest {
  private static void spawn(int ranks, Consumer<Worker> body) {
    try (Torch torch = Rooms.ring(ranks, Mode.FULL)) {
      Rooms.spawn(torch, body);
    }
  }

  private static Tensor one(Worker w) {
    return w.torch().full(Shape.of(2), DType.F32, w.rank() + 1, "t");
  }

  @Test
  void newGroup_ranksInAnyOrder_areSortedAndCountedFromTheLeast() {
    List<String> seen = new ArrayList<>();
    spawn(
        5,
        w -> {
          ProcessGroup g = w.distributed().newGroup(4, 1, 3);
          seen.add(g.name() + " " + g.ranks() + " " + g.rank() + " " + g.isMember());
          assertThat(g.globalRank(1)).isEqualTo(3);
          assertThat(g.groupRank(4)).isEqualTo(2);
          assertThat(g.groupRank(0)).isEqualTo(-1);
          assertThat(w.distributed().getRank(g)).isEqualTo(g.rank());
        });
    assertThat(seen)
        .containsExactly(
            "group 1 [1, 3, 4] -1 false",
            "group 1 [1, 3, 4] 0 true",
            "group 1 [1, 3, 4] -1 false",
            "group 1 [1, 3, 4] 1 true",
            "group 1 [1, 3, 4] 2 true");
  }

  @Test
  void collective_ofANonMember_isAnErrorAndNeverTheWorld() {
    assertThatThrownBy(() ->
            spawn(
                3,
                w -> {
                  ProcessGroup g = w.distributed().newGroup(0, 2);
                  if (w.rank() == 1) {
                    g.allReduce(one(w));
                  }
                }))
        .isInstanceOf(SpawnException.class)
        .hasMessageContaining(
            "rank 1: allReduce in group 1 [0, 2]: the rank is not a member, of [0, 2]");
  }

  @Test
  void newGroup_badLists_areRefusedWithTheReason() {
    spawn(
        3,
        w -> {
          Distributed d = w.distributed();
          assertThatThrownBy(() -> d.newGroup(0, 3))
              .isInstanceOf(SimulationException.class)
              .hasMessage("newGroup: rank 3; expected 0 to 2");
          assertThatThrownBy(() -> d.newGroup(-1)).hasMessageContaining("rank -1");
          assertThatThrownBy(() -> d.newGroup(1, 1)).hasMessageContaining("rank 1 twice");
          assertThatThrownBy(() -> d.newGroup(List.of())).hasMessageContaining("empty list");
          assertThatThrownBy(() -> d.newGroup(0, 1, 2, 2)).hasMessageContaining("4 ranks");
          assertThatThrownBy(
                  () -> d.newSubgroupsByEnumeration(List.of(List.of(0, 1), List.of(2, 1))))
              .hasMessageContaining("rank 1 is in list 0, [0, 1], and in list 1, [2, 1]");
          assertThatThrownBy(() -> d.newSubgroupsByEnumeration(List.of()))
              .hasMessageContaining("no list of ranks");
        });
  }

  @Test
  void newSubgroups_someRanksInNone_getAHandleThatNoOperationTakes() {
    Map<Integer, Double> seen = new TreeMap<>();
    spawn(
        5,
        w -> {
          SubGroups s =
              w.distributed().newSubgroupsByEnumeration(List.of(List.of(0, 3), List.of(1, 2)));
          assertThat(s.all()).hasSize(2);
          assertThat(s.all().get(1).ranks()).containsExactly(1, 2);
          assertThat(s.own().isMember()).isEqualTo(w.rank() != 4);
          Tensor t = one(w);
          if (s.own().isMember()) {
            s.own().allReduce(t);
            seen.put(w.rank(), t.get(0));
          } else {
            assertThatThrownBy(() -> s.own().allReduce(t)).hasMessageContaining("not a member");
          }
        });
    assertThat(seen).isEqualTo(Map.of(0, 5.0, 3, 5.0, 1, 5.0, 2, 5.0));
  }

  @Test
  void hostProgram_makesGroups_ranksUseThemInEverySpawn() {
    try (Torch torch = Rooms.ring(4, Mode.FULL)) {
      torch.distributed().initProcessGroup();
      ProcessGroup even = torch.distributed().newGroup(0, 2);
      for (int i = 0; i < 2; i++) {
        List<Double> seen = new ArrayList<>();
        torch
            .multiprocessing()
            .spawn(
                w -> {
                  if (even.isMember()) {
                    Tensor t = one(w);
                    even.allReduce(t);
                    seen.add(t.get(0));
                  }
                },
                4);
        assertThat(seen).containsExactly(4.0, 4.0);
      }
    }
  }

  @Test
  void destroy_groupThenUse_isAnError() {
    assertThatThrownBy(() ->
            spawn(
                2,
                w -> {
                  ProcessGroup g = w.distributed().newGroup(0, 1);
                  w.distributed().destroyProcessGroup(g);
                  g.allReduce(one(w));
                }))
        .hasMessageContaining("allReduce in group 1 [0, 1]: the group has been destroyed");
  }

  @Test
  void destroy_world_endsAllGroups() {
    assertThatThrownBy(() ->
            spawn(
                2,
                w -> {
                  ProcessGroup g = w.distributed().newGroup(0, 1);
                  w.distributed().destroyProcessGroup();
                  w.distributed().initProcessGroup();
                  g.allReduce(one(w));
                }))
        .hasMessageContaining("the group has been destroyed");
  }

  /** Messages that a kernel of an old generation left behind are never taken by a new one. */
  @Test
  void generations_kernelLeavesAMessage_theNextGroupDoesNotSeeIt() {
    List<Double> seen = new ArrayList<>();
    try (Torch torch = Rooms.ring(2, Mode.FULL)) {
      torch
          .multiprocessing()
          .spawn(
              w -> {
                Distributed d = w.distributed();
                for (int generation = 0; generation < 3; generation++) {
                  d.initProcessGroup();
                  Tensor t = one(w);
                  w.torch().launch("stray", tl -> tl.send("E", tl.load(t)), d.queues(), t);
                  d.allReduce(t);
                  Tensor got = w.torch().zeros(Shape.of(2), DType.F32, "got");
                  w.torch()
                      .launch(
                          "take",
                          tl -> tl.store(got, tl.recv("W", Shape.of(2), DType.F32)),
                          d.queues(),
                          got);
                  seen.add(t.get(0));
                  seen.add(got.get(0));
                  w.torch().launch("stray", tl -> tl.send("E", tl.load(t)), d.queues(), t);
                  d.barrier();
                  d.destroyProcessGroup();
                }
              },
              2);
    }
    // every generation: the sum of 1 and 2, and the other's own number as it was before
    assertThat(seen).hasSize(12);
    for (int i = 0; i < seen.size(); i += 2) {
      assertThat(seen.get(i)).isEqualTo(3.0);
    }
    assertThat(IntStream.range(0, 6).mapToObj(i -> seen.get(2 * i + 1))).containsOnly(1.0, 2.0);
  }

  /** Values whose sum depends on the order of the additions. */
  @ParameterizedTest
  @EnumSource(
      value = ReduceKind.class,
      names = {"SUM", "PRODUCT", "AVG"})
  void reduction_roundingValues_sameBitsOnEveryRankAndInEveryRun(ReduceKind kind) {
    List<byte[]> results = new ArrayList<>();
    for (int run = 0; run < 2; run++) {
      spawn(
          7,
          w -> {
            double[] values = new double[100];
            for (int i = 0; i < values.length; i++) {
              values[i] = 1 + Math.sin(w.rank() * 1000 + i) * Math.pow(10, w.rank() % 3);
            }
            Tensor t = w.torch().from(values, Shape.of(100), DType.F16, "t");
            w.distributed().allReduce(t, kind);
            results.add(t.toBytes());
          });
    }
    assertThat(results).hasSize(14).allMatch(b -> Arrays.equals(b, results.getFirst()));
  }

  /** A ring of two ranks: both directions lead to the same peer. */
  @Test
  void twoRankRing_everyOperation_doesNotDeadlock() {
    spawn(
        2,
        w -> {
          Distributed d = w.distributed();
          Tensor t = one(w);
          Tensor whole = w.torch().zeros(Shape.of(4), DType.F32, "whole");
          Tensor other = w.torch().zeros(Shape.of(4), DType.F32, "other");
          d.allReduce(t);
          assertThat(t.get(0)).isEqualTo(3);
          d.allGather(whole, t);
          d.reduceScatter(t, whole, ReduceKind.SUM);
          assertThat(t.get(0)).isEqualTo(6);
          d.allToAll(other, whole);
          d.broadcast(t, 1);
          d.reduce(t, 0, ReduceKind.MAX);
          d.barrier();
          d.batchIsendIrecv(
                  List.of(P2POp.isend(t, 1 - w.rank()), P2POp.irecv(copy(w), 1 - w.rank())))
              .forEach(Work::await);
        });
  }

  private static Tensor copy(Worker w) {
    return w.torch().zeros(Shape.of(2), DType.F32, "copy");
  }

  @Test
  void groupOfOne_everyOperation_isTheIdentityWithoutMessages() {
    try (Torch torch = Rooms.ring(2, Mode.FULL)) {
      Rooms.spawn(
          torch,
          w -> {
            SubGroups s =
                w.distributed().newSubgroupsByEnumeration(List.of(List.of(0), List.of(1)));
            ProcessGroup g = s.own();
            assertThat(g.algorithm()).isEqualTo("copy");
            Tensor t = one(w);
            Tensor u = w.torch().zeros(Shape.of(2), DType.F32, "u");
            g.allReduce(t, ReduceKind.AVG);
            g.broadcast(t, w.rank());
            g.allGather(u, t);
            assertThat(u.toFloats()).containsOnly(w.rank() + 1);
            g.reduceScatter(t, u, ReduceKind.SUM);
            g.gather(u, t, w.rank());
            g.scatter(t, u, w.rank());
            g.allToAll(u, t);
            g.barrier();
            assertThat(u.toFloats()).containsOnly(w.rank() + 1);
          });
      assertThat(torch.distributed().history()).allMatch(r -> r.algorithm().equals("copy"));
    }
  }

  /** Rank r sends r + k rows to rank k, all of them {@code 10 r + k}. */
  @Test
  void allToAllAsync_blocksOfDifferentSizes_arriveInOrderOfTheirSenders() {
    int ranks = 3;
    List<float[]> seen = new ArrayList<>();
    spawn(
        ranks,
        w -> {
          List<Integer> out = new ArrayList<>();
          List<Integer> in = new ArrayList<>();
          List<Float> sent = new ArrayList<>();
          List<Float> expected = new ArrayList<>();
          for (int k = 0; k < ranks; k++) {
            in.add(w.rank() + k);
            out.add(k + w.rank());
            sent.addAll(Collections.nCopies(w.rank() + k, 10f * w.rank() + k));
            expected.addAll(Collections.nCopies(k + w.rank(), 10f * k + w.rank()));
          }
          double[] rows = sent.stream().mapToDouble(v -> v).toArray();
          Tensor input = w.torch().from(rows, Shape.of(rows.length, 1), DType.F32, "input");
          Tensor output = w.torch().zeros(Shape.of(expected.size(), 1), DType.F32, "output");
          Work work = w.distributed().world().allToAllAsync(output, input, out, in);
          work.await();
          float[] want = new float[expected.size()];
          for (int i = 0; i < want.length; i++) {
            want[i] = expected.get(i);
          }
          assertThat(output.toFloats()).containsExactly(want);
          assertThat(work.isCompleted()).isTrue(); // reading has waited
          seen.add(want);
        });
    assertThat(seen).hasSize(ranks);
  }

  @Test
  void reduceScatter_sumIntoPartsOfOneRow_isTheConjugateOfAllGather() {
    List<float[]> seen = new ArrayList<>();
    spawn(
        3,
        w -> {
          Tensor whole = w.torch().full(Shape.of(3, 2), DType.F32, w.rank() + 1, "whole");
          Tensor part = w.torch().zeros(Shape.of(1, 2), DType.F32, "part");
          w.distributed().reduceScatter(part, whole, ReduceKind.SUM);
          w.distributed().allGather(whole, part);
          seen.add(whole.toFloats());
        });
    assertThat(seen).hasSize(3).allMatch(v -> Arrays.equals(v, new float[] {6, 6, 6, 6, 6, 6}));
  }

  @Test
  void lanes_firstAxisSpread_isRefusedWhereTheCallCutsIt() {
    try (Torch torch = Rooms.cubes(2, 2, Mode.FULL)) {
      assertThatThrownBy(() ->
              Rooms.spawn(
                  torch,
                  w -> {
                    Tensor whole =
                        w.torch().zeros(Shape.of(8, 2), DType.F32, DpPolicy.rowWise(), "whole");
                    Tensor part =
                        w.torch().zeros(Shape.of(2, 2), DType.F32, DpPolicy.rowWise(), "part");
                    w.distributed().allGather(whole, part);
                  }))
          .hasMessageContaining("is spread along its first axis, which allGather cuts");
    }
  }

  /** Parts of different lengths, each spread over the PEs of its rank by columns. */
  @Test
  void lanes_raggedParts_areGathered() {
    try (Torch torch = Rooms.cubes(2, 2, Mode.FULL)) {
      Rooms.spawn(
          torch,
          w -> {
            List<Integer> rows = List.of(1, 2, 3, 1);
            Shape own = Shape.of(rows.get(w.rank()), 2);
            Tensor part =
                w.torch().full(own, DType.F32, w.rank() + 1, DpPolicy.columnWise(), "part");
            Tensor whole =
                w.torch().zeros(Shape.of(7, 2), DType.F32, DpPolicy.columnWise(), "whole");
            w.distributed().newGroup(0, 1, 2, 3).allGather(whole, part, rows);
            assertThat(whole.toFloats()).containsExactly(1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 4, 4);
          });
    }
  }

  @Test
  void lanes_placedDifferently_isAMismatch() {
    try (Torch torch = Rooms.cubes(2, 2, Mode.FULL)) {
      assertThatThrownBy(() ->
              Rooms.spawn(
                  torch,
                  w -> {
                    DpPolicy policy = w.rank() == 3 ? DpPolicy.rowWise() : DpPolicy.columnWise();
                    w.distributed()
                        .allReduce(w.torch().zeros(Shape.of(8, 2), DType.F32, policy, "t"));
                  }))
          .hasMessageContaining("ranks disagree")
          .hasMessageContaining("f32[8, 2], SUM, on 2 PEs, the last ")
          .hasMessageContaining("rank 3");
    }
  }
}
