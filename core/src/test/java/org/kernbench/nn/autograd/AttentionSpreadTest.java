package org.kernbench.nn.autograd;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machines;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.placement.Spread;

/** Attention over several tiles of queries and keys, divided over a package: the bits of one PE. */
final class AttentionSpreadTest {
  @ParameterizedTest
  @CsvSource({"f32, 4, 2, 1, FULL", "bf16, 3, 3, 2, VALUES", "bf16, 2, 1, 1, FULL"})
  void attention_onAllPes_bitsOfOnePe(String dtype, int heads, int keyHeads, int batch, Mode mode) {
    List<byte[]> one = run(DType.parse(dtype), heads, keyHeads, batch, Spread.LEAD, Mode.VALUES);
    for (Spread spread : List.of(Spread.ALL, Spread.CUBE)) {
      List<byte[]> all = run(DType.parse(dtype), heads, keyHeads, batch, spread, mode);
      for (int i = 0; i < one.size(); i++) {
        assertThat(all.get(i)).as("result %s", i).isEqualTo(one.get(i));
      }
    }
  }

  /** Output and gradients of 300 queries and keys, a few of whose positions are out of order. */
  private static List<byte[]> run(
      DType dtype, int heads, int keyHeads, int batch, Spread spread, Mode mode) {
    int n = 300;
    int size = 8;
    TorchOptions options = TorchOptions.DEFAULT.withMode(mode).withSpread(spread);
    try (Torch torch = Torch.open(Machines.load("tiny", List.of()), options);
        Graph graph = Graph.of(torch)) {
      Shape queries = Shape.of(n, batch, heads * size);
      Shape keys = Shape.of(n, batch, keyHeads * size);
      Variable q = graph.input(random(torch, "q", queries, dtype));
      Variable k = graph.input(random(torch, "k", keys, dtype));
      Variable v = graph.input(random(torch, "v", keys, dtype));
      int[] at = new int[n];
      for (int i = 0; i < n; i++) {
        at[i] = i < 40 ? 299 - i : i - 40;
      }
      Variable y = graph.attention(q, k, v, size, at, at);
      graph.backward(y, random(torch, "dy", queries, dtype));
      List<byte[]> results = new ArrayList<>();
      for (Tensor t :
          List.of(
              y.value(), q.grad().orElseThrow(), k.grad().orElseThrow(), v.grad().orElseThrow())) {
        results.add(t.toBytes());
      }
      return results;
    }
  }

  private static Tensor random(Torch torch, String name, Shape shape, DType dtype) {
    double[] values = new Random(name.hashCode()).doubles(shape.elements(), -1, 1).toArray();
    return Compute.spread(torch, name, shape, dtype).copyInPlace(values);
  }
}
