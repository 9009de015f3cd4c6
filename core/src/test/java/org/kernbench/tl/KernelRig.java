package org.kernbench.tl;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.simulator.Simulator;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;

/** Kernels on a small machine, with tensors that lie at fixed places. */
final class KernelRig implements AutoCloseable {
  final Machine machine;
  final Simulator sim;
  private final Map<Pe, Long> used = new HashMap<>();

  KernelRig(Mode mode, String... overrides) {
    this(mode, List.of("tiny"), overrides);
  }

  /**
   * @param preset one name
   */
  KernelRig(Mode mode, List<String> preset, String... overrides) {
    this(Machines.load(preset.getFirst(), List.of(overrides)), mode, SimulatorOptions.DEFAULT);
  }

  private KernelRig(Machine machine, Mode mode, SimulatorOptions options) {
    this.machine = machine;
    this.sim = Simulator.open(machine, mode, options);
  }

  /** A small machine in full mode that remembers kernel lines. */
  static KernelRig withLines() {
    return new KernelRig(
        Machines.load("tiny", List.of()), Mode.FULL, SimulatorOptions.DEFAULT.withLines());
  }

  Pe pe(int index) {
    return machine.peAt(index);
  }

  /** A tensor that lies at one PE. */
  record Tensor(String name, Pe pe, Shard shard) implements DeviceTensor {
    @Override
    public Optional<Shard> shardOn(Pe at) {
      return at.equals(pe) ? Optional.of(shard) : Optional.empty();
    }

    @Override
    public Shard whole(Pe at) {
      return shard;
    }
  }

  Tensor tensor(String name, int pe, DType dtype, double[] values, int... dims) {
    Shape shape = Shape.of(dims);
    long at = used.merge(pe(pe), 1L << 20, Long::sum) - (1L << 20);
    Tensor t =
        new Tensor(
            name, pe(pe), new Shard(name, machine.addresses().hbm(pe(pe), at), shape, dtype));
    byte[] bytes = new byte[Math.toIntExact(shape.elements() * dtype.sizeBytes())];
    for (int i = 0; i < values.length; i++) {
      dtype.putDouble(bytes, i * dtype.sizeBytes(), values[i]);
    }
    sim.write(t.shard.address(), bytes, 0, bytes.length);
    return t;
  }

  Tensor zeros(String name, int pe, DType dtype, int... dims) {
    return tensor(name, pe, dtype, new double[0], dims);
  }

  double[] read(Tensor t) {
    DType d = t.shard.dtype();
    int n = Math.toIntExact(t.shard.shape().elements());
    byte[] bytes = new byte[n * d.sizeBytes()];
    sim.read(t.shard.address(), bytes, 0, bytes.length);
    return IntStream.range(0, n).mapToDouble(i -> d.getDouble(bytes, i * d.sizeBytes())).toArray();
  }

  KernelRig connect(int a, String aDirection, int b, String bDirection) {
    sim.install(
        new QueuePlan(
            machine.ipcq(),
            List.of(new QueuePlan.Connection(pe(a), aDirection, pe(b), bDirection))));
    return this;
  }

  /** Runs kernel i on PE i. */
  Launch run(Kernel... kernels) {
    List<Pe> pes = IntStream.range(0, kernels.length).mapToObj(this::pe).toList();
    Launch launch =
        sim.launch(
            "test",
            pes,
            p -> () -> kernels[machine.peIndex(p.pe())].run(new Tl(p, new LaunchGrid(0, 1))));
    sim.drive(launch);
    return launch;
  }

  @Override
  public void close() {
    sim.close();
  }
}
