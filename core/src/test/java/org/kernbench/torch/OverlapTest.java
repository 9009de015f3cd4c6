package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Kernel;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.CollectiveRun;
import org.kernbench.torch.collective.ReduceKind;

/** A collective and kernels that do not need its result run at the same time. */
final class OverlapTest {
  private static final int RANKS = 4;

  /** Products of small matrices: take long, on an engine that no collective needs. */
  private static Kernel products(Tensor x, int times) {
    return tl -> {
      Value a = tl.load(x);
      for (int i = 0; i < times; i++) {
        tl.release(tl.dot(a, a));
      }
    };
  }

  /** Additions of small vectors, on the engine that collectives add on. */
  private static Kernel busy(Tensor x, int times) {
    return tl -> {
      Value v = tl.load(x);
      for (int i = 0; i < times; i++) {
        Value next = v.add(1);
        tl.release(v);
        v = next;
      }
      tl.store(x, v);
    };
  }

  private record Run(CollectiveRun collective, List<Launch> kernels, long endPs, double value) {}

  /** A collective of 16 KiB, and a kernel of {@code times} products of another tensor. */
  private static Run run(boolean async, int times, int idleRank) {
    List<Launch> kernels = new ArrayList<>();
    double[] value = new double[1];
    List<String> own = List.of("system.sips.count=" + RANKS, "pe.accel_slot=separate");
    try (Torch torch = Rooms.open(Machines.load("ring", own), Mode.FULL)) {
      Rooms.spawn(
          torch,
          w -> {
            Tensor g = w.torch().full(Shape.of(1 << 12), DType.F32, w.rank() + 1, "g");
            Tensor x = w.torch().full(Shape.of(64, 64), DType.F32, 0, "x");
            int n = w.rank() == idleRank ? 0 : times;
            if (async) {
              Work work = w.distributed().allReduceAsync(g, ReduceKind.SUM);
              kernels.add(w.torch().launch("busy", products(x, n), x));
              work.await();
            } else {
              w.distributed().allReduce(g);
              kernels.add(w.torch().launch("busy", products(x, n), g, x));
            }
            w.torch().launch("use", tl -> tl.store(g, tl.load(g).mul(2)), g);
            value[0] = g.get(5);
          });
      long end = torch.simulator().nowPs();
      return new Run(torch.distributed().history().getFirst(), kernels, end, value[0]);
    }
  }

  @Test
  void asyncAllReduce_longKernelBeside_isHiddenAndTheRunIsShorter() {
    Run alone = run(false, 200, -1);
    Run overlapped = run(true, 200, -1);
    assertThat(alone.value).isEqualTo(20);
    assertThat(overlapped.value).isEqualTo(20);
    // one after the other: nothing is hidden
    assertThat(alone.collective.exposedPs()).isEqualTo(alone.collective.durationPs());
    assertThat(alone.collective.hiddenPs()).isZero();
    // the kernel is on its way to the PEs when the collective starts: that much stays exposed
    long kernelStart = overlapped.kernels.stream().mapToLong(Launch::startPs).max().orElseThrow();
    long uncovered = Math.max(0, kernelStart - overlapped.collective.startPs());
    assertThat(overlapped.collective.exposedPs()).isEqualTo(uncovered);
    assertThat(overlapped.collective.hiddenPs()).isPositive();
    // beside the kernel it takes longer than alone, but the program saves most of what it took
    // alone
    long saved = alone.endPs - overlapped.endPs;
    assertThat(saved)
        .isBetween(alone.collective.durationPs() * 9 / 10, alone.collective.durationPs());
  }

  /**
   * Copies that products wait for must not wait for sums of gradients, which may take as long as
   * the rest of the backward pass: they do where PEs have two contexts.
   */
  @ParameterizedTest
  @CsvSource({"2, false", "3, true", "4, true"})
  void launchBeside_duringACollective_startsAtOnceIfPesHaveAThirdContext(
      int contexts, boolean atOnce) {
    List<Launch> copies = new ArrayList<>();
    List<String> own = List.of("system.sips.count=" + RANKS, "pe.cpu.contexts=" + contexts);
    try (Torch torch = Rooms.open(Machines.load("ring", own), Mode.TIME)) {
      Rooms.spawn(
          torch,
          w -> {
            Tensor g = w.torch().empty(Shape.of(1 << 16), DType.F32, "g");
            Tensor x = w.torch().empty(Shape.of(64), DType.F32, "x");
            Tensor y = w.torch().empty(Shape.of(64), DType.F32, "y");
            Tensor h = w.torch().empty(Shape.of(4), DType.F32, "h");
            Kernel copy = tl -> tl.store(y, tl.load(x));
            Work sum = w.distributed().allReduceAsync(g, ReduceKind.SUM);
            w.distributed().allReduce(h); // ranks wait for each other: all sums are under way
            List<Pe> pes = List.copyOf(x.places());
            copies.add(
                w.torch().launchBeside("copy", copy, pes, List.of(y), List.of(x), List.of()));
            sum.await();
          });
      CollectiveRun sum = torch.distributed().history().getFirst();
      assertThat(copies).hasSize(RANKS);
      assertThat(copies)
          .allSatisfy(c -> {
            if (atOnce) {
              assertThat(c.startPs() + c.criticalPs())
                  .isLessThan(sum.startPs() + sum.durationPs() / 10);
            } else {
              assertThat(c.startPs()).isGreaterThanOrEqualTo(sum.startPs() + sum.durationPs());
            }
          });
    }
  }

