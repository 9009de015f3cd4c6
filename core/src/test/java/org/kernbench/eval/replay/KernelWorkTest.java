package org.kernbench.eval.replay;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;

/** Operations of kernels, one call in each, against counts by hand for a matrix of 6 x 10. */
final class KernelWorkTest {
  private static final int N = 60;

  private static Map<String, BiFunction<Tl, Value, Value>> calls() {
    Map<String, BiFunction<Tl, Value, Value>> all = new LinkedHashMap<>();
    all.put("none", (tl, x) -> x);
    all.put("add", (tl, x) -> x.add(x));
    all.put("add scalar", (tl, x) -> x.add(2));
    all.put("scalar minus", (tl, x) -> x.rsub(2));
    all.put("exp", (tl, x) -> x.exp());
    all.put("fma", (tl, x) -> x.fma(x, x));
    all.put("clamp", (tl, x) -> x.clamp(0, 1));
    all.put("compare", (tl, x) -> x.lt(x));
    all.put("compare scalar", (tl, x) -> x.lt(2));
    all.put("sum of rows", (tl, x) -> x.sum(1));
    all.put("sum of columns", (tl, x) -> x.sum(0));
    all.put("argmax", (tl, x) -> x.argmax(1));
    all.put("cumsum", (tl, x) -> x.cumsum(0));
    all.put("softmax", (tl, x) -> x.softmax(1));
    all.put("product", (tl, x) -> tl.dot(x, x.trans()));
    all.put("turned", (tl, x) -> x.trans().exp());
    all.put("where", (tl, x) -> tl.where(x.lt(2), x, x));
    all.put("where scalar", (tl, x) -> tl.where(x.lt(2), x, 3.0));
    all.put("cast", (tl, x) -> x.cast(DType.F16));
    all.put("full", (tl, x) -> tl.full(Shape.of(6, 10), 3, DType.F32));
    all.put("arange", (tl, x) -> tl.arange(0, 60));
    all.put("random", (tl, x) -> tl.rand(7, tl.arange(0, 60)));
    all.put("concat", (tl, x) -> tl.concat(0, x, x));
    all.put("integers", (tl, x) -> tl.arange(0, 60).add(tl.arange(0, 60)));
    return all;
  }

  private static Map<String, Long> expected() {
    Map<String, Long> all = new LinkedHashMap<>();
    all.put("none", 0L);
    all.put("add", 60L);
    all.put("add scalar", 60L);
    all.put("scalar minus", 60L);
    all.put("exp", 60L);
    all.put("fma", 120L);
    all.put("clamp", 120L);
    all.put("compare", 60L);
    all.put("compare scalar", 60L);
    all.put("sum of rows", 60L);
    all.put("sum of columns", 60L);
    all.put("argmax", 60L);
    all.put("cumsum", 60L);
    all.put("softmax", 300L);
    all.put("product", 2L * 6 * 6 * 10);
    all.put("turned", 60L);
    all.put("where", 60L); // the comparison
    all.put("where scalar", 60L);
    all.put("cast", 0L);
    all.put("full", 0L);
    all.put("arange", 0L);
    all.put("random", 0L);
    all.put("concat", 0L);
    all.put("integers", 0L);
    return all;
  }

  @Test
  void operations_ofEachCall_areCounted_andBytesOfMemory() {
    Map<String, BiFunction<Tl, Value, Value>> calls = calls();
    try (Torch torch = Torch.open(Machines.load("tiny", List.of()), TorchOptions.DEFAULT)) {
      Tensor x = torch.zeros(Shape.of(6, 10), DType.F32, "x");
      Tensor y = torch.empty(Shape.of(N), DType.F32, "y");
      for (BiFunction<Tl, Value, Value> call : calls.values()) {
        torch.launch(
            "k",
            tl -> {
              call.apply(tl, tl.load(x));
              tl.await(tl.store(tl.shard(y).range(0, 7), tl.zeros(Shape.of(7), DType.F32)));
            },
            x,
            y);
      }
      torch.synchronize();
      KernelWork work = new KernelWork(torch.simulator().opLog());
      assertThat(work.isComplete()).isTrue();
      Map<String, Long> counted = new LinkedHashMap<>();
      int launch = 0;
      for (String name : calls.keySet()) {
        counted.put(name, work.of(launch, 0).operations());
        assertThat(work.of(launch, 0).memoryBytes()).as(name).isEqualTo(N * 4 + 7 * 4);
        launch++;
      }
      assertThat(counted).isEqualTo(expected());
      assertThat(work.of(launch, 0)).isEqualTo(KernelWork.Sum.NONE);
      assertThat(work.of(0, 1)).isEqualTo(KernelWork.Sum.NONE);
    }
  }
}
