package org.kernbench.eval.explain;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
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
import org.kernbench.device.log.OpLog;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.Route;
import org.kernbench.machine.spec.Backpressure;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Kernel;
import org.kernbench.tl.Scope;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Slice;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.placement.DpPolicy;

/**
 * The critical path: it covers the time of a launch exactly, and its parts are what the machine
 * says they are.
 */
final class BreakdownTest {
  private static final Pe A = new Pe(0, 0, 0);
  private static final Pe B = new Pe(0, 0, 1);

  /** A finished launch with its breakdown. */
  private record Run(Machine machine, Launch launch, Breakdown breakdown) {
    long ps(String cause) {
      return breakdown.segments().stream()
          .filter(s -> s.cause().text().equals(cause))
          .mapToLong(Segment::ps)
          .sum();
    }
  }

  private static Run run(Machine machine, int keep, Kernel kernel) {
    return run(machine, machine.ipcq(), keep, kernel);
  }

  private static Run run(Machine machine, IpcqSpec ipcq, int keep, Kernel kernel) {
    SimulatorOptions recording = new SimulatorOptions(keep, false);
    try (Torch torch =
        Torch.open(machine, new TorchOptions(Mode.TIME, recording, Optional.empty()))) {
      torch
          .simulator()
          .install(new QueuePlan(ipcq, List.of(new QueuePlan.Connection(A, "peer", B, "peer"))));
      Launch launch = torch.launch("kernel", kernel, List.of(A, B));
      torch.await(launch);
      return new Run(
          machine, launch, Breakdown.of(machine, torch.simulator().opLog(), launch, ipcq));
    }
  }

  private static Run run(Machine machine, Kernel kernel) {
    return run(machine, 1 << 20, kernel);
  }

  /** No number of the machine says how far the next poll is from the credit. */
  private static long untilNextPoll(Run run) {
    boolean polls = run.machine.ipcq().backpressure() == Backpressure.POLL;
    return run.breakdown.segments().stream()
        .filter(s -> polls && s.cause().text().equals("slot held"))
        .mapToLong(s -> s.toPs() - s.fromPs())
        .sum();
  }

  private static void assertCovers(Run run) {
    long at = run.launch.startPs();
    for (Segment s : run.breakdown.segments()) {
      assertThat(s.fromPs()).as("no gap and no overlap before %s", s).isEqualTo(at);
      assertThat(s.toPs()).isGreaterThan(s.fromPs());
      at = s.toPs();
    }
    assertThat(at).isEqualTo(run.launch.endPs());
    assertThat(run.breakdown.lengthOn(run.machine)).isEqualTo(run.launch.criticalPs());
    assertThat(run.breakdown.unexplainedPs()).isEqualTo(untilNextPoll(run));
    assertThat(run.breakdown.totalPs()).isEqualTo(run.launch.criticalPs());
    List<Breakdown.Share> shares = run.breakdown.shares();
    assertThat(shares.stream().mapToLong(Breakdown.Share::ps).sum())
        .isEqualTo(run.launch.criticalPs());
    assertThat(shares.stream().mapToDouble(Breakdown.Share::share).sum())
        .isBetween(1 - 1e-9, 1 + 1e-9);
    assertThat(shares).isSortedAccordingTo((x, y) -> Long.compare(y.ps(), x.ps()));
  }

  /** Buffers far below the round trip: the time beyond that of unlimited ones has a name. */
  @Test
  void breakdown_smallBuffers_nameTheFlowControl() {
    Kernel message =
        tl -> {
          if (tl.pe().equals(A)) {
            tl.send("peer", tl.zeros(Shape.of(8192), DType.F16));
          } else {
            tl.recv("peer", Shape.of(8192), DType.F16);
          }
        };
    Run unlimited = run(Machines.load("tiny", List.of()), message);
    Run small = run(Machines.load("tiny", List.of("fabric.buffer=256 B")), message);
    assertThat(small.breakdown.totalPs()).isEqualTo(small.launch.criticalPs());
    assertThat(small.ps("flow control"))
        .isEqualTo(small.launch.criticalPs() - unlimited.launch.criticalPs())
        .isPositive();
    assertThat(small.ps("other")).isZero();
    assertThat(unlimited.ps("flow control")).isZero();
  }

