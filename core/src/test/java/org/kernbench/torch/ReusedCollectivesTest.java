package org.kernbench.torch;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Schedule;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.device.Mode;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.Reused;
import org.kernbench.device.log.LogDifference;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.memory.MmuCounts;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.PureKernel;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.CollectiveRun;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/**
 * Collectives that come again, run with each of them simulated and with what came of one used for
 * the next: all rows are the same, those of kernels before, after and beside them too, and as many
 * slots of message queues have been in use (ADR 0334).
 */
final class ReusedCollectivesTest {
  private static final int ROUNDS = 14;
  private static final int SIZES = 2;

  /** What a run leaves. */
  private record Left(
      OpLog log, long nowPs, MmuCounts mmu, List<String> collectives, Optional<Reused> reused) {}

  /** Every algorithm that needs no switch that adds up, with each operation that it can do. */
  static Stream<Arguments> everyAlgorithm() {
    List<Arguments> all = new ArrayList<>();
    for (CollectiveOp op : CollectiveOp.values()) {
      if (op != CollectiveOp.POINT_TO_POINT) {
        CollectiveLibrary.builtIn(op).stream()
            .filter(name -> !name.equals("in_switch"))
            .forEach(name -> all.add(Arguments.of(op, name)));
      }
    }
    return all.stream();
  }

  @ParameterizedTest
  @MethodSource("everyAlgorithm")
  void rows_ofCollectivesThatRepeat_areThoseOfEachSimulated(CollectiveOp op, String algorithm) {
    Map<String, Long> reasons = new HashMap<>();
    long reused = 0;
    for (int seed = 0; seed < 2; seed++) {
      reused += compare(op, algorithm, seed, reasons);
    }
    assertThat(reused).as("%s of %s", reasons, algorithm).isPositive();
  }

  @Tag("slow")
  @ParameterizedTest
  @MethodSource("everyAlgorithm")
  void rows_ofManyDrawnPrograms_areThoseOfEachSimulated(CollectiveOp op, String algorithm) {
    for (int seed = 2; seed < 60; seed++) {
      compare(op, algorithm, seed, new HashMap<>());
    }
  }

  /** An algorithm of a user may remember calls: it is simulated each time, chosen by auto, too. */
  @ParameterizedTest
  @ValueSource(strings = {"auto", "counts"})
  void algorithmOfAUser_isSimulatedEachTime(String algorithm) {
    Machine machine = machine(List.of("system.sips.count=2", "system.sips.topology=ring_1d"));
    CclConfig config =
        CclConfig.load(
            Optional.empty(),
            List.of(
                "defaults.algorithm=" + algorithm,
                "algorithms.counts.class=" + CountsCalls.class.getName(),
                "algorithms.auto.rank_level=sip"));
    Left[] left = new Left[2];
    for (boolean reuse : new boolean[] {false, true}) {
      left[reuse ? 1 : 0] =
          run(
              machine,
              CollectiveLibrary.open(machine, config),
              reuse,
              w -> {
                Tensor x = w.torch().empty(Shape.of(4096), DType.F32, "x");
                for (int i = 0; i < 9; i++) {
                  w.distributed().allReduce(x);
                  w.torch().synchronize();
                }
              });
    }
    assertThat(left[0].collectives.getLast()).contains("counts");
    assertThat(LogDifference.between(left[0].log, left[1].log, machine)).isEmpty();
    assertThat(left[1].collectives).isEqualTo(left[0].collectives);
    assertThat(left[1].reused.orElseThrow().launches()).isZero();
  }

  /** Sends next to nothing, so that it is the quickest; of three calls one sends it twice. */
  public static final class CountsCalls implements CollectiveAlgorithm {
    @Override
    public String name() {
      return "counts";
    }

    @Override
    public RankLevel defaultRankLevel() {
      return RankLevel.SIP;
    }

