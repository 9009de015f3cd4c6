package org.kernbench.eval.benches;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.Runner;
import org.kernbench.eval.explain.Breakdown;
import org.kernbench.eval.explain.Segment;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Kernel;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.placement.RankLevel;

/** The critical path of several launches: through the host, and from kernel to kernel. */
final class LaunchPathTest {
  private static final Pe A = new Pe(0, 0, 0);
  private static final Pe B = new Pe(0, 0, 1);

  private static Torch open(Machine machine) {
    SimulatorOptions recording = new SimulatorOptions(1 << 20, false);
    return Torch.open(
        machine,
        new TorchOptions(Mode.TIME, recording, Optional.of(new NoGroups(machine, RankLevel.PE))));
  }

  private static Tensor tensor(Torch torch, Pe pe) {
    torch.ahbm().setDevice(torch.machine().peIndex(pe));
    return torch.empty(Shape.of(512), DType.F16, "t" + pe);
  }

  /** So many additions, one after the other. */
  private static Kernel additions(int count) {
    return tl -> {
      Value x = tl.zeros(Shape.of(256), DType.F32);
      for (int i = 0; i < count; i++) {
        x = x.add(x);
      }
    };
  }

  private static Breakdown wholeRun(Torch torch) {
    Machine machine = torch.machine();
    return Breakdown.ofRun(machine, torch.simulator().opLog(), machine.ipcq());
  }

  private static long ps(Breakdown path, String cause) {
    return path.segments().stream()
        .filter(s -> s.cause().text().equals(cause))
        .mapToLong(Segment::ps)
        .sum();
  }

  private static void assertCovers(Breakdown path, long fromPs, long toPs) {
    long at = fromPs;
    for (Segment s : path.segments()) {
      assertThat(s.fromPs()).as("no gap and no overlap before %s", s).isEqualTo(at);
      at = s.toPs();
    }
    assertThat(at).isEqualTo(toPs);
    assertThat(path.unexplainedPs()).isZero();
    assertThat(path.lengthOn(path.machine())).isEqualTo(toPs - fromPs);
    assertThat(path.kernels().stream().mapToLong(Breakdown.KernelShare::ps).sum())
        .isEqualTo(toPs - fromPs);
  }

  /** The host calls the second kernel when it has waited for the first: two calls on the path. */
  @Test
  void path_hostWaitsBetweenKernels_paysForEachCall() {
    Machine machine = Machines.load("tiny", List.of());
    try (Torch torch = open(machine)) {
      Launch first = torch.launch("first", additions(5), List.of(A));
      torch.await(first);
      Launch second = torch.launch("second", additions(9), List.of(A));
      torch.await(second);

      Breakdown path = wholeRun(torch);
      long call = machine.controlLatencyPs(A);
      assertThat(torch.simulator().nowPs())
          .isEqualTo(2 * call + first.criticalPs() + second.criticalPs());
      assertCovers(path, 0, torch.simulator().nowPs());
      assertThat(ps(path, "launch")).isEqualTo(2 * call);
      assertThat(path.kernels())
          .extracting(Breakdown.KernelShare::kernel, Breakdown.KernelShare::ps)
          .contains(
              org.assertj.core.groups.Tuple.tuple("first", first.criticalPs()),
              org.assertj.core.groups.Tuple.tuple("second", second.criticalPs()),
              org.assertj.core.groups.Tuple.tuple("(host)", 2 * call));
    }
  }

  /** Enqueued ahead, the second kernel follows the first at once. */
  @Test
  void path_kernelsEnqueuedAhead_paysForOneCall() {
    Machine machine = Machines.load("tiny", List.of());
    try (Torch torch = open(machine)) {
      Launch first = torch.launch("first", additions(5), List.of(A));
      Launch second = torch.launch("second", additions(9), List.of(A));
      torch.await(second);

      Breakdown path = wholeRun(torch);
      long call = machine.controlLatencyPs(A);
      assertCovers(path, 0, call + first.criticalPs() + second.criticalPs());
      assertThat(ps(path, "launch")).isEqualTo(call);
    }
  }

  /** A kernel on both PEs starts when the slower of two before it is done. */
  @ParameterizedTest
  @CsvSource({"40, 3, slow-a", "3, 40, slow-b"})
  void path_kernelAfterTwoOthers_goesThroughTheSlower(int onA, int onB, String slower) {
    Machine machine = Machines.load("tiny", List.of());
    try (Torch torch = open(machine)) {
      Tensor onlyA = tensor(torch, A);
      Tensor onlyB = tensor(torch, B);
      torch.launch("slow-a", additions(onA), onlyA);
      torch.launch("slow-b", additions(onB), onlyB);
      Launch both = torch.launch("both", additions(2), onlyA, onlyB);
      torch.await(both);

      Breakdown path = wholeRun(torch);
      assertCovers(path, 0, torch.simulator().nowPs());
      assertThat(path.kernels())
          .extracting(Breakdown.KernelShare::kernel)
          .containsExactlyInAnyOrder(slower, "both", "(host)");
    }
  }

