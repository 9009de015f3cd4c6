package org.kernbench.nn.autograd;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.nn.layers.Init;
import org.kernbench.nn.layers.Transformer;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.nn.optim.AdamW;
import org.kernbench.nn.optim.DataParallel;
import org.kernbench.nn.optim.Optimizer;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.SequencePart;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.Worker;
import org.kernbench.torch.placement.Spread;

/**
 * A rank that is a package or a cube computes on all of its PEs, and every loss, gradient and
 * parameter has the bits that a rank of one PE computes in the same layout of ranks.
 *
 * <p>With two ranks to a group: a sum over more ranks is added up in an order that depends on where
 * an element lies.
 */
final class WholeDeviceTest {
  private static final TransformerConfig GPT =
      new TransformerConfig("gpt", 40, 1, 20, 20, 2, 48, 26, 40, TransformerConfig.Style.GPT);
  private static final TransformerConfig LLAMA =
      new TransformerConfig("llama", 40, 1, 20, 10, 2, 36, 26, 40, TransformerConfig.Style.LLAMA);

  @ParameterizedTest
  @CsvSource({
    "sip, ALL, f32, 1, 1, 1, false, full",
    "sip, ALL, bf16, 1, 1, 1, false, values",
    "sip, CUBE, f32, 1, 1, 1, false, values",
    "cube, ALL, bf16, 1, 1, 1, false, values",
    "sip, ALL, f32, 2, 1, 1, false, values",
    "sip, ALL, bf16, 2, 1, 1, true, full",
    "cube, ALL, f32, 2, 1, 1, true, values",
    "sip, ALL, f32, 1, 2, 1, false, values",
    "sip, ALL, bf16, 1, 1, 2, false, values",
    "sip, ALL, f32, 2, 1, 2, true, values",
  })
  void step_onAllPes_bitsOfOnePe(
      String level, Spread spread, String dtype, int tp, int cp, int dp, boolean sp, String mode) {
    for (TransformerConfig config : List.of(GPT, LLAMA)) {
      Step one = new Step(config, DType.parse(dtype), tp, cp, dp, sp);
      Map<String, byte[]> expected = one.run("pe", Spread.LEAD, Mode.VALUES);
      Map<String, byte[]> found = one.run(level, spread, Mode.valueOf(mode.toUpperCase()));
      assertThat(found.keySet()).isEqualTo(expected.keySet());
      expected.forEach((name, bits) -> assertThat(found.get(name)).as(name).isEqualTo(bits));
    }
  }

  /**
   * Layers of one input find gradients in two launches, also if one of three is not asked, and each
   * parameter is told of once; a layer that is asked alone, or whose weight is frozen, finds them
   * by itself.
   */
  @ParameterizedTest
  @CsvSource({"FULL, '', q k", "VALUES, v, q k", "VALUES, k v, q", "VALUES, frozen, ''"})
  void layersOfOneInput_onAllPes_bitsOfOnePe(Mode mode, String without, String together) {
    Layers layers = new Layers(without);
    Found expected = layers.run(Spread.LEAD, Mode.VALUES);
    Found found = layers.run(Spread.ALL, mode);
    assertThat(found.values).isEqualTo(expected.values);
    assertThat(found.told).isEqualTo(expected.told);
    boolean several = together.contains(" ");
    assertThat(found.launches.contains("k.grad.dx")).isEqualTo(!several && !without.contains("k"));
    assertThat(found.launches.contains("q.grad.dx")).isTrue();
  }

  private record Found(List<List<Double>> values, Set<String> told, Set<String> launches) {}

  /** Three linear layers of one input, some of which nothing depends on. */
  private record Layers(String without) {
    Found run(Spread spread, Mode mode) {
      TorchOptions options = TorchOptions.DEFAULT.withMode(mode).withSpread(spread);
      try (Torch torch = Torch.open(Machines.load("tiny", List.of()), options);
          Graph graph = Graph.of(torch)) {
        Variable x = graph.input(random(torch, "x", 300, 395));
        List<Parameter> weights =
            List.of(
                parameter(torch, "q", 300), parameter(torch, "k", 200), parameter(torch, "v", 150));
        weights.get(1).freeze(without.equals("frozen"));
        Variable sum = null;
        for (Parameter w : weights) {
          try (Graph.Section section = graph.section(w.name())) {
            Variable y = graph.narrowColumns(graph.linear(x, w), 0, 150);
            if (!without.contains(w.name())) {
              sum = sum == null ? y : graph.add(sum, y);
            }
          }
        }
        List<String> told = new ArrayList<>();
        graph.backward(
            Objects.requireNonNull(sum), random(torch, "dy", 300, 150), p -> told.add(p.name()));
        List<List<Double>> values = new ArrayList<>();
        values.add(doubles(x));
        weights.stream()
            .filter(w -> w.grad().isPresent())
            .map(Layers::doubles)
            .forEach(values::add);
        assertThat(told).doesNotHaveDuplicates().hasSize(values.size() - 1);
        return new Found(values, Set.copyOf(told), Set.copyOf(graph.compute().work().keySet()));
      }
    }