  @Test
  void exposed_oneRankHasNothingToCompute_isExposedThere() {
    Run run = run(true, 200, 2);
    long idle = run.kernels.get(2).criticalPs();
    assertThat(run.collective.exposedPs())
        .isBetween(run.collective.durationPs() - idle, run.collective.durationPs());
  }

  @Test
  void exposed_shortKernel_hidesItsOwnLengthAtMost() {
    Run run = run(true, 3, -1);
    long longest = run.kernels.stream().mapToLong(Launch::criticalPs).max().orElseThrow();
    assertThat(run.collective.hiddenPs()).isBetween(0L, longest);
    assertThat(run.collective.hiddenPs() + run.collective.exposedPs())
        .isEqualTo(run.collective.durationPs());
  }

  /**
   * Engines are shared in turn: an addition of the collective waits for at most one command of the
   * kernel, however many there are.
   */
  @Test
  void asyncAllReduce_kernelOnTheSameEngine_waitsForOneCommandPerStep() {
    long[] duration = new long[2];
    long longest = 0;
    int additions = 0; // of one rank's collective
    for (int i = 0; i < 2; i++) {
      int times = i * 1000;
      try (Torch torch = Rooms.ringOfShortWindows(RANKS, Mode.TIME)) {
        Rooms.spawn(
            torch,
            w -> {
              Tensor g = w.torch().empty(Shape.of(1 << 12), DType.F32, "g");
              Tensor x = w.torch().empty(Shape.of(1 << 13), DType.F32, "x");
              Work work = w.distributed().allReduceAsync(g, ReduceKind.SUM);
              w.torch().launch("busy", busy(x, times), x);
              work.await();
            });
        duration[i] = torch.distributed().history().getFirst().durationPs();
        OpLog log = torch.simulator().opLog();
        for (int op = 0; op < log.size(); op++) {
          if (log.has(op) && log.kind(op) == OpKind.MATH) {
            longest = Math.max(longest, log.endPs(op) - log.startPs(op));
            additions += i == 0 && log.pe(op).equals(torch.machine().peAt(0)) ? 1 : 0;
          }
        }
      }
    }
    assertThat(duration[1])
        .isGreaterThan(duration[0])
        .isLessThanOrEqualTo(duration[0] + additions * longest);
  }

  /** Back to back on one tensor: each starts when the last one is done, without the host's help. */
  @Test
  void collectives_onOneTensor_followEachOtherOnTheDevice() {
    try (Torch torch = Rooms.ring(RANKS, Mode.TIME)) {
      Rooms.spawn(
          torch,
          w -> {
            Tensor t = w.torch().zeros(Shape.of(64), DType.F32, "t");
            for (int i = 0; i < 5; i++) {
              w.distributed().allReduce(t);
            }
          });
      List<CollectiveRun> runs = torch.distributed().history();
      assertThat(runs).hasSize(5);
      for (int i = 1; i < runs.size(); i++) {
        assertThat(runs.get(i).startPs()).isEqualTo(runs.get(i - 1).endPs());
      }
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"FULL", "VALUES"})
  void kernelBeforeAndAfter_areOrderedByTheirTensors(Mode mode) {
    List<Double> seen = new ArrayList<>();
    try (Torch torch = Rooms.ring(RANKS, mode)) {
      Rooms.spawn(
          torch,
          w -> {
            Tensor t = w.torch().full(Shape.of(4096), DType.F32, 1, "t");
            for (int i = 0; i < 3; i++) {
              w.torch().launch("add", busy(t, 200), t);
              Work work = w.distributed().allReduceAsync(t, ReduceKind.MAX);
              work.await();
              w.torch().launch("add", busy(t, 1), t);
            }
            seen.add(t.get(4095));
          });
    }
    assertThat(seen).hasSize(RANKS).containsOnly(1.0 + 3 * 201);
  }

