package org.kernbench.device.simulator;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.IntFunction;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.QueueSet;
import org.kernbench.device.log.Cause;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.log.TransferLog;
import org.kernbench.device.memory.Region;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.PhysicalAddress;

/**
 * A simulator with a program per PE, and the op log as rows.
 *
 * <p>Default machine: the preset {@code ring}. Its numbers, in ns: dispatch 1, DMA setup 28, PE to
 * router 2, router to HBM controller 7.25, HBM port 30.5 at 217.6 GB/s, router to PE 4; a message
 * travels 2 + 12 + 250 + 12 + 4 = 280, at most 200 GB/s.
 */
public final class DeviceRig implements AutoCloseable {
  /** One operation of the op log. */
  public record Row(
      int id,
      Pe pe,
      OpKind kind,
      Cause cause,
      int causeOp,
      int bytes,
      long issuePs,
      long startPs,
      long endPs,
      String line) {
    public long ps() {
      return endPs - startPs;
    }
  }

  public final Machine machine;
  public final Simulator sim;
  QueueSet queues;

  public DeviceRig(Machine machine, Mode mode, SimulatorOptions options) {
    this(machine, Simulator.open(machine, mode, options));
  }

  DeviceRig(Machine machine, Simulator sim) {
    this.machine = machine;
    this.sim = sim;
    this.queues = sim.install(new QueuePlan(machine.ipcq(), List.of()));
  }

  public static DeviceRig of(Mode mode, String preset, String... overrides) {
    return new DeviceRig(Machines.load(preset, List.of(overrides)), mode, SimulatorOptions.DEFAULT);
  }

  /** A ring of two PEs on two packages, in mode {@code time}. */
  public static DeviceRig ring(String... overrides) {
    return of(Mode.TIME, "ring", overrides);
  }

  public Pe pe(int index) {
    return machine.peAt(index);
  }

  /** Connects E of each PE to W of the next, the last to the first. */
  public DeviceRig connectRing(int n) {
    List<QueuePlan.Connection> connections = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      connections.add(new QueuePlan.Connection(pe(i), "E", pe((i + 1) % n), "W"));
    }
    queues = sim.install(new QueuePlan(machine.ipcq(), connections));
    return this;
  }

  public DeviceRig connect(QueuePlan.Connection... connections) {
    queues = sim.install(new QueuePlan(machine.ipcq(), List.of(connections)));
    return this;
  }

  public Region hbm(int pe, long offset, int bytes) {
    return Region.of(machine.addresses().hbm(pe(pe), offset), bytes);
  }

  Region sram(int pe, long offset, int bytes) {
    return Region.of(machine.addresses().sram(pe(pe).sip(), pe(pe).cube(), offset), bytes);
  }

  /** Runs program {@code i} on PE {@code i}. */
  @SafeVarargs
  public final Launch run(Consumer<PePort>... programs) {
    return run(List.of(programs));
  }

  public Launch run(List<Consumer<PePort>> programs) {
    Launch launch = launch(programs);
    sim.drive(launch);
    return launch;
  }

  Launch launch(List<Consumer<PePort>> programs) {
    return launch(programs.size(), i -> port -> () -> programs.get(i).accept(port));
  }

  /** Programs of the first PEs. */
  Launch launch(int count, IntFunction<Function<PePort, Runnable>> programs) {
    Map<Pe, Function<PePort, Runnable>> byPe = new HashMap<>();
    List<Pe> pes = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      pes.add(pe(i));
      byPe.put(pe(i), programs.apply(i));
    }
    return sim.launch("test", pes, port -> byPe.get(port.pe()).apply(port));
  }

  /** Completed operations in order of issue. */
  public List<Row> rows() {
    OpLog log = sim.opLog();
    List<Row> rows = new ArrayList<>();
    for (int id = 0; id < log.size(); id++) {
      if (log.has(id)) {
        rows.add(
            new Row(
                id,
                log.pe(id),
                log.kind(id),
                log.cause(id),
                log.causeOp(id),
                log.bytes(id),
                log.issuePs(id),
                log.startPs(id),
                log.endPs(id),
                log.line(id)));
      }
    }
    return rows;
  }

  List<Row> rows(OpKind kind) {
    return rows().stream().filter(r -> r.kind() == kind).toList();
  }

  public List<Row> rows(int pe, OpKind kind) {
    return rows().stream().filter(r -> r.pe().equals(pe(pe)) && r.kind() == kind).toList();
  }

  /** When an operation is done for its PE: a send when its last byte has left. */
  long donePs(Row row) {
    TransferLog moves = sim.opLog().transfers();
    return row.kind() == OpKind.SEND
        ? moves.tailPs(moves.lastEntry(moves.lastPart(row.id())))
        : row.endPs();
  }

  /** The k-th completed operation in order of issue. */
  public Row row(int k) {
    return rows().get(k);
  }

  public void write(PhysicalAddress to, byte[] data) {
    sim.write(to, data, 0, data.length);
  }

  public byte[] read(Region region) {
    byte[] data = new byte[region.bytes()];
    sim.read(region.address(), data, 0, data.length);
    return data;
  }

  @Override
  public void close() {
    sim.close();
  }
}
