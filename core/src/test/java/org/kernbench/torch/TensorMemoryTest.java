package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.machine.Machines;
import org.kernbench.machine.SimulationException;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Loan;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Slice;
import org.kernbench.torch.placement.DpPolicy;

/** Tensors from and to memory of the host, a piece at a time, beside the same through an array. */
final class TensorMemoryTest {
  /** Parts end in the middle of pieces, and pieces in the middle of rows. */
  private static final Shape SHAPE = Shape.of(24, 40, 337);

  private static byte[] noise(long bytes) {
    byte[] noise = new byte[Math.toIntExact(bytes)];
    new Random(7).nextBytes(noise);
    return noise;
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "cube=replicate pe=replicate",
        "cube=row_wise pe=row_wise",
        "cube=column_wise pe=column_wise",
        "cube=row_wise pe=column_wise",
        "cube=replicate pe=column_wise"
      })
  void memory_inAndOut_isWhatAnArrayGives(String placement) {
    try (Torch torch = Torch.open(Machines.load("tiny", List.of()), TorchOptions.DEFAULT)) {
      DpPolicy policy = DpPolicy.parse(placement);
      Tensor byArray = torch.empty(SHAPE, DType.F32, policy, "by array");
      Tensor byMemory = torch.empty(SHAPE, DType.F32, policy, "by memory");
      byte[] noise = noise(byArray.sizeBytes());

      byArray.copyInPlace(noise);
      byMemory.copyInPlace(MemorySegment.ofArray(noise));
      byte[] out = new byte[noise.length];
      byArray.toMemory(MemorySegment.ofArray(out));

      assertThat(byMemory.toBytes()).isEqualTo(noise);
      assertThat(out).isEqualTo(noise);
    }
  }

  @Test
  void memory_ofAnotherSizeOrNeverWritten_isRefused() {
    try (Torch torch = Torch.open(Machines.load("tiny", List.of()), TorchOptions.DEFAULT)) {
      Tensor tensor = torch.empty(Shape.of(3), DType.F16, DpPolicy.single(), "x");
      MemorySegment six = MemorySegment.ofArray(new byte[6]);

      assertThatThrownBy(() -> tensor.copyInPlace(MemorySegment.ofArray(new byte[5])))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("has 6 bytes, got 5");
      assertThatThrownBy(() -> tensor.toMemory(six)).hasMessageContaining("before anything was");
      tensor.fillInPlace(1);
      tensor.toMemory(six);
      assertThat(six.toArray(java.lang.foreign.ValueLayout.JAVA_BYTE)).isEqualTo(tensor.toBytes());
    }
  }

  /** Numbers and single elements have no axis to be divided. */
  @Test
  void scalar_inAndOut() {
    try (Torch torch = Torch.open(Machines.load("tiny", List.of()), TorchOptions.DEFAULT)) {
      Tensor one = torch.empty(Shape.of(), DType.F32, DpPolicy.single(), "one");
      one.copyInPlace(MemorySegment.ofArray(new byte[] {0, 0, -128, 63}));
      assertThat(one.toFloats()).containsExactly(1);
    }
  }

  /** A model has the same few layouts in every layer: a tensor is an address in one of them. */
  @Test
  void tensors_laidOutAlike_shareTheirPlaces() {
    try (Torch torch = Torch.open(Machines.load("tiny", List.of()), TorchOptions.DEFAULT)) {
      DpPolicy rows = DpPolicy.parse("cube=row_wise pe=row_wise");
      Tensor a = torch.empty(SHAPE, DType.F32, rows, "a");
      Tensor b = torch.empty(SHAPE, DType.F32, rows, "b");
      Tensor halves = torch.empty(SHAPE, DType.F16, rows, "halves");

      assertThat(b.shardSpecs()).isSameAs(a.shardSpecs());
      assertThat(b.runs()).isSameAs(a.runs());
      Shape part = Shape.of(337);
      assertThat(b.view(674, part, "v").shardSpecs())
          .isSameAs(a.view(674, part, "w").shardSpecs())
          .isNotSameAs(a.view(337, part, "x").shardSpecs());
      for (int i = 0; i < a.shards().size(); i++) {
        long apart = b.address().value() - a.address().value();
        long offset = a.shards().get(i).address().value() - a.address().value();
        assertThat(b.shards().get(i).address().value() - a.shards().get(i).address().value())
            .isEqualTo(apart);
        assertThat(halves.shards().get(i).address().value() - halves.address().value())
            .isEqualTo(offset / 2);
      }
    }
  }

  /**
   * A tensor that is lent its elements has them, wherever its parts lie, and gives the memory back
   * once, at the latest when it is closed.
   */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "cube=replicate pe=replicate",
        "cube=row_wise pe=row_wise",
        "cube=column_wise pe=column_wise",
        "cube=row_wise pe=column_wise"
      })
  void loan_isReadInPlace_andComesBack(String placement) {
    try (Torch torch = Torch.open(Machines.load("tiny", List.of()), TorchOptions.DEFAULT)) {
      Tensor t = torch.empty(SHAPE, DType.F32, DpPolicy.parse(placement), "t");
      byte[] noise = noise(t.sizeBytes());
      int[] returned = new int[1];
      Loan loan = new Loan(MemorySegment.ofArray(noise.clone()), () -> returned[0]++);

      assertThat(t.lendInPlace(loan)).isSameAs(t);
      loan.release();

      assertThat(t.toBytes()).isEqualTo(noise);
      assertThat(t.version()).isEqualTo(1);
      t.fillInPlace(0);
      assertThat(t.toBytes()).containsOnly(0);
      assertThatThrownBy(
              () -> t.lendInPlace(new Loan(MemorySegment.ofArray(new byte[3]), () -> {})))
          .isInstanceOf(SimulationException.class);
      assertThat(t.version()).isEqualTo(2);
      t.close();
      assertThat(returned[0]).isEqualTo(1);
    }
  }

  /** A kernel that was launched before has written when the elements are lent: they stay. */
  @Test
  void loan_afterAKernelThatWrites_isWhatTheTensorHas() {
    try (Torch torch = Torch.open(Machines.load("tiny", List.of()), TorchOptions.DEFAULT)) {
      Tensor t = torch.empty(SHAPE, DType.F32, DpPolicy.parse("cube=row_wise pe=row_wise"), "t");
      byte[] noise = noise(t.sizeBytes());
      torch.launch(
          "writes",
          tl -> {
            Slice mine = tl.shard(t).all();
            tl.store(mine, tl.full(mine.shape(), 7, DType.F32));
          },
          t);

      t.lendInPlace(new Loan(MemorySegment.ofArray(noise.clone()), () -> {}));

      assertThat(t.toBytes()).isEqualTo(noise);
    }
  }
}
