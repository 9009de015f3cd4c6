package org.kernbench.nn.layers;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.kernbench.device.Mode;
import org.kernbench.nn.Ranks;
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.autograd.Parameter.Sharding;
import org.kernbench.nn.autograd.TwoModuleRecipe;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.nn.bridge.BridgeOptions;
import org.kernbench.nn.bridge.ColocatedBridgeCommunicator;
import org.kernbench.nn.bridge.SampleTokens;
import org.kernbench.nn.optim.GradientSync;
import org.kernbench.nn.parallel.HyperCommGrid;
import org.kernbench.nn.parallel.ModuleRole;
import org.kernbench.nn.parallel.ParallelLayout;
import org.kernbench.nn.parallel.RankGrid;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Worker;

/**
 * The worked ledger of {@code docs/spec/megatron.md} 10.2, to the last digit: four ranks, an
 * encoder {@code y = w x} with four replicas, a language model whose loss per token is {@code v y}
 * with two replicas of two context-parallel ranks each.
 */
final class LossLedgerTest {
  private static final int SEQUENCE = 8;

  private final int[] counts = new int[4];
  private final double[] sums = new double[4];
  private final double[] local = new double[4];
  private final double[] ofEncoder = new double[4];
  private final double[] ofLanguage = new double[4];

  private static Parameter one(Worker w, String name) {
    Tensor value = w.torch().full(Shape.of(1, 1), DType.F64, 1, name);
    return new Parameter(name, value, Sharding.REPLICATED);
  }

  private void body(Worker w) {
    int r = w.rank();
    HyperCommGrid from = new HyperCommGrid(w.distributed(), RankGrid.parse("tp=1,dp=4"));
    HyperCommGrid to = new HyperCommGrid(w.distributed(), RankGrid.parse("tp=1,cp=2,dp=2"));
    ParallelLayout encoder = ParallelLayout.of(from, false);
    ParallelLayout language = ParallelLayout.of(to, false);
    ColocatedBridgeCommunicator bridge =
        ColocatedBridgeCommunicator.create(from, to, BridgeOptions.DEFAULT);
    Parameter weight = one(w, "w");
    Parameter factor = one(w, "v");
    try (Graph graph = Graph.of(w.torch())) {
      double[] sample = new double[SEQUENCE];
      java.util.Arrays.fill(sample, r + 1);
      Variable x = graph.constant(sample, Shape.of(SEQUENCE, 1), DType.F64, "x");
      Variable y =
          bridge.communicate(graph, graph.linear(x, weight), SampleTokens.uniform(SEQUENCE));
      int[] byPosition = IntStream.range(0, 16).map(i -> i % 2 * SEQUENCE + i / 2).toArray();
      Variable merged = graph.reshape(graph.selectRows(y, byPosition), Shape.of(SEQUENCE, 2, 1));
      SequencePartition partition = SequencePartition.of(language, SEQUENCE);
      Variable perToken = graph.linear(partition.embeddings(graph, merged), factor);
      double[] mask = new double[8];
      for (int i = 0; i < mask.length; i++) {
        int position = partition.part().own()[i / 2];
        int last = i % 2 == 0 ? 7 : 6; // samples alternate between even and odd
        mask[i] = position >= 2 && position <= last ? 1 : 0;
        counts[r] += (int) mask[i];
      }
      Variable sum = graph.weightedSum(graph.reshape(perToken, Shape.of(4, 2)), mask);
      graph.backward(sum);
      sums[r] = sum.value().get(0);
    }
    local[r] = weight.grad().orElseThrow().get(0, 0);
    GradientSync ofW =
        new GradientSync(
            w.torch(), encoder, new TwoModuleRecipe(ModuleRole.ENCODER, language, Fault.NONE));
    GradientSync ofV =
        new GradientSync(
            w.torch(), language, new TwoModuleRecipe(ModuleRole.LANGUAGE, language, Fault.NONE));
    ofW.sum(List.of(weight));
    ofV.sum(List.of(factor));
    ofW.divideByTokens(List.of(weight), counts[r]);
    ofV.divideByTokens(List.of(factor), counts[r]);
    ofEncoder[r] = weight.grad().orElseThrow().get(0, 0);
    ofLanguage[r] = factor.grad().orElseThrow().get(0, 0);
  }

  @Test
  void ledger_countsSumsAndGradients_asWorkedOut() {
    Ranks.run(4, Mode.VALUES, this::body);
    assertThat(counts).containsExactly(3, 8, 3, 8);
    assertThat(sums).containsExactly(4, 12, 10, 28);
    assertThat(local).containsExactly(6, 10, 18, 20);
    // one division, as a product with the reciprocal
    assertThat(ofEncoder).containsOnly(54 * (1.0 / 22));
    assertThat(ofLanguage).containsOnly(54 * (1.0 / 22));
  }
}
