package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.config.ConfigException;
import org.kernbench.config.Problem;
import org.kernbench.device.DeadlockException;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.collective.CollectiveBackend;
import org.kernbench.torch.collective.Communicator;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

final class SpawnTest {
  private static Tensor increment(Worker w, Tensor t) {
    w.torch().launch("inc", tl -> tl.store(t, tl.load(t).add(1)), t);
    return t;
  }

  @Test
  void spawn_noYields_runsRanksInOrder() {
    try (Torch torch = Runtimes.openRing(5, Mode.FULL)) {
      List<Integer> order = new ArrayList<>();
      torch.multiprocessing().spawn(w -> order.add(w.rank() * 10 + w.worldSize()), 5);
      assertThat(order).containsExactly(5, 15, 25, 35, 45);
    }
  }

  /**
   * Time passes where ranks give way only if more launches are under way than there is room for.
   */
  @ParameterizedTest
  @CsvSource({"1, true", "4096, false"})
  void spawn_roomForLaunches_letsTimePassOnlyWhenItIsFull(int pending, boolean passes) {
    try (Torch torch = Rooms.ring(2, Mode.FULL)) {
      torch.distributed().initProcessGroup();
      List<Boolean> done = new ArrayList<>();
      torch
          .multiprocessing()
          .spawn(
              w -> {
                Tensor t = w.torch().zeros(Shape.of(1), DType.F32, "t");
                Launch first = w.torch().launch("inc", tl -> tl.store(t, tl.load(t).add(1)), t);
                w.distributed().allReduceAsync(t, ReduceKind.SUM).await();
                if (w.rank() == 0) {
                  done.add(first.isDone());
                }
              },
              2,
              pending);
      assertThat(done).containsExactly(passes);
    }
  }

  /** A host waits when its own queue is full, not when that of another rank is. */
  @Test
  void spawn_roomForLaunches_isOfEachRank() {
    try (Torch torch = Rooms.ring(2, Mode.TIME)) {
      torch.distributed().initProcessGroup();
      long[] enqueuedPs = new long[2];
      torch
          .multiprocessing()
          .spawn(
              w -> {
                Tensor t = w.torch().zeros(Shape.of(1), DType.F32, "t");
                for (int i = 0; i < 5 - 4 * w.rank(); i++) {
                  w.torch().launch("inc", tl -> tl.store(t, tl.load(t).add(1)), t);
                }
                w.distributed().allReduceAsync(t, ReduceKind.SUM).await();
                Launch last = w.torch().launch("inc", tl -> tl.store(t, tl.load(t).add(1)), t);
                enqueuedPs[w.rank()] = last.enqueuedPs();
              },
              2,
              2);
      assertThat(enqueuedPs[0]).isPositive();
      assertThat(enqueuedPs[1]).isZero();
    }
  }

  @Test
  void spawn_withoutRoom_isRefused() {
    try (Torch torch = Runtimes.openRing(2, Mode.FULL)) {
      assertThatThrownBy(() -> torch.multiprocessing().spawn(w -> {}, 2, 0))
          .isInstanceOf(SimulationException.class)
          .hasMessage("spawn with room for 0 launches; expected 1 or more, such as 4096");
    }
  }

  @Test
  void spawn_yields_switchOnlyThereAndInRankOrder() {
    List<String> expected =
        List.of(
            "0 start",
            "1 start",
            "2 start",
            "0 middle",
            "1 middle",
            "2 middle",
            "0 end",
            "1 end",
            "2 end");
    try (Torch torch = Runtimes.openRing(3, Mode.FULL)) {
      List<String> trace = new ArrayList<>();
      torch
          .multiprocessing()
          .spawn(
              w -> {
                Tensor t = w.torch().zeros(Shape.of(1), DType.F32, "t");
                trace.add(w.rank() + " start");
                increment(w, t).get(0);
                trace.add(w.rank() + " middle");
                increment(w, t).get(0);
                trace.add(w.rank() + " end");
              },
              3);
      assertThat(trace).isEqualTo(expected);
    }
  }