    @Override
    public Schedule plan(Group group, IpcqSpec queues, AlgorithmConfig config) {
      int[] calls = {0};
      return new Schedule() {
        @Override
        public List<QueuePlan.Connection> connections() {
          return List.of(new QueuePlan.Connection(group.lead(1), "centre", group.lead(0), "other"));
        }

        @Override
        public RankProgram program(CollectiveCall call) {
          int times = ++calls[0] % 3 == 0 ? 2 : 1;
          return (tl, rank, vector, reduction) -> {
            for (int i = 0; i < times; i++) {
              if (rank == 0) {
                tl.recv("other", Shape.of(16), DType.F32);
              } else {
                tl.send("centre", tl.zeros(Shape.of(16), DType.F32));
              }
            }
          };
        }
      };
    }
  }

  /** Most of what comes again need not be simulated. */
  @Test
  void ringOfSixThatRepeats_isSimulatedTwice() {
    Machine machine = machine(List.of("system.sips.count=6", "system.sips.topology=ring_1d"));
    Left left =
        run(
            machine,
            CollectiveOp.ALL_REDUCE,
            "ring",
            true,
            w -> {
              Tensor x = w.torch().empty(Shape.of(4096), DType.F32, "x");
              for (int i = 0; i < 20; i++) {
                w.distributed().allReduce(x);
                w.torch().synchronize();
              }
            });
    assertThat(left.reused.orElseThrow().launches()).isEqualTo(18);
  }

  private static Machine machine(List<String> settings) {
    return Machines.load("tiny", settings);
  }

  private static long compare(
      CollectiveOp op, String algorithm, int seed, Map<String, Long> reasons) {
    Random random = new Random(31L * seed + op.ordinal());
    String topology = List.of("ring_1d", "torus_2d", "mesh_2d_no_wrap").get(seed % 3);
    List<String> settings =
        List.of(
            "system.sips.count=4",
            "system.sips.topology=" + topology,
            "ipcq.slots=" + (3 + random.nextInt(6)),
            "ipcq.slot_size=" + List.of("512 B", "2 KiB", "8 KiB").get(random.nextInt(3)),
            "ipcq.buffer_kind=" + List.of("tcm", "tcm", "sram", "hbm").get(random.nextInt(4)),
            "ipcq.slot_access=" + List.of("streamed", "serial").get(random.nextInt(2)),
            "ipcq.backpressure=" + List.of("sleep", "poll").get(random.nextInt(2)),
            "ipcq.recv_awaits_credit=" + random.nextBoolean(),
            "pe.mmu.fill=" + List.of("at_map", "at_miss").get(random.nextInt(2)),
            "pe.mmu.entries=" + (random.nextInt(3) == 0 ? 4 : 128),
            "pe.accel_slot=" + List.of("separate", "shared").get(random.nextInt(2)));
    Machine machine = machine(settings);
    Body body = w -> program(w, op, new Random(seed));
    Left each = run(machine, op, algorithm, false, body);
    Left again = run(machine, op, algorithm, true, body);
    String what = op + " by " + algorithm + ", seed " + seed + ", " + settings;
    assertThat(each.log.isComplete()).isTrue();
    assertThat(each.log.transfers().isComplete()).isTrue();
    assertThat(LogDifference.between(each.log, again.log, machine)).as(what).isEmpty();
    assertThat(again.log.hash()).as(what).isEqualTo(each.log.hash());
    assertThat(again.log.transfers().isComplete()).isTrue();
    assertThat(again.nowPs).as(what).isEqualTo(each.nowPs);
    assertThat(again.mmu).as(what).isEqualTo(each.mmu);
    assertThat(again.collectives).as(what).isEqualTo(each.collectives);
    Reused reused = again.reused.orElseThrow();
    reused.reasons().forEach((why, n) -> reasons.merge(why, n, Long::sum));
    return reused.launches();
  }

  private interface Body {
    void run(Worker w);
  }

  private static Left run(
      Machine machine, CollectiveOp op, String algorithm, boolean reuse, Body body) {
    String by =
        op == CollectiveOp.ALL_REDUCE
            ? "defaults.algorithm=" + algorithm
            : "defaults.operations." + op.word() + "=" + algorithm;
    CollectiveLibrary library =
        CollectiveLibrary.open(
            machine,
            CclConfig.load(
                Optional.empty(),
                op == CollectiveOp.ALL_REDUCE
                    ? List.of(
                        by,
                        "algorithms." + algorithm + ".rank_level=sip",
                        "algorithms." + algorithm + ".world_size=all")
                    : List.of("defaults.algorithm=ring", by)));
    return run(machine, library, reuse, body);
  }

