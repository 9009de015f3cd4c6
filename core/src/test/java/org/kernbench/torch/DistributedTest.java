package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.CollectiveRun;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

final class DistributedTest {
  private static void spawn(int ranks, Consumer<Worker> body) {
    try (Torch torch = Runtimes.openRing(ranks, Mode.FULL)) {
      torch.distributed().initProcessGroup("ahbm");
      torch.multiprocessing().spawn(body, ranks);
    }
  }

  @ParameterizedTest
  @CsvSource({"1", "2", "3", "8"})
  void allReduce_rankHoldsRankPlusOne_everyRankHoldsTheSum(int n) {
    List<Double> seen = new ArrayList<>();
    spawn(
        n,
        w -> {
          Tensor t = w.torch().full(Shape.of(5), DType.F32, w.rank() + 1, "t");
          w.distributed().allReduce(t);
          seen.add(t.get(4));
        });
    assertThat(seen).hasSize(n).containsOnly(n * (n + 1) / 2.0);
  }

  @ParameterizedTest
  @EnumSource(ReduceKind.class)
  void allReduce_everyKind_matchesTheFormula(ReduceKind kind) {
    Map<ReduceKind, Double> expected =
        Map.of(
            ReduceKind.SUM, 10.0,
            ReduceKind.PRODUCT, 24.0,
            ReduceKind.MIN, 1.0,
            ReduceKind.MAX, 4.0,
            ReduceKind.AVG, 2.5);
    List<Double> seen = new ArrayList<>();
    spawn(
        4,
        w -> {
          Tensor t = w.torch().full(Shape.of(2), DType.F16, w.rank() + 1, "t");
          w.distributed().allReduce(t, kind);
          seen.add(t.get(1));
        });
    assertThat(seen).containsOnly(expected.get(kind)).hasSize(4);
  }

  /** A scalar has no rows that could be one member's part. */
  @Test
  void callsThatDivideRows_ofAScalar_sayThatItHasNone() {
    spawn(
        2,
        w -> {
          ProcessGroup world = w.distributed().world();
          Tensor scalar = w.torch().full(Shape.of(), DType.F32, 1, "s");
          Tensor other = w.torch().full(Shape.of(), DType.F32, 1, "other");
          String says = "tensor s is a scalar, which has no rows to divide";
          assertThatThrownBy(() -> world.allGather(other, scalar)).hasMessageContaining(says);
          assertThatThrownBy(() -> world.reduceScatter(scalar, other, ReduceKind.SUM))
              .hasMessageContaining(says);
          assertThatThrownBy(() -> world.allToAll(other, scalar)).hasMessageContaining(says);
        });
  }