  @Test
  void breakdown_oneMessage_isOverheadLatencyAndBytes() {
    Machine machine = Machines.load("tiny", List.of());
    int n = 1000;
    Run run =
        run(
            machine,
            tl -> {
              if (tl.pe().equals(A)) {
                tl.send("peer", tl.zeros(Shape.of(n), DType.F16));
              } else {
                tl.recv("peer", Shape.of(n), DType.F16);
              }
            });

    Route route = machine.route(A, B);
    long serialisation = 0;
    for (int link : route.links()) {
      serialisation = Math.max(serialisation, machine.link(link).rate().durationPs(2L * n));
    }
    assertCovers(run);
    assertThat(run.ps("latency")).isEqualTo(route.latencyPs());
    assertThat(run.ps("serialisation")).isEqualTo(serialisation);
    assertThat(run.ps("message overhead")).isEqualTo(machine.pe().dma().messageOverheadPs());
    assertThat(run.ps("contention")).isZero();
    assertThat(run.ps("compute")).isPositive();
  }

  /**
   * A time that passes holds its engine for a picosecond and ends long after: what began then
   * waited for that picosecond and not for the end, which would leave all before it unexplained.
   */
  @ParameterizedTest
  @CsvSource({
    "transformer-block, dgx-a100, tokens=128;batch=1;model=gpt2-small;tp=2;rank_level=sip",
    "transformer-block, dgx-h100, tp=4;rank_level=sip",
    "mimo-train-step, dgx-a100, rank_level=sip",
  })
  void breakdown_ofStepsWithALibrarysPace_leavesNothingUnexplained(
      String bench, String machine, String params) {
    RunOptions options =
        RunOptions.DEFAULT
            .withTopology(machine)
            .withMode(Mode.TIME)
            .withParams(List.of(params.split(";")));
    List<Breakdown.Share> shares =
        Runner.of("test", Progress.SILENT)
            .run(BenchRegistry.standard().find(bench), options)
            .breakdown();

    assertThat(shares)
        .extracting(s -> s.cause().text())
        .contains("protocol")
        .doesNotContain("other");
  }

  /** A PE that reads another's memory walks its page table once per page: here 40 pages. */
  @Test
  void breakdown_remoteTensor_namesTheTranslations() {
    Machine machine =
        Machines.load("tiny", List.of("pe.mmu.page_size=4 KiB", "pe.cpu.issue=serial"));
    SimulatorOptions recording = new SimulatorOptions(1 << 20, false);
    try (Torch torch =
        Torch.open(machine, new TorchOptions(Mode.TIME, recording, Optional.empty()))) {
      Tensor x = torch.empty(Shape.of(40, 4096), DType.I8, "x");
      Tensor y = torch.empty(Shape.of(40), DType.I8, DpPolicy.single(), "y");
      Launch launch =
          torch.launch(
              "peek",
              tl -> {
                for (int row = 0; row < 40; row++) {
                  Value v = tl.load(x.address().plus(row * 4096L), Shape.of(1), DType.I8);
                  tl.store(y.address().plus(row), v);
                }
              },
              List.of(B));
      torch.await(launch);
      Run run =
          new Run(
              machine,
              launch,
              Breakdown.of(machine, torch.simulator().opLog(), launch, machine.ipcq()));
      assertCovers(run);
      long walk = machine.pe().mmu().missPs();
      assertThat(walk).isPositive();
      assertThat(run.ps("address translation")).isEqualTo(41 * walk);
      assertThat(run.ps("other")).isZero();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"hbm", "sram"})
  void breakdown_slotsInMemory_latencyIsTheWayThereAndBack(String kind) {
    Machine machine = Machines.load("tiny", List.of("ipcq.buffer_kind=" + kind));
    Run run =
        run(
            machine,
            tl -> {
              if (tl.pe().equals(A)) {
                tl.send("peer", tl.zeros(Shape.of(8), DType.F16));
              } else {
                tl.recv("peer", Shape.of(8), DType.F16);
              }
            });

    int slot = kind.equals("hbm") ? machine.hbmNode(B) : machine.sramNode(0, 0);
    Route there = machine.route(machine.peNode(A), slot);
    Route request = machine.route(machine.peNode(B), slot);
    Route back = machine.route(slot, machine.peNode(B));
    long access = machine.link(request.last()).latencyPs();
    long latency = there.latencyPs();
    latency += request.latencyPs() - access + back.latencyPs();
    assertCovers(run);
    assertThat(run.ps("latency")).isEqualTo(latency);
    assertThat(run.ps("credit inside a message")).isZero();
  }