  /** Each rank has a host of its own: none waits for the kernel of another. */
  @ParameterizedTest
  @CsvSource({"0", "1", "2"})
  void spawn_ranksWaitForKernelsOfTheirOwn_eachGoesOnWhenItsOwnIsDone(int longest) {
    try (Torch torch = Rooms.ring(3, Mode.TIME)) {
      List<Launch> first = new ArrayList<>();
      List<Launch> second = new ArrayList<>();
      torch
          .multiprocessing()
          .spawn(
              w -> {
                int times = w.rank() == longest ? 50 : 5;
                Tensor t = w.torch().zeros(Shape.of(4), DType.F32, "t");
                Launch own =
                    w.torch()
                        .launch(
                            "own",
                            tl -> {
                              for (int i = 0; i < times; i++) {
                                tl.store(t, tl.load(t).add(1));
                              }
                            },
                            t);
                first.add(own);
                w.torch().await(own);
                second.add(w.torch().launch("next", tl -> tl.store(t, tl.load(t)), t));
              },
              3);
      assertThat(second)
          .extracting(Launch::enqueuedPs)
          .containsExactlyInAnyOrderElementsOf(first.stream().map(Launch::endPs).toList());
      assertThat(first.get(longest).endPs())
          .isGreaterThan(5 * first.get((longest + 1) % 3).endPs());
    }
  }

  @Test
  void spawn_tensors_lieOnTheRanksOwnDevice() {
    try (Torch torch = Runtimes.openRing(3, Mode.FULL)) {
      List<Integer> sips = new ArrayList<>();
      torch
          .multiprocessing()
          .spawn(
              w -> {
                Tensor own = w.torch().zeros(Shape.of(1), DType.F32, "own");
                sips.add(own.shardSpecs().getFirst().sip());
                w.torch().ahbm().setDevice((w.rank() + 1) % 3);
                Tensor next = w.torch().zeros(Shape.of(1), DType.F32, "next");
                sips.add(next.shardSpecs().getFirst().sip());
              },
              3);
      assertThat(sips).containsExactly(0, 1, 1, 2, 2, 0);
    }
  }

  @Test
  void spawn_rankThrows_siblingsStopWhereTheyWaitAndOnlyItIsReported() {
    try (Torch torch = Runtimes.openRing(4, Mode.FULL)) {
      torch.distributed().initProcessGroup("ahbm");
      List<String> trace = new ArrayList<>();
      SpawnException e =
          catchThrowableOfType(
              SpawnException.class,
              () ->
                  torch
                      .multiprocessing()
                      .spawn(
                          w -> {
                            try {
                              if (w.rank() == 2) {
                                throw new IllegalStateException("no data");
                              }
                              w.distributed().barrier();
                              trace.add("past the barrier");
                            } finally {
                              trace.add(w.rank() + " unwound");
                            }
                          },
                          4));
      assertThat(e.failures().keySet()).containsExactly(2);
      assertThat(e).hasMessageContaining("1 of 4 ranks failed").hasMessageContaining("no data");
      assertThat(e.getCause()).isInstanceOf(IllegalStateException.class).hasMessage("no data");
      assertThat(trace)
          .containsExactlyInAnyOrder("0 unwound", "1 unwound", "2 unwound", "3 unwound");
    }
  }

  @Test
  void spawn_ranksThrowAlike_areReportedTogether() {
    try (Torch torch = Runtimes.openRing(6, Mode.FULL)) {
      assertThatThrownBy(() ->
              torch
                  .multiprocessing()
                  .spawn(
                      w -> {
                        throw new SimulationException(w.rank() == 3 ? "other" : "same\ntwice");
                      },
                      6))
          .hasMessage(
              """
              6 of 6 ranks failed
                ranks 0 to 2, 4, 5: same
                  twice
                rank 3: other\
              """);
    }
  }

  @Test
  void spawn_allRanksThrow_allAreReported() {
    try (Torch torch = Runtimes.openRing(3, Mode.FULL)) {
      assertThatThrownBy(() ->
              torch
                  .multiprocessing()
                  .spawn(
                      w -> {
                        throw new SimulationException("rank " + w.rank() + " is wrong");
                      },
                      3))
          .isInstanceOf(SpawnException.class)
          .hasMessage(
              """
              3 of 3 ranks failed
                rank 0: rank 0 is wrong
                rank 1: rank 1 is wrong
                rank 2: rank 2 is wrong\
              """);
    }
  }