  private static Left run(Machine machine, CollectiveLibrary library, boolean reuse, Body body) {
    TorchOptions options =
        TorchOptions.DEFAULT
            .withMode(Mode.TIME)
            .withCollectives(library)
            .withSimulator(SimulatorOptions.DEFAULT.reusing(reuse));
    try (Torch torch = Torch.open(machine, options)) {
      Rooms.spawn(torch, body::run);
      torch.synchronize();
      List<String> collectives = new ArrayList<>();
      for (CollectiveRun run : torch.distributed().history()) {
        collectives.add(
            run
                + " "
                + run.startPs()
                + " "
                + run.durationPs()
                + " "
                + run.exposedPs()
                + " slots "
                + torch.simulator().peakSlots(run.queueSet()));
      }
      return new Left(
          torch.simulator().opLog(),
          torch.simulator().nowPs(),
          torch.simulator().mmuCounts(),
          collectives,
          torch.simulator().reused());
    }
  }

  /** Waits for a while, on memory of its own. */
  private record Kernel(Tensor x, int times) {
    PureKernel pure() {
      Tensor on = x;
      int n = times;
      return tl -> {
        for (int i = 0; i < n; i++) {
          tl.store(on, tl.load(on));
        }
      };
    }
  }

  /** The same few collectives again and again, in drawn order, with kernels before and beside. */
  private static void program(Worker w, CollectiveOp op, Random random) {
    ProcessGroup group = w.distributed().world();
    int n = group.size();
    List<Tensor> parts = new ArrayList<>();
    List<Tensor> wholes = new ArrayList<>();
    List<Tensor> others = new ArrayList<>();
    List<Tensor> own = new ArrayList<>();
    for (int i = 0; i < SIZES; i++) {
      int elements = n * (40 + random.nextInt(900));
      parts.add(w.torch().empty(Shape.of(elements / n), DType.F32, "part" + i));
      wholes.add(w.torch().empty(Shape.of(elements), DType.F32, "whole" + i));
      others.add(w.torch().empty(Shape.of(elements), DType.F32, "other" + i));
      own.add(w.torch().empty(Shape.of(256 << i), DType.F32, "own" + i));
    }
    for (int round = 0; round < ROUNDS; round++) {
      int i = random.nextInt(SIZES);
      int times = 1 + random.nextInt(3);
      switch (random.nextInt(5)) {
        case 0 ->
            w.torch().launch("before", new Kernel(wholes.get(i), times).pure(), wholes.get(i));
        case 1 -> w.torch().launch("beside", new Kernel(own.get(i), times).pure(), own.get(i));
        case 2 -> w.torch().synchronize();
        default -> {} // one right after the other
      }
      boolean again = random.nextBoolean();
      for (int times2 = 0; times2 < (again ? 2 : 1); times2++) {
        perform(group, op, parts.get(i), wholes.get(i), others.get(i));
      }
    }
  }

  private static void perform(
      ProcessGroup group, CollectiveOp op, Tensor part, Tensor whole, Tensor other) {
    boolean isRoot = group.rank() == 1;
    switch (op) {
      case ALL_REDUCE -> group.allReduce(whole);
      case REDUCE_SCATTER -> group.reduceScatter(part, whole, ReduceKind.SUM);
      case ALL_GATHER -> group.allGather(whole, part);
      case BROADCAST -> group.broadcast(whole, 1);
      case REDUCE -> group.reduce(whole, 1, ReduceKind.SUM);
      case GATHER -> {
        if (isRoot) {
          group.gather(whole, part, 1);
        } else {
          group.gather(part, 1);
        }
      }
      case SCATTER -> {
        if (isRoot) {
          group.scatter(part, whole, 1);
        } else {
          group.scatter(part, 1);
        }
      }
      case ALL_TO_ALL -> group.allToAll(other, whole);
      case BARRIER -> group.barrier();
      case POINT_TO_POINT -> throw new IllegalArgumentException("not by an algorithm");
    }
  }
}