  /**
   * A collective may have its slots elsewhere than the machine says: its accesses are explained.
   */
  @ParameterizedTest
  @CsvSource({
    "tcm, sram, serial",
    "sram, tcm, serial",
    "hbm, tcm, serial",
    "tcm, hbm, streamed",
    "sram, tcm, streamed",
    "tcm, sram, streamed"
  })
  void breakdown_slotsOfAnotherKindThanTheMachines_areExplained(
      String usual, String kind, String access) {
    String how = "ipcq.slot_access=" + access;
    Machine machine = Machines.load("tiny", List.of("ipcq.buffer_kind=" + usual, how));
    IpcqSpec ipcq = Machines.load("tiny", List.of("ipcq.buffer_kind=" + kind, how)).ipcq();
    Run run =
        run(
            machine,
            ipcq,
            1 << 20,
            tl -> {
              for (int i = 0; i < 2; i++) {
                if (tl.pe().equals(A)) {
                  tl.send("peer", tl.zeros(Shape.of(2000), DType.F16));
                } else {
                  tl.store(scratch(machine), tl.recv("peer", Shape.of(2000), DType.F16));
                }
              }
            });
    assertCovers(run);
    assertThat(run.ps("other")).isZero();
    if (access.equals("serial")) {
      assertThat(run.ps("slot access")).isPositive();
    }
  }

  private static Slice scratch(Machine machine) {
    return new Shard("x", machine.addresses().hbm(B, 0), Shape.of(2000), DType.F16).all();
  }

  @Test
  void breakdown_oneSlot_showsTheReturnOfCredits() {
    Machine machine = Machines.load("tiny", List.of("ipcq.slots=1", "ipcq.slot_size=256 B"));
    int messages = 10;
    Run run =
        run(
            machine,
            tl -> {
              Value x = tl.zeros(Shape.of(128), DType.F16);
              for (int i = 0; i < messages; i++) {
                if (tl.pe().equals(A)) {
                  tl.send("peer", x);
                } else {
                  try (Scope turn = tl.scope()) {
                    tl.recv("peer", x.shape(), x.dtype());
                  }
                }
              }
            });

    Route back = machine.route(B, A);
    IpcqSpec ipcq = machine.ipcq();
    long credit = back.latencyPs() + ipcq.creditOverheadPs();
    for (int link : back.links()) {
      long bytes = machine.link(link).rate().durationPs(ipcq.creditBytes());
      credit = Math.max(credit, back.latencyPs() + ipcq.creditOverheadPs() + bytes);
    }
    assertCovers(run);
    assertThat(run.ps("credit return")).isEqualTo((messages - 1) * credit);
    assertThat(run.breakdown.shares())
        .extracting(Breakdown.Share::cause)
        .contains(PathCause.CREDIT_RETURN, PathCause.LATENCY);
  }

  @Test
  void breakdown_twoSendersOnOneLink_showsContention() {
    Machine machine = Machines.load("tiny", List.of("pe.dma.message_channels=1"));
    Run run =
        run(
            machine,
            tl -> {
              Value x = tl.zeros(Shape.of(4096), DType.F16);
              if (tl.pe().equals(A)) {
                tl.send("peer", x);
                tl.store(slice(machine, B, 4096), x);
              }
            });

    assertCovers(run);
    assertThat(run.ps("contention")).isPositive();
  }

  private static org.kernbench.tl.Slice slice(Machine machine, Pe pe, int n) {
    return new org.kernbench.tl.Shard("y", machine.addresses().hbm(pe, 0), Shape.of(n), DType.F16)
        .all();
  }

  @Test
  void breakdown_onlyCompute_isComputeAndIssue() {
    Machine machine = Machines.load("tiny", List.of());
    Run run =
        run(
            machine,
            tl -> {
              Value x = tl.zeros(Shape.of(256), DType.F32);
              for (int i = 0; i < 5; i++) {
                x = x.add(x);
              }
            });

    assertCovers(run);
    assertThat(run.breakdown.shares())
        .extracting(Breakdown.Share::cause)
        .containsExactly(PathCause.COMPUTE, PathCause.COMMAND_ISSUE);
    assertThat(run.ps("command issue")).isEqualTo(machine.pe().cpu().dispatchPs());
  }

