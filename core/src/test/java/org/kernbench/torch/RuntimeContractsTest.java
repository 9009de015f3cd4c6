package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.CollectiveRun;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.DpPolicy;

/** The runtime's part of what the predecessor's bugs teach, each named after the bug. */
final class RuntimeContractsTest {
  /** There, kernels whose rank had ended had nobody who let time run for them. */
  @Test
  void orphanedKernels_ranksEndWithoutWaiting_allIsDoneWhenSpawnReturns() {
    try (Torch torch = Rooms.ring(4, Mode.FULL)) {
      List<Launch> kernels = new ArrayList<>();
      List<Tensor> results = new ArrayList<>();
      Rooms.spawn(
          torch,
          w -> {
            Tensor t = w.torch().full(Shape.of(8), DType.F32, 1, "t");
            Tensor x = w.torch().full(Shape.of(8), DType.F32, w.rank(), "x");
            kernels.add(w.torch().launch("k", tl -> tl.store(x, tl.load(x).add(1)), x));
            w.distributed().allReduceAsync(t, ReduceKind.SUM);
            w.distributed().isend(x, (w.rank() + 1) % 4);
            w.distributed().irecv(w.torch().empty(Shape.of(8), DType.F32, "y"), (w.rank() + 3) % 4);
            results.add(t);
          });
      assertThat(kernels).hasSize(4).allMatch(Launch::isDone);
      assertThat(torch.distributed().history()).hasSize(2).allMatch(r -> r.launch().isDone());
      assertThat(results).allMatch(t -> t.get(7) == 4);
    }
  }

  /**
   * There, writing to a tensor first completed everything that was pending, also the collective
   * that the other ranks had not come to yet.
   */
  @Test
  void targetBarrierDeadlock_writeWhileACollectiveWaitsForOthers_goesOn() {
    Map<Integer, List<Double>> seen = new TreeMap<>();
    try (Torch torch = Rooms.ring(3, Mode.FULL)) {
      Rooms.spawn(
          torch,
          w -> {
            Tensor g = w.torch().full(Shape.of(4), DType.F32, w.rank() + 1, "g");
            Tensor x = w.torch().full(Shape.of(4), DType.F32, 0, "x");
            Tensor source = w.torch().full(Shape.of(4), DType.F32, 7, "source");
            Tensor late = w.torch().zeros(Shape.of(4), DType.F32, "late");
            if (w.rank() == 2) { // comes only after a wait for the device
              w.torch().await(w.torch().launch("k", tl -> tl.store(late, tl.load(late)), late));
            }
            Work work = w.distributed().allReduceAsync(g, ReduceKind.SUM);
            x.copyInPlace(new float[] {1, 2, 3, 4});
            double before = x.get(3);
            x.copyInPlace(source);
            work.await();
            seen.put(w.rank(), List.of(before, x.get(0), g.get(0)));
          });
    }
    assertThat(seen)
        .hasSize(3)
        .allSatisfy((rank, v) -> assertThat(v).containsExactly(4.0, 7.0, 6.0));
  }

  /** There, some PEs started late, and the maximum over all PEs did not show it. */
  @Test
  void barrierHiddenByAMaximum_everyPe_startsAtTheCommonTime() {
    try (Torch torch = Rooms.cubes(3, 2, Mode.FULL)) {
      Map<Pe, Double> clocks = new TreeMap<>(Comparator.comparing(Pe::toString));
      Map<Integer, Long> starts = new TreeMap<>();
      Rooms.spawn(
          torch,
          w -> {
            Tensor t = w.torch().zeros(Shape.of(8, 8), DType.F32, DpPolicy.columnWise(), "t");
            for (int i = 0; i < w.rank(); i++) { // ranks are busy for different times
              w.torch().launch("k", tl -> tl.store(t, tl.load(t).add(1)), t);
            }
            w.distributed().barrier();
            Launch after =
                w.torch()
                    .launch(
                        "after",
                        tl -> {
                          clocks.put(tl.pe(), tl.clock());
                          tl.store(t, tl.load(t));
                        },
                        t);
            w.torch().await(after);
            starts.put(w.rank(), after.startPs());
          });
      CollectiveRun barrier = torch.distributed().history().getLast();
      assertThat(barrier.op()).isEqualTo(CollectiveOp.BARRIER);
      assertThat(barrier.durationPs()).isPositive();
      assertThat(starts)
          .hasSize(6)
          .allSatisfy((rank, start) ->
              assertThat(start).as("rank %d", rank).isGreaterThanOrEqualTo(barrier.endPs()));
      assertThat(clocks).hasSize(12);
      for (int cube = 0; cube < 6; cube++) { // rank r is cube r, and both its PEs start as one
        double start = starts.get(cube) / 1e3;
        assertThat(clocks.get(new Pe(0, cube, 0))).as("cube %d", cube).isEqualTo(start);
        assertThat(clocks.get(new Pe(0, cube, 1))).as("cube %d", cube).isEqualTo(start);
      }
    }
  }

  /** There, ranks called a collective once more, and the barrier was no operation at all. */
  @Test
  void barrierThatDoesNothing_afterUnevenWork_nobodyIsPastItEarly() {
    List<String> trace = new ArrayList<>();
    try (Torch torch = Rooms.ring(3, Mode.FULL)) {
      Rooms.spawn(
          torch,
          w -> {
            for (int i = 0; i < w.rank(); i++) {
              Tensor t = w.torch().zeros(Shape.of(64), DType.F32, "t");
              w.torch().await(w.torch().launch("k", tl -> tl.store(t, tl.load(t)), t));
            }
            trace.add("before");
            w.distributed().barrier();
            trace.add("after");
          });
    }
    assertThat(trace).containsExactly("before", "before", "before", "after", "after", "after");
  }
}