    private static List<Double> doubles(Variable of) {
      return Arrays.stream(of.grad().orElseThrow().toDoubles()).boxed().toList();
    }

    private static Parameter parameter(Torch torch, String name, int out) {
      Tensor value = Compute.parameter(torch, name, Shape.of(out, 395), DType.BF16);
      double[] values = new Random(out).doubles(value.shape().elements(), -1, 1).toArray();
      return new Parameter(name, value.copyInPlace(values), Parameter.Sharding.REPLICATED);
    }

    private static Tensor random(Torch torch, String name, int rows, int columns) {
      double[] values = new Random(name.hashCode()).doubles((long) rows * columns, -1, 1).toArray();
      return Compute.spread(torch, name, Shape.of(rows, columns), DType.BF16).copyInPlace(values);
    }
  }

  /** One step of training in a layout. */
  private record Step(TransformerConfig config, DType dtype, int tp, int cp, int dp, boolean sp) {
    Map<String, byte[]> run(String level, Spread spread, Mode mode) {
      Machine machine =
          Machines.load(
              "sip-2026", List.of("system.sips.count=4", "sip.cube_mesh.w=2", "sip.cube_mesh.h=2"));
      int ranks = tp * cp * dp;
      CollectiveLibrary library =
          CollectiveLibrary.open(
              machine,
              CclConfig.load(
                  Optional.empty(),
                  List.of(
                      "defaults.algorithm=ring",
                      "algorithms.ring.rank_level=" + level,
                      "algorithms.ring.world_size=" + ranks)));
      Map<String, byte[]> all = new ConcurrentHashMap<>();
      TorchOptions options = TorchOptions.DEFAULT.withMode(mode).withSpread(spread);
      try (Torch torch = Torch.open(machine, options.withCollectives(library))) {
        torch.distributed().initProcessGroup(library.name());
        torch.multiprocessing().spawn(w -> body(w, all), ranks);
      }
      return new TreeMap<>(all);
    }

    private void body(Worker w, Map<String, byte[]> all) {
      ParallelLayout layout = ParallelLayout.create(w.distributed(), tp, cp, dp, sp);
      Transformer model = new Transformer(config, layout, new Init(w.torch(), dtype, 7, 0.2));
      SequencePart part = new SequencePart(40, cp, layout.cp().rank());
      int[] at = part.own();
      int batch = 2;
      int[] ids = new int[at.length * batch];
      int[] targets = new int[ids.length];
      double[] mask = new double[ids.length];
      for (int i = 0; i < ids.length; i++) {
        int sample = layout.dp().rank() * batch + i % batch;
        ids[i] = (at[i / batch] * 7 + sample * 5) % config.vocabulary();
        targets[i] = (at[i / batch] * 11 + sample * 3 + 1) % config.vocabulary();
        mask[i] = i % 5 == 4 ? 0 : 1;
      }
      DataParallel data =
          new DataParallel(w.torch(), layout, model.parameters(), DataParallel.DEFAULT);
      try (Graph graph = Graph.of(w.torch());
          Optimizer optimizer = new AdamW(w.torch(), data.owned(), AdamW.Settings.of(0.01))) {
        Variable losses = model.forward(graph, ids, targets, batch, part);
        data.backward(graph, graph.weightedSum(losses, mask));
        data.divideByTokens(ids.length);
        data.clip(1);
        optimizer.step();
        String rank = "rank " + w.rank() + " ";
        all.put(rank + "losses", losses.value().toBytes());
        for (Parameter p : model.parameters()) {
          all.put(rank + p.name() + " grad", p.grad().orElseThrow().toBytes());
          all.put(rank + p.name(), p.value().toBytes());
        }
      }
    }
  }
}