  @Test
  void breakdown_logNotComplete_isRefused() {
    assertThatThrownBy(() -> run(Machines.load("tiny", List.of()), 2, BreakdownTest::busy))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("did not keep every operation");
  }

  private static void busy(Tl tl) {
    for (int i = 0; i < 8; i++) {
      tl.zeros(Shape.of(16), DType.F32);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "pe.cpu.issue=serial",
        "ipcq.slot_access=serial",
        "ipcq.buffer_kind=hbm",
        "ipcq.buffer_kind=sram",
        "ipcq.slots=3",
        "ipcq.recv_awaits_credit=true",
        "ipcq.backpressure=poll",
        "ipcq.slot_size=64 B",
        "pe.cpu.dispatch=0 ns",
      })
  void breakdown_randomPrograms_coversTheTimeExactly(String override) {
    List<String> overrides = new ArrayList<>(List.of("ipcq.slot_size=16 KiB"));
    if (!override.isEmpty()) {
      overrides.add(override);
    }
    for (String preset : List.of("tiny", "kb-compat")) {
      Machine machine = Machines.load(preset, overrides);
      for (int seed = 0; seed < 20; seed++) {
        int s = seed;
        assertCovers(run(machine, tl -> random(tl, machine, s)));
      }
    }
  }

  /** Messages in a fixed order on both sides, and whatever else the seed says in between. */
  private static void random(Tl tl, Machine machine, int seed) {
    Random common = new Random(seed);
    boolean first = tl.pe().equals(A);
    Random own = new Random(seed * 2L + (first ? 1 : 0));
    List<Value> values = new ArrayList<>();
    values.add(tl.zeros(Shape.of(64), DType.F16));
    for (int i = 0; i < 30; i++) {
      int n = 1 + common.nextInt(500);
      boolean mine = common.nextBoolean() == first;
      if (common.nextBoolean()) {
        if (mine) {
          tl.send("peer", pick(tl, own, values, n));
        } else {
          values.add(tl.recv("peer", Shape.of(n), DType.F16));
        }
      }
      switch (own.nextInt(6)) {
        case 0 -> values.add(tl.load(slice(machine, tl.pe(), n)));
        case 1 -> tl.store(slice(machine, tl.pe(), n), pick(tl, own, values, n));
        case 2 -> values.add(pick(tl, own, values, n).exp());
        case 3 -> tl.awaitAll();
        case 4 -> tl.await(values.getLast());
        default -> values.add(pick(tl, own, values, n).add(1.0));
      }
      while (values.size() > 4) {
        tl.release(values.removeFirst());
      }
    }
  }

  private static Value pick(Tl tl, Random random, List<Value> values, int n) {
    Value v = values.get(random.nextInt(values.size()));
    if (v.elements() >= n) {
      return v.range(0, n);
    }
    Value made = tl.zeros(Shape.of(n), DType.F16);
    values.add(made);
    return made;
  }

  /** A path whose only operation has the number 0: written, read, and broken down the same. */
  @Test
  void write_read_ofAPathThatEndsInTheFirstOperation_isTheSame() throws IOException {
    Machine machine = Machines.load("tiny", List.of());
    try (Torch torch =
        Torch.open(
            machine,
            new TorchOptions(Mode.TIME, new SimulatorOptions(1 << 20, false), Optional.empty()))) {
      Shard shard = new Shard("x", machine.addresses().hbm(A, 0), Shape.of(1000), DType.F32);
      Launch launch = torch.launch("kernel", tl -> tl.load(shard.range(0, 1000)), List.of(A));
      torch.await(launch);
      assertThat(launch.criticalOp()).isZero();
      OpLog log = torch.simulator().opLog();
      Breakdown breakdown = Breakdown.of(machine, log, launch, machine.ipcq());
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      try (DataOutputStream out = new DataOutputStream(bytes)) {
        breakdown.write(out);
        log.write(out);
      }
      Breakdown again =
          Breakdown.read(
              new DataInputStream(new ByteArrayInputStream(bytes.toByteArray())), machine);
      assertThat(again.segments()).isEqualTo(breakdown.segments()).isNotEmpty();
      assertThat(again.totalPs()).isEqualTo(launch.criticalPs());
      assertThat(again.shares()).isEqualTo(breakdown.shares());
    }
  }
}