  /** A PE is done with a kernel when its message has been seen, however early its CPU was. */
  @Test
  void path_kernelAfterAMessageUnderWay_goesThroughTheMessage() {
    Machine machine = Machines.load("tiny", List.of());
    Pe far = new Pe(0, 3, 0);
    try (Torch torch = open(machine)) {
      torch
          .simulator()
          .install(
              new QueuePlan(
                  machine.ipcq(), List.of(new QueuePlan.Connection(A, "peer", far, "peer"))));
      Kernel message =
          tl -> {
            if (tl.pe().equals(A)) {
              tl.send("peer", tl.zeros(Shape.of(64), DType.F16));
              additions(3).run(tl);
            } else {
              tl.recv("peer", Shape.of(64), DType.F16);
            }
          };
      torch.launch("message", message, tensor(torch, A), tensor(torch, far));
      torch.await(torch.launch("next", additions(300), tensor(torch, A)));

      Breakdown path = wholeRun(torch);
      assertCovers(path, 0, torch.simulator().nowPs());
      assertThat(ps(path, "latency")).isEqualTo(machine.route(A, far).latencyPs());
    }
  }

  /** A doorbell that takes 1 % longer costs that much for each call that the host waits for. */
  @Test
  void sensitivity_doorbell_countsTheCallsOnThePath() {
    Machine machine = Machines.load("tiny", List.of());
    try (Torch torch = open(machine)) {
      for (int i = 0; i < 3; i++) {
        torch.await(torch.launch("kernel", additions(4), List.of(A)));
      }
      Breakdown path = wholeRun(torch);
      Machine slower = machine.with(List.of("system.launch.doorbell=500 ns"));
      long more = slower.controlLatencyPs(A) - machine.controlLatencyPs(A);
      assertThat(more).isPositive();
      assertThat(path.lengthOn(slower) - path.totalPs()).isEqualTo(3 * more);
    }
  }

  /** Kernels on random PEs, with tensors between them and waits of the host at random. */
  @ParameterizedTest
  @ValueSource(strings = {"tiny", "kb-compat"})
  void path_randomLaunches_coversTheTimeExactly(String preset) {
    Machine machine = Machines.load(preset, List.of());
    for (int seed = 0; seed < 12; seed++) {
      try (Torch torch = open(machine)) {
        launchAtRandom(torch, new Random(seed));
        torch.synchronize();
        assertCovers(wholeRun(torch), 0, torch.simulator().nowPs());
      }
    }
  }

  private static void launchAtRandom(Torch torch, Random random) {
    List<Pe> pes = List.of(A, B, new Pe(0, 1, 0));
    List<Tensor> tensors = pes.stream().map(pe -> tensor(torch, pe)).toList();
    for (int i = 0; i < 25; i++) {
      Tensor from = tensors.get(random.nextInt(tensors.size()));
      Tensor to = tensors.get(random.nextInt(tensors.size()));
      int work = random.nextInt(20);
      Kernel kernel =
          tl -> {
            Tensor own = tensors.get(pes.indexOf(tl.pe()));
            Value x = tl.load(own);
            for (int step = 0; step < work; step++) {
              x = x.add(x);
            }
            tl.store(own, x);
          };
      Launch launch =
          random.nextInt(5) == 0
              ? torch.launch("anywhere" + i, kernel, List.of(random.nextBoolean() ? A : B))
              : torch.launch("kernel" + i, kernel, from, to);
      if (random.nextInt(4) == 0) {
        torch.await(launch);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"tp-mlp", "transformer-block", "rank-scale"})
  void path_benchOfManyLaunches_isExplainedInFull(String bench) {
    RunOptions options =
        RunOptions.DEFAULT
            .withMode(Mode.TIME)
            .withParams(bench.equals("rank-scale") ? List.of("ranks=16") : List.of());
    Runner runner = Runner.of("test", Progress.SILENT).explaining();
    Breakdown path = runner.run(BenchRegistry.standard().find(bench), options).path().orElseThrow();

    assertCovers(path, path.beginPs(), path.endPs());
    assertThat(path.kernels()).hasSizeGreaterThan(1);
    assertThat(ps(path, "other")).isZero();
    assertThat(ps(path, "host")).isZero();
  }
}
