package org.kernbench.device.simulator;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.function.Function;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;

/** A seeded machine with a seeded set of programs on it. */
public record RandomCase(
    long seed, int pes, int slots, List<String> overrides, List<RandomProgram> programs) {
  static final int MEMORY = 1 << 16;

  /** The machine may differ in everything that decides when a command starts. */
  public static RandomCase of(long seed) {
    return of(seed, false);
  }

  /**
   * @param roomy without stalls for the command window or for TCM
   */
  static RandomCase of(long seed, boolean roomy) {
    Random random = new Random(seed);
    int pes = 2 + random.nextInt(3);
    int slots = 1 + random.nextInt(4);
    int slotBytes = random.nextBoolean() ? 1024 : 16_384;
    List<String> o = new ArrayList<>();
    o.add("system.sips.count=" + pes);
    o.add("ipcq.slots=" + slots);
    o.add("ipcq.slot_size=" + slotBytes + " B");
    o.add("ipcq.buffer_kind=" + pick(random, "tcm", "tcm", "sram", "hbm"));
    o.add("ipcq.slot_access=" + pick(random, "streamed", "streamed", "serial"));
    o.add("ipcq.recv_awaits_credit=" + pick(random, "false", "false", "true"));
    o.add("pe.cpu.issue=" + pick(random, "overlapped", "overlapped", "serial"));
    o.add("pe.cpu.dispatch=" + pick(random, "1 ns", "7 ns"));
    o.add("pe.cpu.command_window=" + (roomy ? "100000" : pick(random, "2", "3", "5", "64")));
    o.add("pe.dma.read_queues=" + pick(random, "1", "2", "4"));
    o.add("pe.dma.write_queues=" + pick(random, "1", "2", "4"));
    o.add("pe.dma.message_channels=" + pick(random, "1", "2"));
    o.add("pe.dma.message_overhead=" + pick(random, "8 ns", "60 ns"));
    o.add("ipcq.backpressure=" + pick(random, "sleep", "sleep", "poll"));
    o.add("pe.accel_slot=" + pick(random, "shared", "separate"));
    List<RandomProgram> programs = RandomProgram.ring(seed, pes, 6, slots, slotBytes, !roomy);
    int alive = programs.stream().mapToInt(RandomProgram::mostBytesAlive).max().orElseThrow();
    boolean tight = !roomy && random.nextBoolean();
    o.add("ipcq.directions=2");
    o.add("pe.tcm.size=" + (tight ? 2 * slots * slotBytes + alive + 4 : 16 << 20) + " B");
    return new RandomCase(seed, pes, slots, o, programs);
  }

  private static String pick(Random random, String... of) {
    return of[random.nextInt(of.length)];
  }

  public DeviceRig rig(Mode mode) {
    return rig(mode, CommandTape.SIZE);
  }

  /**
   * @param tapeSize commands that a program says before the first is taken
   */
  DeviceRig rig(Mode mode, int tapeSize) {
    return rig(machine ->
        Simulator.open(machine, mode, SimulatorOptions.DEFAULT, tapeSize, ApartRun.Limits.NEVER));
  }

  /**
   * In mode {@code time}.
   *
   * @param apart when packages run apart
   */
  DeviceRig rig(SimulatorOptions options, ApartRun.Limits apart) {
    return rig(machine -> Simulator.open(machine, Mode.TIME, options, CommandTape.SIZE, apart));
  }

  private DeviceRig rig(Function<Machine, Simulator> simulator) {
    Machine machine = Machines.load("ring", overrides);
    Simulator sim = simulator.apply(machine);
    DeviceRig rig = new DeviceRig(machine, sim).connectRing(pes);
    for (int i = 0; i < pes; i++) {
      byte[] data = new byte[MEMORY];
      new Random(seed + i).nextBytes(data);
      rig.write(rig.machine.addresses().hbm(rig.pe(i), 0), data);
    }
    return rig;
  }

  public Launch run(DeviceRig rig) {
    return run(rig, false);
  }

  Launch run(DeviceRig rig, boolean looks) {
    return rig.run(onPorts(looks));
  }

  Launch launch(DeviceRig rig) {
    return rig.launch(onPorts(false));
  }

  private List<Consumer<PePort>> onPorts(boolean looks) {
    List<Consumer<PePort>> run = new ArrayList<>();
    for (RandomProgram p : programs) {
      run.add(port -> p.run(port, looks));
    }
    return run;
  }

  List<byte[]> memories(DeviceRig rig) {
    List<byte[]> all = new ArrayList<>();
    for (int i = 0; i < pes; i++) {
      all.add(rig.read(rig.hbm(i, 0, MEMORY)));
    }
    return all;
  }
}