  @Test
  void spawn_finallyBlockWaits_abortedWorkerIsNotSuspendedAgain() {
    try (Torch torch = Runtimes.openRing(2, Mode.FULL)) {
      torch.distributed().initProcessGroup("ahbm");
      assertThatThrownBy(() ->
              torch
                  .multiprocessing()
                  .spawn(
                      w -> {
                        if (w.rank() == 1) {
                          throw new SimulationException("stop");
                        }
                        try {
                          w.distributed().barrier();
                        } finally {
                          w.distributed().barrier();
                        }
                      },
                      2))
          .isInstanceOf(SpawnException.class)
          .hasMessageContaining("1 of 2 ranks failed");
    }
  }

  @Test
  void spawn_kernelThrows_rankThatLaunchedItFails() {
    try (Torch torch = Runtimes.openRing(3, Mode.FULL)) {
      SpawnException e =
          catchThrowableOfType(
              SpawnException.class,
              () ->
                  torch
                      .multiprocessing()
                      .spawn(
                          w -> {
                            Tensor t = w.torch().zeros(Shape.of(4), DType.F32, "t");
                            int far = w.rank() == 1 ? 5 : 4;
                            Launch l =
                                w.torch().launch("k", tl -> tl.load(tl.shard(t).range(0, far)), t);
                            w.torch().await(l);
                          },
                          3));
      assertThat(e.failures().keySet()).containsExactly(1);
      assertThat(e).hasMessageContaining("tensor t: elements [0, 5) are out of range");
    }
  }

  @Test
  void spawn_launchNotAwaited_isDoneWhenSpawnReturns() {
    try (Torch torch = Runtimes.openRing(2, Mode.FULL)) {
      List<Launch> launches = new ArrayList<>();
      torch
          .multiprocessing()
          .spawn(
              w -> {
                Tensor t = w.torch().zeros(Shape.of(4), DType.F32, "t");
                launches.add(w.torch().launch("inc", tl -> tl.store(t, tl.load(t).add(1)), t));
              },
              2);
      assertThat(launches).hasSize(2).allMatch(Launch::isDone);
    }
  }

  @Test
  void spawn_rankEndsWhileOthersWait_deadlockSaysWhoWaitsWhere() {
    try (Torch torch = Runtimes.openRing(4, Mode.FULL)) {
      torch.distributed().initProcessGroup("ahbm");
      assertThatThrownBy(() ->
              torch
                  .multiprocessing()
                  .spawn(
                      w -> {
                        if (w.rank() != 2) {
                          Tensor t = w.torch().zeros(Shape.of(8), DType.F32, "t");
                          w.distributed().allReduce(t);
                        }
                      },
                      4))
          .isInstanceOf(DeadlockException.class)
          .message()
          .matches(
              "(?s)deadlock at t=0.000 ns: no event is queued and 3 of 4 ranks wait\n"
                  + "  ranks 0-1, 3: allReduce #0 of group world: f32\\[8\\], SUM, which waits for"
                  + " rank 2; called at SpawnTest.java:\\d+\n"
                  + "  rank 2: ended\n"
                  + "  remedy: every rank must make the same collective calls, equally often");
    }
  }

  @Test
  void spawn_kernelsWaitForEachOther_reportNamesTheRanksThatWaitForThem() {
    for (Mode mode : Mode.values()) {
      try (Torch torch = Runtimes.openRing(3, mode)) {
        torch.distributed().initProcessGroup("ahbm");
        assertThatThrownBy(() ->
                torch
                    .multiprocessing()
                    .spawn(
                        w -> {
                          Tensor t = w.torch().zeros(Shape.of(4), DType.F32, "t");
                          String from = w.rank() == 2 ? "down" : "up";
                          Launch l =
                              w.torch()
                                  .launch(
                                      "take",
                                      tl -> tl.store(t, tl.recv(from, Shape.of(4), DType.F32)),
                                      w.distributed().queues(),
                                      t);
                          w.torch().await(l);
                        },
                        3))
            .as("%s", mode)
            .isInstanceOf(DeadlockException.class)
            .hasMessageContaining("sip0.cube0.pe0")
            .message()
            .containsPattern(
                "on the host:\n    ranks 0-2: await of kernel take; called at SpawnTest.java:\\d+");
      }
    }
  }

