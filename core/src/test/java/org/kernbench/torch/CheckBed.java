package org.kernbench.torch;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
import org.kernbench.device.Launch;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.Mode;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.QueueSet;
import org.kernbench.device.check.Findings;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Kernel;
import org.kernbench.tl.LaunchGrid;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Slice;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.placement.DpPolicy;

/** Eight PEs whose execution is checked. Each tensor has a row of floats on each of them. */
final class CheckBed implements AutoCloseable {
  static final int PES = 8;

  /** Machines never change, so one of each kind serves all programs. */
  private static final Map<List<String>, Machine> MACHINES = new ConcurrentHashMap<>();

  final Findings findings = new Findings();
  final Machine machine;
  final Torch torch;
  private final List<QueuePlan.Connection> connections = new ArrayList<>();

  CheckBed(Mode mode, String... overrides) {
    this.machine = MACHINES.computeIfAbsent(List.of(overrides), o -> Machines.load("tiny", o));
    SimulatorOptions options = SimulatorOptions.DEFAULT;
    this.torch =
        Torch.open(
            machine,
            TorchOptions.DEFAULT
                .withMode(mode)
                .withSimulator(mode == Mode.VALUES ? options : options.checkedBy(findings)));
  }

  Pe pe(int index) {
    return machine.peAt(index);
  }

  /** Rows of ones. */
  Tensor ones(String name, int columns) {
    return torch.full(Shape.of(PES, columns), DType.F32, 1, DpPolicy.rowWise(), name);
  }

  /** Rows that nobody has written. */
  Tensor empty(String name, int columns) {
    return torch.empty(Shape.of(PES, columns), DType.F32, DpPolicy.rowWise(), name);
  }

  /** A row of a tensor, as seen by a kernel on any PE. */
  Slice row(Tl tl, Tensor t, int pe) {
    return tl.shard(t, pe(pe)).all();
  }

  /** Some elements of it. */
  Slice row(Tl tl, Tensor t, int pe, int start, int count) {
    return tl.shard(t, pe(pe)).range(start, count);
  }

  static Value twos(Tl tl, int n) {
    return tl.full(Shape.of(n), 2, DType.F32);
  }

  static Value token(Tl tl) {
    return tl.full(Shape.of(1), 3, DType.F32);
  }

  static Value recvToken(Tl tl, String direction) {
    return tl.recv(direction, Shape.of(1), DType.F32);
  }

  /** Bytes of the SRAM that the PEs of a cube share. */
  Slice sram(int cube, int elements) {
    return new Shard("scratch", machine.addresses().sram(0, cube, 0), Shape.of(elements), DType.F32)
        .whole();
  }

  /** Bytes of the TCM of a PE. */
  Slice tcm(int pe, int elements) {
    return new Shard("tcm", machine.addresses().tcm(pe(pe), 1 << 16), Shape.of(elements), DType.F32)
        .whole();
  }

  CheckBed connect(int a, String aDirection, int b, String bDirection) {
    connections.add(new QueuePlan.Connection(pe(a), aDirection, pe(b), bDirection));
    return this;
  }

  QueueSet install() {
    return torch.simulator().install(new QueuePlan(machine.ipcq(), connections));
  }

  /** Runs kernel i on PE i, and waits. */
  void run(Kernel... kernels) {
    torch.await(begin(kernels));
  }

  /** Launches kernel i on PE i. */
  Launch begin(Kernel... kernels) {
    if (!connections.isEmpty() && torch.simulator().latestQueues().isEmpty()) {
      install();
    }
    List<Pe> pes = IntStream.range(0, kernels.length).mapToObj(this::pe).toList();
    return torch.launch("k", tl -> kernels[machine.peIndex(tl.pe())].run(tl), pes);
  }

  /** Launches a kernel past the host runtime, which would order it. */
  Launch raw(String name, int stream, List<Launch> after, Kernel kernel, int... pes) {
    List<Pe> at = Arrays.stream(pes).mapToObj(this::pe).toList();
    LaunchRequest spec = LaunchRequest.of(name, at).onStream(stream).after(after);
    return torch
        .simulator()
        .launch(spec, port -> () -> kernel.run(new Tl(port, new LaunchGrid(0, 1))));
  }

  void drive(Launch... launches) {
    for (Launch launch : launches) {
      torch.simulator().drive(launch);
    }
  }

  @Override
  public void close() {
    torch.close();
  }
}
