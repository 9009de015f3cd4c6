package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Kernel;

/** Kernels that say what they write: readers of one tensor run at the same time, writers do not. */
final class ReadersTest {
  private static final int N = 1 << 14;

  @Test
  void launchBeside_twoReaders_overlap_aWriterComesAfterBoth() {
    try (Torch torch =
        Torch.open(
            Machines.load("sip-2026", List.of()), TorchOptions.DEFAULT.withMode(Mode.FULL))) {
      Tensor x = torch.full(Shape.of(N), DType.F32, 3, "x");
      Tensor a = torch.empty(Shape.of(N), DType.F32, "a");
      Tensor b = torch.empty(Shape.of(N), DType.F32, "b");
      List<Pe> pe = List.of(new Pe(0, 0, 0));
      Launch first = torch.launch("first", copy(a, x), pe, List.of(a), List.of(x));
      Launch beside =
          torch.launchBeside("second", copy(b, x), pe, List.of(b), List.of(x), List.of());
      Launch writer =
          torch.launchBeside(
              "third",
              tl -> tl.store(tl.whole(x).all(), tl.zeros(Shape.of(N), DType.F32)),
              pe,
              List.of(x),
              List.of(),
              List.of());
      torch.synchronize();
      assertThat(beside.startPs()).isLessThan(first.endPs());
      assertThat(writer.startPs()).isGreaterThanOrEqualTo(first.endPs());
      assertThat(writer.startPs()).isGreaterThanOrEqualTo(beside.endPs());
      assertThat(a.get(N - 1)).isEqualTo(3);
      assertThat(b.get(N - 1)).isEqualTo(3);
      assertThat(x.get(0)).isEqualTo(0);
    }
  }

  /** A reader comes after whoever writes, on whichever stream; a view is its whole tensor. */
  @Test
  void launch_readerOfAView_comesAfterTheWriter() {
    try (Torch torch =
        Torch.open(
            Machines.load("sip-2026", List.of()), TorchOptions.DEFAULT.withMode(Mode.FULL))) {
      Tensor x = torch.full(Shape.of(N), DType.F32, 3, "x");
      Tensor a = torch.empty(Shape.of(N), DType.F32, "a");
      Tensor view = x.view(0, Shape.of(N), "view");
      List<Pe> pe = List.of(new Pe(0, 0, 0));
      Launch writer =
          torch.launchBeside(
              "writer",
              tl -> tl.store(tl.whole(x).all(), tl.full(Shape.of(N), 5, DType.F32)),
              pe,
              List.of(x),
              List.of(),
              List.of());
      Launch reader = torch.launch("reader", copy(a, view), pe, List.of(a), List.of(view));
      torch.synchronize();
      assertThat(reader.startPs()).isGreaterThanOrEqualTo(writer.endPs());
      assertThat(a.get(7)).isEqualTo(5);
    }
  }

  private static Kernel copy(Tensor to, Tensor from) {
    return tl -> tl.store(tl.whole(to).all(), tl.load(tl.whole(from).all()));
  }
}