  @Test
  void spawn_configurationErrorOfTheBackend_isNotWrapped() {
    CollectiveBackend broken =
        new CollectiveBackend() {
          @Override
          public String name() {
            return "ahbm";
          }

          @Override
          public RankLevel rankLevel() {
            return RankLevel.SIP;
          }

          @Override
          public int worldSize() {
            return 2;
          }

          @Override
          public Communicator connect(List<Pe> leadPes) {
            throw new ConfigException(List.of(new Problem("ccl.yaml", 3, 5, "algorithm", "no")));
          }
        };
    try (Torch torch = Torch.open(Runtimes.ring(2), TorchOptions.DEFAULT.withCollectives(broken))) {
      assertThatThrownBy(
              () -> torch.multiprocessing().spawn(w -> w.distributed().initProcessGroup("ahbm"), 2))
          .isInstanceOf(ConfigException.class)
          .hasMessage("ccl.yaml:3:5: algorithm: no");
    }
  }

  @Test
  void spawnException_bugOrUserError_isTold() {
    try (Torch torch = Runtimes.openRing(2, Mode.FULL)) {
      SpawnException user =
          catchThrowableOfType(
              SpawnException.class,
              () -> torch.multiprocessing().spawn(w -> w.torch().ahbm().setDevice(-1), 2));
      assertThat(user.isUserError()).isTrue();
      SpawnException bug =
          catchThrowableOfType(
              SpawnException.class,
              () ->
                  torch
                      .multiprocessing()
                      .spawn(
                          w -> {
                            throw new IllegalStateException("bug");
                          },
                          2));
      assertThat(bug.isUserError()).isFalse();
    }
  }

  @Test
  void spawn_tooManyRanks_saysHowManyDevicesThereAre() {
    try (Torch torch = Runtimes.openRing(2, Mode.FULL)) {
      assertThatThrownBy(() -> torch.multiprocessing().spawn(w -> {}, 3))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining(
              "spawn of 3 ranks: expected 1 to 2, one per package of machine ring");
    }
  }

  @Test
  void spawn_insideARank_isAnError() {
    try (Torch torch = Runtimes.openRing(2, Mode.FULL)) {
      assertThatThrownBy(() ->
              torch.multiprocessing().spawn(w -> w.torch().multiprocessing().spawn(v -> {}, 1), 2))
          .isInstanceOf(SpawnException.class)
          .hasMessageContaining("spawn inside a rank");
      torch.multiprocessing().spawn(w -> {}, 2); // and the runtime still works
    }
  }

  @Test
  void spawn_onAVirtualThread_sameTraceAsOnAPlatformThread() throws Exception {
    List<String> here = trace();
    List<String> there = new ArrayList<>();
    Thread.ofVirtual().start(() -> there.addAll(trace())).join();
    assertThat(there).isEqualTo(here).isNotEmpty();
  }

  private static List<String> trace() {
    List<String> trace = new ArrayList<>();
    try (Torch torch = Runtimes.openRing(5, Mode.FULL)) {
      torch
          .multiprocessing()
          .spawn(
              w -> {
                w.distributed().initProcessGroup("ahbm");
                Tensor t = w.torch().full(Shape.of(3), DType.F32, w.rank(), "t");
                for (int i = 0; i < w.rank(); i++) {
                  increment(w, t).get(0);
                  trace.add(w.rank() + "@" + w.torch().simulator().nowPs());
                }
                w.distributed().allReduce(t);
                trace.add(w.rank() + "=" + t.get(0));
              },
              5);
      trace.add(torch.simulator().opLog().hash());
    }
    return trace;
  }
}
