package org.kernbench.device.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.StreamCorruptedException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.kernbench.device.Mode;
import org.kernbench.device.simulator.DeviceRig;
import org.kernbench.device.simulator.RandomCase;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;

/** What a run records about itself never changes the run, and its hash tells runs apart. */
final class OpLogTest {
  private static final RandomCase CASE = RandomCase.of(4711);

  private static DeviceRig run(SimulatorOptions options) {
    Machine machine = Machines.load("ring", CASE.overrides());
    DeviceRig rig = new DeviceRig(machine, Mode.TIME, options).connectRing(CASE.pes());
    CASE.run(rig);
    return rig;
  }

  @Test
  void hash_linesAndLimits_doNotChangeIt() {
    try (DeviceRig all = run(SimulatorOptions.DEFAULT);
        DeviceRig lines = run(SimulatorOptions.DEFAULT.withLines());
        DeviceRig none = run(SimulatorOptions.DEFAULT.withOpLogLimit(0));
        DeviceRig some = run(SimulatorOptions.DEFAULT.withOpLogLimit(7))) {
      String hash = all.sim.opLog().hash();
      assertThat(hash).matches("[0-9a-f]{16}");
      for (DeviceRig other : List.of(lines, none, some)) {
        assertThat(other.sim.opLog().hash()).isEqualTo(hash);
        assertThat(other.sim.opLog().completed()).isEqualTo(all.rows().size());
      }
      assertThat(some.rows()).isEqualTo(all.rows().subList(0, 7));
      assertThat(none.rows()).isEmpty();
      assertThat(some.sim.opLog().isComplete()).isFalse();
      assertThat(all.sim.opLog().isComplete()).isTrue();
      assertThat(lines.rows()).allMatch(r -> r.line().startsWith("RandomProgram.java:"));
      assertThat(all.rows()).allMatch(r -> r.line().isEmpty());
    }
  }

  @Test
  void counts_aCutLog_coverEveryOperation() {
    try (DeviceRig all = run(SimulatorOptions.DEFAULT);
        DeviceRig none = run(SimulatorOptions.DEFAULT.withOpLogLimit(0));
        DeviceRig some = run(SimulatorOptions.DEFAULT.withOpLogLimit(7))) {
      for (OpKind kind : OpKind.values()) {
        long rows = all.rows().stream().filter(r -> r.kind() == kind).count();
        long bytes =
            all.rows().stream().filter(r -> r.kind() == kind).mapToLong(DeviceRig.Row::bytes).sum();
        for (DeviceRig rig : List.of(all, none, some)) {
          assertThat(rig.sim.opLog().completed(kind)).isEqualTo(rows);
          assertThat(rig.sim.opLog().bytes(kind)).isEqualTo(bytes);
        }
      }
      assertThat(all.sim.opLog().bytes(OpKind.SEND)).isPositive();
    }
  }

  private static byte[] written(OpLog log) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (DataOutputStream out = new DataOutputStream(bytes)) {
      log.write(out);
    }
    return bytes.toByteArray();
  }

  private static OpLog read(byte[] bytes, Machine machine) throws IOException {
    return OpLog.read(new DataInputStream(new ByteArrayInputStream(bytes)), machine);
  }

  /** Written and read again, everything that can be asked has the same answer. */
  @Test
  void write_read_givesTheSameLog() throws IOException {
    Machine machine = Machines.load("ring", CASE.overrides());
    try (DeviceRig rig = run(SimulatorOptions.DEFAULT.withLines())) {
      OpLog log = rig.sim.opLog();
      byte[] bytes = written(log);
      OpLog again = read(bytes, machine);
      assertThat(written(again)).isEqualTo(bytes);
      assertThat(again.hash()).isEqualTo(log.hash());
      assertThat(again.completed()).isEqualTo(log.completed());
      assertThat(again.isComplete()).isTrue();
      for (OpKind kind : OpKind.values()) {
        assertThat(again.completed(kind)).isEqualTo(log.completed(kind));
        assertThat(again.bytes(kind)).isEqualTo(log.bytes(kind));
      }
      assertThat(again.size()).isEqualTo(log.size());
      for (int id = 0; id < log.size(); id++) {
        assertThat(again.has(id)).isEqualTo(log.has(id));
        assertThat(again.kind(id)).isEqualTo(log.kind(id));
        assertThat(again.bytes(id)).isEqualTo(log.bytes(id));
      }
      assertThat(again.transfers().services()).isEqualTo(log.transfers().services());
      assertThat(again.launches().size()).isEqualTo(log.launches().size());
    }
  }

  /** Cut short anywhere, or of a larger machine: refused, and never taken for another log. */
  @Test
  void read_ofSomethingElse_isRefused() throws IOException {
    Machine machine = Machines.load("ring", CASE.overrides());
    try (DeviceRig rig = run(SimulatorOptions.DEFAULT)) {
      byte[] bytes = written(rig.sim.opLog());
      for (int length = 0; length < bytes.length; length += 1 + bytes.length / 200) {
        byte[] cut = Arrays.copyOf(bytes, length);
        assertThatThrownBy(() -> read(cut, machine)).isInstanceOf(IOException.class);
      }
      Machine small = Machines.load("ring", List.of("system.sips.count=1"));
      assertThatThrownBy(() -> read(bytes, small)).isInstanceOf(StreamCorruptedException.class);
    }
  }

  @Test
  void hash_otherProgramsOrMachines_differ() {
    Set<String> hashes = new HashSet<>();
    for (int seed = 0; seed < 50; seed++) {
      RandomCase c = RandomCase.of(seed);
      try (DeviceRig rig = c.rig(Mode.TIME)) {
        c.run(rig);
        hashes.add(rig.sim.opLog().hash());
      }
    }
    assertThat(hashes).hasSize(50);
  }
}
