package org.kernbench.eval.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.device.Mode;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Variable;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;

/** Bounds beside operations: products by their multiply-adds, the rest by their bytes. */
final class OperationRowsTest {
  @Test
  void rows_productAndSum_haveTheBoundsOfTheirFormulas() {
    Machine machine = Machines.load("sip-2026", List.of());
    try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT.withMode(Mode.TIME));
        Graph graph = Graph.of(torch)) {
      Tensor x = torch.empty(Shape.of(256, 512), DType.BF16, "x");
      Tensor w = torch.empty(Shape.of(512, 512), DType.BF16, "w");
      Variable y = graph.linear(graph.constant(x), graph.constant(w));
      graph.add(y, y);
      torch.synchronize();
      Map<String, Map<String, Object>> rows = new HashMap<>();
      rowsOf(machine, torch, graph).forEach(row -> rows.put((String) row.get("operation"), row));
      // 2 x 256 x 512 x 512 / (64 x 64 x 2 x 2 GHz)
      assertThat(rows.get("matmul").get("bound_ns")).isEqualTo(new BigDecimal("8192.000"));
      assertThat(rows.get("matmul").get("bound_kind")).isEqualTo("compute");
      // two operands and a result of 256 x 512 x 2 bytes at 32 GB/s x 8 channels x 0.85
      assertThat(((BigDecimal) rows.get("add").get("bound_ns")).doubleValue())
          .isBetween(3613.0, 3615.0);
      assertThat(rows.get("add").get("bound_kind")).isEqualTo("memory");
      // 16 blocks of 8,192: a sum of two operands and a result of 16 KiB through 1,024 GB/s, which
      // takes longer than 10 cycles and one for 128 in bf16, at 2 GHz
      assertThat(rows.get("add").get("engines_ns")).isEqualTo(new BigDecimal(16 * 3 * 16 + ".000"));
      // the products, which the array rounds itself (ADR 288), and its filling
      assertThat(((BigDecimal) rows.get("matmul").get("engines_ns")).doubleValue())
          .isBetween(8192.0, 1.1 * 8192);
      rows.values()
          .forEach(row -> {
            double busy = ((BigDecimal) row.get("engines_pct")).doubleValue();
            assertThat(busy).as(row.toString()).isBetween(1.0, 100.0);
            double part = number(row, "of_bound_pct");
            assertThat(part).as(row.toString()).isBetween(1.0, 100.0);
          });
    }
  }

  /**
   * Launches of one name need not be alike: what the log does not hold of the second, the first
   * does not say.
   */
  @Test
  void rows_logThatIsCut_sayHowBusyEnginesWereInLaunchesThatItHolds() {
    Map<String, Object> all = sumsOfTwoSizes(1000);
    // 1 and 8 blocks of 8,192, 48 ns each
    assertThat(number(all, "engines_ns")).isEqualTo(9 * 48);
    assertThat(number(all, "engines_pct"))
        .isCloseTo(100 * 9 * 48 / number(all, "time_ns"), withinPercentage(0.001));

    Map<String, Object> cut = sumsOfTwoSizes(8);
    assertThat(cut.get("time_ns")).isEqualTo(all.get("time_ns"));
    assertThat(cut.get("engines_ns")).isEqualTo("");
    assertThat(number(cut, "engines_pct")).isLessThan(0.8 * number(all, "engines_pct"));

    Map<String, Object> cutAtOnce = sumsOfTwoSizes(3);
    assertThat(cutAtOnce.get("engines_ns")).isEqualTo("");
    assertThat(cutAtOnce.get("engines_pct")).isEqualTo("");
  }

  /** Of one block, then of eight. */
  private static Map<String, Object> sumsOfTwoSizes(int opLogLimit) {
    Machine machine = Machines.load("sip-2026", List.of());
    TorchOptions options =
        TorchOptions.DEFAULT
            .withMode(Mode.TIME)
            .withSimulator(SimulatorOptions.DEFAULT.withOpLogLimit(opLogLimit));
    try (Torch torch = Torch.open(machine, options);
        Graph graph = Graph.of(torch)) {
      for (int blocks : List.of(1, 8)) {
        Variable x = graph.constant(torch.empty(Shape.of(blocks, 8192), DType.BF16, "x" + blocks));
        graph.add(x, x);
      }
      torch.synchronize();
      return rowsOf(machine, torch, graph).getFirst();
    }
  }

  /** Of one PE. */
  private static List<Map<String, Object>> rowsOf(Machine machine, Torch torch, Graph graph) {
    return new OperationRows(
            machine,
            torch.simulator().opLog(),
            pe -> pe.sip() == 0,
            1,
            torch.simulator().nowPs(),
            graph.compute().work())
        .rows();
  }

  /** Other ranks of its package, and replicas, are not counted with it. */
  @ParameterizedTest
  @CsvSource({
    "pe, tp=2, 37",
    "pe, tp=1 sp=off dp=2, 37",
    "cube, tp=2, 37",
    "sip, tp=2, 37",
  })
  void rows_ofATrainingStep_areOfTheFirstRank(String level, String layout, long parameters) {
    List<String> params = new ArrayList<>(List.of(layout.split(" ")));
    params.addAll(List.of("rows=operations", "rank_level=" + level, "spread=lead"));
    Map<String, Object> adam =
        run(params).rows().stream()
            .filter(row -> row.get("operation").equals("adam"))
            .findFirst()
            .orElseThrow();
    assertThat(adam.get("launches")).isEqualTo(parameters);
    // of 28 bytes of state, gradient, and master, and 2 of the weight, for each element of the rank
    assertThat(((BigDecimal) adam.get("bound_ns")).doubleValue()).isGreaterThan(1000);
    assertThat(((BigDecimal) adam.get("of_bound_pct")).doubleValue()).isBetween(1.0, 100.0);
  }

  /** In these layouts all but collectives have bounds: what changes gradients, and stages, too. */
  @ParameterizedTest
  @CsvSource({
    "train-step, tp=2 dp=2 overlap=off",
    "train-step, tp=1 dp=2 zero=1",
    "train-step, tp=1 pp=2 microbatches=2 dtype=f32",
    "mimo-train-step, 'encoder=tp=2,dp=1 language=tp=2,cp=1,dp=1'",
  })
  void rows_withoutCollectives_haveBoundsThatTheyAreAbove(String bench, String layout) {
    List<String> params = new ArrayList<>(List.of(layout.split(" ")));
    params.add("rows=operations");
    Map<String, Map<String, Object>> rows = new HashMap<>();
    run(bench, params).rows().forEach(row -> rows.put((String) row.get("operation"), row));
    rows.keySet().removeIf(name -> name.endsWith(")"));

    assertThat(rows).containsKeys("scale", "norm", "clip", "per-token", "adam");
    assertThat(rows.values())
        .allSatisfy(row -> assertThat(number(row, "of_bound_pct")).isBetween(0.0, 100.0));
    // twice 4 bytes read and 4 written of a gradient; factors of 37 parameters or fewer
    double adam = params.contains("dtype=f32") ? 28 : 30;
    assertThat(number(rows.get("scale"), "bound_ns") / number(rows.get("adam"), "bound_ns"))
        .isCloseTo(16 / adam, withinPercentage(1));
  }

  private static double number(Map<String, Object> row, String key) {
    return ((BigDecimal) row.get(key)).doubleValue();
  }

  /** What a rank has is what the PEs that were chosen have. */
  @Test
  void needs_chosenSpread_areThoseOfThatSpreadAsked() {
    List<String> layout = List.of("rank_level=sip", "tp=2", "dp=3", "batch=3");
    RunResult chosen = run(layout);
    List<String> asked = new ArrayList<>(layout);
    asked.add("spread=" + chosen.params().get("spread"));

    assertThat(asked.getLast()).isNotEqualTo("spread=all");
    assertThat(chosen.metrics().get("needs")).isEqualTo(run(asked).metrics().get("needs"));
  }

  private static RunResult run(List<String> params) {
    return run("train-step", params);
  }

  private static RunResult run(String bench, List<String> params) {
    return Runner.of("test", Progress.SILENT)
        .run(
            BenchRegistry.standard().find(bench),
            RunOptions.DEFAULT.withMode(Mode.TIME).withParams(params));
  }

  @Test
  void memory_ofTensors_isWhatTheyHold_andHadAtMost() {
    Machine machine = Machines.load("sip-2026", List.of());
    try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT.withMode(Mode.TIME))) {
      Tensor a = torch.empty(Shape.of(1 << 20), DType.F32, "a.weight");
      try (Tensor b = torch.empty(Shape.of(1 << 19), DType.F32, "b")) {
        assertThat(torch.memory().byTensor()).containsEntry(b.name(), 2L << 20);
      }
      assertThat(torch.memory().byTensor()).containsExactly(Map.entry(a.name(), 4L << 20));
      assertThat(torch.memory().mostBytes()).isEqualTo(6L << 20);
      assertThat(MemoryText.of(torch).line()).endsWith(", copies 0 B, activations 4 MiB");
      Tensor view = a.view(7, Shape.of(9), "part").heldAs(Tensor.Purpose.PARAMETER);
      assertThat(MemoryText.of(torch).line())
          .isEqualTo(
              "6 MiB of 6 GiB at most on a PE; at the end weights 4 MiB, gradients 0 B, optimizer"
                  + " 0 B, copies 0 B, activations 0 B");
      a.close();
      torch.synchronize();
      view.heldAs(Tensor.Purpose.COPY);
      assertThat(torch.memoryByPurpose().values()).containsOnly(0L);
    }
  }
}
