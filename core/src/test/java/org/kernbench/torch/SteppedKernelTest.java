package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.kernbench.device.Mode;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Kernel;
import org.kernbench.tl.SteppedKernel;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;

/** Kernels that are asked for their commands step by step are kernels like others. */
final class SteppedKernelTest {
  private static final int TILES = 12;
  private static final int TILE = 256;
  private static final List<Pe> ONE = List.of(new Pe(0, 0, 0));

  private final Torch torch = Runtimes.open(Runtimes.tiny());
  private final Tensor x = torch.zeros(Shape.of(4), DType.F32, "x");
  private final Tensor y = torch.zeros(Shape.of(4), DType.F32, "y");

  @AfterEach
  void close() {
    torch.close();
  }

  /** What a run gave: its op log, when it ended, and the numbers if there are any. */
  private record Result(String opLog, long ps, List<Double> values) {}

  private static void twice(Tl tl, Tensor of, int tile) {
    Value v = tl.load(tl.shard(of).range(tile * TILE, TILE));
    Value sum = v.mul(2);
    tl.release(v);
    tl.store(tl.shard(of).range(tile * TILE, TILE), sum);
    tl.release(sum);
  }

  private static Result run(Mode mode, boolean inSteps) {
    try (Torch torch = Torch.open(Runtimes.tiny(), TorchOptions.DEFAULT.withMode(mode))) {
      double[] data = new double[TILES * TILE];
      Arrays.setAll(data, i -> i % 100);
      Tensor t = torch.from(data, Shape.of(data.length), DType.F32, "t");
      SteppedKernel steps =
          tl -> {
            AtomicInteger tile = new AtomicInteger();
            return () -> {
              twice(tl, t, tile.getAndIncrement());
              return tile.get() < TILES;
            };
          };
      Kernel whole = steps::run;
      torch.launch("twice", inSteps ? steps : whole, ONE);
      torch.synchronize();
      return new Result(
          mode == Mode.VALUES ? "" : torch.simulator().opLog().hash(),
          torch.simulator().nowPs(),
          mode == Mode.TIME ? List.of() : Arrays.stream(t.toDoubles()).boxed().toList());
    }
  }

  @ParameterizedTest
  @EnumSource(Mode.class)
  void kernelInSteps_everyMode_doesWhatItDoesInOnePiece(Mode mode) {
    Result inSteps = run(mode, true);
    assertThat(inSteps).isEqualTo(run(mode, false));
    if (mode != Mode.TIME) {
      assertThat(inSteps.values).hasSize(TILES * TILE).startsWith(0.0, 2.0, 4.0);
    }
  }

  @Test
  void kernelsOfBothSorts_oneAfterTheOther_bothTakeEffect() {
    SteppedKernel ones =
        tl ->
            () -> {
              tl.store(x, tl.load(x).add(1));
              return false;
            };
    Kernel triples = tl -> tl.store(x, tl.load(x).mul(3));
    for (Kernel kernel : List.of(ones, triples, ones)) {
      torch.launch("one", kernel, ONE);
    }
    assertThat(x.toFloats()).containsOnly(4);
  }

  /** Also where it could wait, so that one mode does not accept what another refuses. */
  @ParameterizedTest
  @EnumSource(Mode.class)
  void stepThatWaits_everyModeAndChecked_isRefusedWithItsLine(Mode mode) {
    List<SteppedKernel> waits =
        List.of(
            tl -> () -> tl.item(tl.full(Shape.of(1), 1, DType.F32)) > 0,
            tl -> () -> tl.clock() > 0);
    for (SteppedKernel kernel : waits) {
      try (CheckBed bed = new CheckBed(mode)) {
        assertRefused(bed.torch, kernel);
      }
      try (Torch unchecked = Torch.open(Runtimes.tiny(), TorchOptions.DEFAULT.withMode(mode))) {
        assertRefused(unchecked, kernel);
      }
    }
  }

  private static void assertRefused(Torch torch, SteppedKernel kernel) {
    torch.launch("waits", kernel, ONE);
    assertThatThrownBy(torch::synchronize)
        .isInstanceOf(SimulationException.class)
        .hasMessageContaining("a kernel in steps waits at SteppedKernelTest.java:")
        .hasMessageContaining("in one piece");
  }

  @Test
  void beginThatGivesNothing_isRefusedWithTheKernelsName() {
    SteppedKernel nothing = tl -> null;
    torch.launch("nothing", nothing, ONE);
    assertThatThrownBy(torch::synchronize)
        .isInstanceOf(SimulationException.class)
        .hasMessageContaining("kernel nothing at sip0.cube0.pe0: begin gave null");
  }

  @Test
  void laterStep_tensorItWasNotGiven_isRefused() {
    AtomicInteger step = new AtomicInteger();
    SteppedKernel copies =
        tl ->
            () -> {
              if (step.getAndIncrement() == 1) {
                tl.store(y, tl.load(x));
              }
              return step.get() < 3;
            };
    torch.launch("copies", copies, x);
    assertThatThrownBy(x::toFloats)
        .isInstanceOf(SimulationException.class)
        .hasMessageContaining("kernel copies at sip0.cube0.pe0 uses tensor y");
  }

  @Test
  void laterStep_outOfRange_namesKernelAndLine() {
    AtomicInteger step = new AtomicInteger();
    SteppedKernel reads =
        tl ->
            () -> {
              tl.release(tl.load(tl.shard(x).range(step.get(), 2)));
              return step.incrementAndGet() < 4;
            };
    torch.launch("reads", reads, x);
    assertThatThrownBy(x::toFloats)
        .isInstanceOf(SimulationException.class)
        .hasMessageContaining("kernel reads at sip0.cube0.pe0")
        .hasMessageContaining("(SteppedKernelTest.java:");
  }
}