  /** A work is its rank's: neither another rank nor the program around them may wait for it. */
  @Test
  void workOfARank_askedByOthers_isRefused() {
    Work[] works = new Work[2];
    try (Torch torch = Rooms.ring(2, Mode.FULL)) {
      Rooms.spawn(
          torch,
          w -> {
            Tensor t = w.torch().full(Shape.of(4), DType.F32, 1, "t");
            works[w.rank()] = w.distributed().allReduceAsync(t, ReduceKind.SUM);
            w.distributed().barrier();
            assertThatThrownBy(() -> works[1 - w.rank()].await())
                .isInstanceOf(SimulationException.class)
                .hasMessageContaining("which belongs to rank " + (1 - w.rank()))
                .hasMessageContaining("by rank " + w.rank());
            w.distributed().barrier();
            if (w.rank() == 0) {
              works[0].await();
              assertThat(works[0].isCompleted()).isTrue();
            }
          });
      assertThatThrownBy(() -> works[1].await())
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("which belongs to rank 1, by the host program");
    }
  }

  @Test
  void tensorInFlight_kernelOrHostTouchesIt_isAnErrorThatNamesTheCall() {
    try (Torch torch = Rooms.ring(2, Mode.FULL)) {
      Rooms.spawn(
          torch,
          w -> {
            Tensor t = w.torch().full(Shape.of(4), DType.F32, 1, "t");
            Work work = w.distributed().allReduceAsync(t, ReduceKind.SUM);
            assertThatThrownBy(() -> t.get(0))
                .isInstanceOf(SimulationException.class)
                .hasMessageContaining("tensor t, which is being written by allReduce #0 of group")
                .hasMessageContaining("(async, at OverlapTest.java:")
                .hasMessageContaining("await() that work first");
            assertThatThrownBy(() -> t.copyInPlace(new float[4])).hasMessageContaining("await()");
            assertThatThrownBy(() -> w.torch().launch("k", tl -> tl.store(t, tl.load(t)), t))
                .hasMessageContaining("launch of kernel k of tensor t");
            assertThatThrownBy(() -> w.distributed().allReduce(t)).hasMessageContaining("await()");
            work.await();
            assertThat(t.get(0)).isEqualTo(2);
          });
    }
  }

  /** What a collective only reads may be read by kernels meanwhile. */
  @Test
  void inputInFlight_kernelReadsIt_runsBesideTheMessage() {
    try (Torch torch = Rooms.ring(2, Mode.FULL)) {
      List<Launch> kernels = new ArrayList<>();
      Rooms.spawn(
          torch,
          w -> {
            Tensor k = w.torch().full(Shape.of(1 << 14), DType.F32, w.rank(), "k");
            Tensor next = w.torch().empty(Shape.of(1 << 14), DType.F32, "next");
            Tensor sum = w.torch().zeros(Shape.of(1 << 14), DType.F32, "sum");
            int peer = 1 - w.rank();
            List<Work> works =
                w.distributed()
                    .batchIsendIrecv(List.of(P2POp.isend(k, peer), P2POp.irecv(next, peer)));
            kernels.add(
                w.torch()
                    .launch("attend", tl -> tl.store(sum, tl.load(k).add(tl.load(sum))), k, sum));
            works.forEach(Work::await);
            assertThat(next.get(7)).isEqualTo(peer);
          });
      CollectiveRun message = torch.distributed().history().getFirst();
      for (Launch kernel : kernels) {
        assertThat(kernel.startPs()).isLessThan(message.endPs());
      }
    }
  }

  @Test
  void isCompleted_askedInALoop_ends() {
    try (Torch torch = Rooms.ring(3, Mode.FULL)) {
      List<Integer> questions = new ArrayList<>();
      Rooms.spawn(
          torch,
          w -> {
            Tensor t = w.torch().full(Shape.of(64), DType.F32, 1, "t");
            Work work = w.distributed().allReduceAsync(t, ReduceKind.SUM);
            int asked = 1;
            while (!work.isCompleted()) {
              asked++;
            }
            work.await();
            questions.add(asked);
            assertThat(t.get(0)).isEqualTo(3);
          });
      assertThat(questions).hasSize(3).allMatch(n -> n > 1 && n < 5);
    }
  }

  @Test
  void memoryOfATensorInFlight_closedEarly_isKeptUntilTheEnd() {
    try (Torch torch = Rooms.ring(2, Mode.FULL)) {
      Rooms.spawn(
          torch,
          w -> {
            Tensor k = w.torch().full(Shape.of(64), DType.F32, w.rank() + 1, "k");
            Tensor got = w.torch().empty(Shape.of(64), DType.F32, "got");
            Work send = w.distributed().isend(k, 1 - w.rank());
            Work receive = w.distributed().irecv(got, 1 - w.rank());
            k.close();
            Tensor other = w.torch().full(Shape.of(64), DType.F32, 99, "other");
            receive.await();
            send.await();
            assertThat(got.get(0)).isEqualTo(2 - w.rank());
            other.close();
          });
    }
  }
}
