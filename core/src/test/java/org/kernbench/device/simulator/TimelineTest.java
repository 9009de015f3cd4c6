package org.kernbench.device.simulator;

import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.cli.Golden;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.Register;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.log.TransferLog;
import org.kernbench.tensor.DType;

/**
 * All that is written down of one small program, on a machine of each kind, as reviewed: its
 * operations with their causes, the parts that they move, and every chunk on every link. That the
 * times are right is tested elsewhere, by closed forms and twins.
 */
final class TimelineTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "flat | ring |",
        "banked | tiny | cube.hbm.fidelity=banked",
        "small-buffers | ring | fabric.buffer=1 KiB",
        "serial | ring | pe.cpu.issue=serial; ipcq.backpressure=poll; ipcq.slots=1",
        "slots-in-sram | tiny | ipcq.buffer_kind=sram; ipcq.slot_access=serial",
        "one-of-each | tiny | pe.dma.read_queues=1; pe.dma.write_queues=1;"
            + " pe.dma.message_channels=1; pe.accel_slot=shared; pe.cpu.command_window=3",
      })
  void log_ofTwoPesThatExchange_isTheReviewedOne(String name, String preset, String settings) {
    String[] overrides = settings == null ? new String[0] : settings.split("; *");
    try (DeviceRig rig = DeviceRig.of(Mode.TIME, preset, overrides)) {
      rig.connect(new QueuePlan.Connection(rig.pe(0), "E", rig.pe(1), "W"));
      List<Consumer<PePort>> programs = List.of(p -> first(rig, p), p -> second(rig, p));
      Launch launch = rig.run(programs);
      Golden.check("device/" + name + ".txt", text(rig, launch));
    }
  }

  /** Loads, adds, sends twice, multiplies, stores while the other stores to the same memory. */
  private static void first(DeviceRig rig, PePort p) {
    Register a = p.load(rig.hbm(0, 0, 3000));
    Register b = p.load(rig.hbm(1, 8192, 3000));
    Register sum = SlotReuseTest.fill(p, 3000, 1);
    p.send(p.queue("E"), a, 0, 3000);
    p.send(p.queue("E"), sum, 0, 512);
    Register c =
        p.compute(
            new ComputeOp.Gemm(DType.F32, DType.F32, 8, 8, 8, false),
            256,
            a,
            0,
            b,
            0,
            Register.NONE,
            0);
    p.release(b);
    p.fence(p.store(c, 0, rig.hbm(0, 65_536, 256)));
    p.fence(p.store(a, 0, rig.sram(0, 0, 2048)));
  }

  private static void second(DeviceRig rig, PePort p) {
    Register mine = p.load(rig.hbm(0, 4096, 2000));
    Register got = p.receive(p.queue("W"), 3000, true, false);
    p.store(got, 0, rig.hbm(0, 70_000, 3000));
    Register small = p.receive(p.queue("W"), 512, false, true);
    p.store(small, 0, rig.hbm(1, 0, 512));
    p.release(small);
    p.fence(p.store(mine, 0, rig.hbm(0, 80_000, 2000)));
    p.fenceAll();
  }

  private static String text(DeviceRig rig, Launch launch) {
    StringBuilder s = new StringBuilder();
    OpLog ops = rig.sim.opLog();
    TransferLog moves = ops.transfers();
    say(
        s,
        "ends %d ps, complete %s and %s",
        launch.criticalPs(),
        ops.isComplete(),
        moves.isComplete());
    for (int id = 0; id < ops.size(); id++) {
      if (ops.has(id)) {
        operation(s, rig, ops, id);
      }
    }
    for (int m = 0; m < moves.services(); m++) {
      say(
          s,
          "chunk %3d  part %d.%d  %5d B  from %d after %d%s  %d  %d  %d  %s",
          m,
          moves.op(moves.partOf(m)),
          moves.number(moves.partOf(m)),
          moves.chunkBytes(m),
          moves.from(m),
          moves.before(m),
          moves.isEntry(m) ? " enters" : "",
          moves.headPs(m),
          moves.startPsOf(m),
          moves.tailPs(m),
          rig.machine.link(moves.link(m)).name());
    }
    return s.toString();
  }

  private static void operation(StringBuilder s, DeviceRig rig, OpLog ops, int id) {
    TransferLog moves = ops.transfers();
    say(
        s,
        "op %d %s %s  %d B  by %s of %d  issue %d start %d end %d  lost %d, wire %d%s",
        id,
        ops.pe(id),
        ops.kind(id),
        ops.bytes(id),
        ops.cause(id),
        ops.causeOp(id),
        ops.issuePs(id),
        ops.startPs(id),
        ops.endPs(id),
        ops.contentionPs(id),
        ops.serialisationPs(id),
        ops.link(id) < 0 ? "" : " at " + rig.machine.link(ops.link(id)).name());
    for (int p = moves.lastPart(id); p >= 0; p = moves.previous(p)) {
      say(
          s,
          "  part %d  %d B  %d to %d  by %d after %d, last chunk %d, last in %d",
          moves.number(p),
          moves.bytes(p),
          moves.startPs(p),
          moves.endPs(p),
          moves.by(p),
          moves.writtenAfter(p),
          moves.lastService(p),
          moves.lastEntry(p));
    }
  }

  private static void say(StringBuilder s, String format, Object... values) {
    s.append(String.format(Locale.ROOT, format, values)).append('\n');
  }
}