  @ParameterizedTest
  @EnumSource(RankLevel.class)
  void allReduce_everyRankLevel_tensorsOnTheLeadPes(RankLevel level) {
    Machine machine = Runtimes.tiny();
    int ranks = level == RankLevel.SIP ? 1 : level == RankLevel.CUBE ? 4 : 8;
    ChainBackend backend = new ChainBackend(machine, level, ranks);
    Map<Integer, Pe> places = new TreeMap<>();
    List<Double> seen = new ArrayList<>();
    try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT.withCollectives(backend))) {
      torch
          .multiprocessing()
          .spawn(
              w -> {
                w.distributed().initProcessGroup("ahbm");
                Tensor t = w.torch().full(Shape.of(3), DType.F32, 1, "t");
                places.put(w.rank(), t.shardSpecs().getFirst().place());
                w.distributed().allReduce(t);
                seen.add(t.get(0));
              },
              ranks);
    }
    assertThat(seen).hasSize(ranks).containsOnly((double) ranks);
    for (int r = 0; r < ranks; r++) {
      Pe expected = level == RankLevel.PE ? new Pe(0, r / 2, r % 2) : new Pe(0, r, 0);
      assertThat(places.get(r)).isEqualTo(expected);
    }
  }

  @Test
  void allReduce_afterAKernel_seesItsResult() {
    List<Double> seen = new ArrayList<>();
    spawn(
        3,
        w -> {
          Tensor t = w.torch().zeros(Shape.of(4), DType.F32, "t");
          w.torch().launch("one", tl -> tl.store(t, tl.load(t).add(1)), t);
          w.distributed().allReduce(t);
          w.torch().launch("ten", tl -> tl.store(t, tl.load(t).mul(10)), t);
          seen.add(t.get(0));
        });
    assertThat(seen).containsExactly(30.0, 30.0, 30.0);
  }

  @Test
  void history_twoCollectives_remembersCallsAndTimes() {
    try (Torch torch = Runtimes.openRing(3, Mode.TIME)) {
      torch.distributed().initProcessGroup("ahbm");
      torch
          .multiprocessing()
          .spawn(
              w -> {
                Tensor t = w.torch().zeros(Shape.of(4, 2), DType.F16, "t");
                w.distributed().allReduce(t);
                w.distributed().allReduce(t, ReduceKind.MAX);
              },
              3);
      List<CollectiveRun> history = torch.distributed().history();
      assertThat(history).hasSize(2);
      CollectiveRun first = history.getFirst();
      assertThat(first.algorithm()).isEqualTo("chain");
      assertThat(first.op()).isEqualTo(CollectiveOp.ALL_REDUCE);
      assertThat(first.elements()).isEqualTo(8);
      assertThat(first.bytes()).isEqualTo(16);
      assertThat(first.ranks()).containsExactly(0, 1, 2);
      assertThat(first.launch().isDone()).isTrue();
      assertThat(first.launch().criticalPs()).isPositive();
      assertThat(history.get(1).reduce()).isEqualTo(ReduceKind.MAX);
    }
  }

  @ParameterizedTest
  @CsvSource({"shape", "dtype", "reduction", "op"})
  void allReduce_ranksDisagree_failAtOnceWithBothFingerprints(String how) {
    List<String> after = new ArrayList<>();
    assertThatThrownBy(() ->
            spawn(
                4,
                w -> {
                  boolean odd = w.rank() == 2;
                  Tensor t =
                      w.torch()
                          .zeros(
                              Shape.of(odd && how.equals("shape") ? 9 : 8),
                              odd && how.equals("dtype") ? DType.F16 : DType.F32,
                              "t");
                  if (odd && how.equals("op")) {
                    w.distributed().barrier();
                  } else {
                    w.distributed()
                        .allReduce(
                            t, odd && how.equals("reduction") ? ReduceKind.MIN : ReduceKind.SUM);
                  }
                  after.add("rank " + w.rank());
                }))
        .isInstanceOf(SpawnException.class)
        .hasCauseInstanceOf(CollectiveMismatchException.class)
        .hasMessageContaining(
            "rank 0: allReduce #0 of group world: f32[8], SUM, at DistributedTest")
        .hasMessageContaining(
            switch (how) {
              case "shape" -> "rank 2: allReduce #0 of group world: f32[9], SUM, at Distr";
              case "dtype" -> "rank 2: allReduce #0 of group world: f16[8], SUM, at Distr";
              case "reduction" -> "rank 2: allReduce #0 of group world: f32[8], MIN, at Distr";
              default -> "rank 2: barrier #0 of group world, at DistributedTest";
            });
    assertThat(after).isEmpty();
  }

  @Test
  void barrier_kernelsUnderWay_areDoneForAllRanks() {
    List<Boolean> done = new ArrayList<>();
    try (Torch torch = Runtimes.openRing(3, Mode.FULL)) {
      torch.distributed().initProcessGroup("ahbm");
      var launches = new ArrayList<org.kernbench.device.Launch>();
      torch
          .multiprocessing()
          .spawn(
              w -> {
                Tensor t = w.torch().zeros(Shape.of(4), DType.F32, "t");
                launches.add(w.torch().launch("one", tl -> tl.store(t, tl.load(t).add(1)), t));
                w.distributed().barrier();
                done.add(launches.size() == 3 && launches.stream().allMatch(l -> l.isDone()));
              },
              3);
    }
    assertThat(done).containsExactly(true, true, true);
  }

  @Test
  void initProcessGroup_perRank_allSeeRankAndSize() {
    try (Torch torch = Runtimes.openRing(3, Mode.FULL)) {
      List<String> seen = new ArrayList<>();
      torch
          .multiprocessing()
          .spawn(
              w -> {
                Distributed d = w.distributed();
                d.initProcessGroup("ahbm");
                seen.add(d.getRank() + "/" + d.getWorldSize() + " " + d.getBackend());
                d.destroyProcessGroup();
                seen.add("" + d.isInitialized());
              },
              3);
      assertThat(seen)
          .containsExactly("0/3 ahbm", "false", "1/3 ahbm", "false", "2/3 ahbm", "false");
      assertThat(torch.distributed().isInitialized()).isFalse();
    }
  }

  @Test
  void initProcessGroup_againAfterDestroy_newGenerationWorks() {
    List<Double> seen = new ArrayList<>();
    try (Torch torch = Runtimes.openRing(3, Mode.FULL)) {
      torch
          .multiprocessing()
          .spawn(
              w -> {
                Tensor t = w.torch().full(Shape.of(2), DType.F32, 1, "t");
                for (int generation = 0; generation < 3; generation++) {
                  w.distributed().initProcessGroup("ahbm");
                  w.distributed().allReduce(t);
                  w.distributed().destroyProcessGroup();
                }
                seen.add(t.get(0));
              },
              3);
    }
    assertThat(seen).containsExactly(27.0, 27.0, 27.0);
  }

  @Test
  void initProcessGroup_misuse_saysWhatToDo() {
    try (Torch torch = Runtimes.openRing(3, Mode.FULL)) {
      Distributed d = torch.distributed();
      assertThatThrownBy(() -> d.initProcessGroup("nccl"))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("unknown backend \"nccl\"")
          .hasMessageContaining("expected ahbm");
      assertThatThrownBy(d::getWorldSize).hasMessageContaining("call initProcessGroup first");
      d.initProcessGroup("ahbm");
      assertThatThrownBy(() -> d.initProcessGroup("ahbm")).hasMessageContaining("open already");
      assertThatThrownBy(d::getRank).hasMessageContaining("in the host program, which is no rank");
      assertThatThrownBy(() -> torch.multiprocessing().spawn(w -> {}, 2))
          .hasMessageContaining("spawn of 2 ranks, but the process group has 3");
      d.destroyProcessGroup();
      assertThat(d.isInitialized()).isFalse();
    }
  }

  @Test
  void initProcessGroup_noBackend_saysWhatToDo() {
    try (Torch torch = Runtimes.open(Runtimes.tiny())) {
      assertThatThrownBy(() -> torch.distributed().initProcessGroup("ahbm"))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("no collective backend");
    }
  }

  @Test
  void allReduce_tensorElsewhere_saysWhereItShouldBe() {
    assertThatThrownBy(() ->
            spawn(
                2,
                w -> {
                  w.torch().ahbm().setDevice(0);
                  w.distributed().allReduce(w.torch().zeros(Shape.of(1), DType.F32, "t"));
                }))
        .isInstanceOf(SpawnException.class)
        .hasMessageContaining("it lies at sip0.cube0.pe0; expected sip1.cube0.pe0");
  }

  @Test
  void allReduce_averageOfIntegers_isAnError() {
    assertThatThrownBy(() ->
            spawn(
                2,
                w ->
                    w.distributed()
                        .allReduce(w.torch().zeros(Shape.of(1), DType.I32, "t"), ReduceKind.AVG)))
        .isInstanceOf(SpawnException.class)
        .hasMessageContaining("AVG of i32")
        .hasMessageContaining("2 of 2 ranks failed");
  }

  /** The same program in all modes: full and time agree on the op log, full and values on bytes. */
  @Test
  void modes_sameProgramOnRanks_agree() {
    List<List<Double>> values = new ArrayList<>();
    List<String> logs = new ArrayList<>();
    for (Mode mode : Mode.values()) {
      List<Double> seen = new ArrayList<>();
      try (Torch torch = Runtimes.openRing(6, mode)) {
        torch
            .multiprocessing()
            .spawn(
                w -> {
                  w.distributed().initProcessGroup("ahbm");
                  Tensor t = w.torch().full(Shape.of(700), DType.F16, 0.1 * (w.rank() + 1), "t");
                  for (int i = 0; i < 3; i++) {
                    for (int k = 0; k <= w.rank() % 3; k++) {
                      w.torch().launch("scale", tl -> tl.store(t, tl.load(t).mul(0.5)), t);
                    }
                    w.distributed().allReduce(t, i == 1 ? ReduceKind.AVG : ReduceKind.SUM);
                  }
                  if (mode != Mode.TIME) {
                    seen.add(t.get(699));
                  }
                },
                6);
        logs.add(torch.simulator().opLog().hash());
      }
      values.add(seen);
    }
    assertThat(logs.get(Mode.FULL.ordinal())).isEqualTo(logs.get(Mode.TIME.ordinal()));
    assertThat(values.get(Mode.FULL.ordinal()))
        .hasSize(6)
        .isEqualTo(values.get(Mode.VALUES.ordinal()));
    assertThat(values.get(Mode.FULL.ordinal()).stream().distinct()).hasSize(1);
  }

  @Test
  void allReduce_tensorOfAnotherTorch_isAnError() {
    try (Torch other = Runtimes.open(Runtimes.ring(2))) {
      Tensor foreign = other.zeros(Shape.of(1), DType.F32, "foreign");
      assertThatThrownBy(() -> spawn(2, w -> w.distributed().allReduce(foreign)))
          .isInstanceOf(SpawnException.class)
          .hasMessageContaining("tensor foreign, which belongs to another Torch");
    }
  }

  @Test
  void spawnAgain_groupOfTheHostProgram_startsAfresh() {
    try (Torch torch = Runtimes.openRing(2, Mode.FULL)) {
      torch.distributed().initProcessGroup("ahbm");
      assertThatThrownBy(() ->
              torch
                  .multiprocessing()
                  .spawn(
                      w -> {
                        if (w.rank() == 1) {
                          throw new SimulationException("early");
                        }
                        w.distributed().barrier();
                      },
                      2))
          .isInstanceOf(SpawnException.class);
      List<Integer> past = new ArrayList<>();
      torch
          .multiprocessing()
          .spawn(
              w -> {
                w.distributed().barrier();
                past.add(w.rank());
              },
              2);
      assertThat(past).containsExactly(0, 1);
    }
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void allReduce_4096Ranks_works(Mode mode) {
    int n = 4096;
    try (Torch torch = Runtimes.openRing(n, mode)) {
      torch.distributed().initProcessGroup("ahbm");
      List<Tensor> tensors = new ArrayList<>();
      torch
          .multiprocessing()
          .spawn(
              w -> {
                Tensor t = w.torch().full(Shape.of(2), DType.I32, w.rank() + 1, "t");
                w.distributed().allReduce(t);
                tensors.add(t);
              },
              n);
      assertThat(tensors).hasSize(n);
      if (mode != Mode.TIME) {
        assertThat(tensors).allMatch(t -> t.get(1) == n * (n + 1L) / 2);
      }
    }
  }
}
