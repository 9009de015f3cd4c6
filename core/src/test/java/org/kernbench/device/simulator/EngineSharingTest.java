package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.kernbench.device.simulator.SlotReuseTest.fill;

import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Launch;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.Register;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.memory.Region;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.UnaryOp;

/** An engine has a queue for each stream: in order within one, in turn between. */
final class EngineSharingTest {
  /** Few enough commands at once that TCM never holds one up: here only engines are shared. */
  private static final String SHORT_WINDOW = "pe.cpu.command_window=8";

  private static final int COMMANDS = 60;

  private static Launch launch(DeviceRig rig, int pe, int stream, Consumer<PePort> program) {
    LaunchRequest spec =
        LaunchRequest.of("k" + pe + "." + stream, List.of(rig.pe(pe)))
            .onStream(stream)
            .with(rig.queues);
    return rig.sim.launch(spec, port -> () -> program.accept(port));
  }

  private static void drive(DeviceRig rig, Launch... launches) {
    for (Launch launch : launches) {
      rig.sim.drive(launch);
    }
  }

  private static Consumer<PePort> math(int commands, int bytes) {
    return p -> {
      for (int i = 0; i < commands; i++) {
        p.release(fill(p, bytes, i));
      }
    };
  }

  private static Register negate(PePort p, Register value) {
    ComputeOp op = new ComputeOp.Unary(UnaryOp.NEG, DType.F32, value.bytes() / 4);
    return p.compute(op, value.bytes(), value, 0, Register.NONE, 0, Register.NONE, 0);
  }

  private static long alone(Consumer<PePort> program) {
    try (DeviceRig rig = DeviceRig.ring(SHORT_WINDOW).connectRing(2)) {
      Launch launch = launch(rig, 0, 1, program);
      drive(rig, launch);
      return launch.criticalPs();
    }
  }

  private static List<DeviceRig.Row> inOrderOfStart(List<DeviceRig.Row> rows) {
    return rows.stream().sorted(Comparator.comparingLong(DeviceRig.Row::startPs)).toList();
  }

  /** MATH of stream 0 waits for a message that comes late; stream 1 is as quick as alone. */
  @Test
  void blockedByAnOperand_otherStream_isNotDelayed() {
    try (DeviceRig rig = DeviceRig.ring(SHORT_WINDOW).connectRing(2)) {
      Launch waits =
          launch(
              rig,
              0,
              0,
              p -> {
                Register late = p.receive(p.queue("W"), 4096, false, false);
                negate(p, late);
                p.release(fill(p, 4096, 1)); // behind it, in order
              });
      Launch sends =
          launch(
              rig,
              1,
              0,
              p -> {
                math(400, 4096).accept(p);
                p.fenceAll();
                p.send(p.queue("E"), fill(p, 4096, 1), 0, 4096);
              });
      Launch free = launch(rig, 0, 1, math(40, 4096));
      drive(rig, waits, sends, free);
      assertThat(free.criticalPs()).isEqualTo(alone(math(40, 4096)));
      List<DeviceRig.Row> last = inOrderOfStart(rig.rows(0, OpKind.MATH)).subList(40, 42);
      DeviceRig.Row message = rig.rows(0, OpKind.RECV).getFirst();
      assertThat(last.get(0).id()).as("the one that waits").isLessThan(last.get(1).id());
      assertThat(last.get(0).startPs()).isEqualTo(message.endPs());
      assertThat(last.get(1).startPs()).isEqualTo(last.get(0).endPs());
    }
  }

  /** The one message channel is not held by a head that has no credit. */
  @Test
  void blockedByACredit_otherStream_isNotDelayed() {
    try (DeviceRig rig = DeviceRig.ring("ipcq.slots=1").connectRing(3)) {
      Consumer<PePort> send =
          p -> {
            Register r = fill(p, 1024, 1);
            p.send(p.queue("E"), r, 0, 1024);
            p.send(p.queue("E"), r, 0, 1024); // the only slot is taken
          };
      Launch waits = launch(rig, 0, 0, send);
      Launch takes =
          launch(
              rig,
              1,
              0,
              p -> {
                math(400, 4096).accept(p);
                p.fenceAll();
                p.release(p.receive(p.queue("W"), 1024, false, false));
                p.release(p.receive(p.queue("W"), 1024, false, false));
              });
      Launch free = launch(rig, 0, 1, p -> p.send(p.queue("W"), fill(p, 1024, 1), 0, 1024));
      Launch receives = launch(rig, 2, 1, p -> p.receive(p.queue("E"), 1024, false, false));
      drive(rig, free, receives);
      long freed = rig.sim.nowPs();
      drive(rig, waits, takes);
      assertThat(freed).as("when the other stream's message was there").isLessThan(takes.endPs());
      List<DeviceRig.Row> sent = inOrderOfStart(rig.rows(0, OpKind.SEND));
      assertThat(sent).hasSize(3);
      assertThat(sent.get(2).startPs()).isGreaterThan(freed);
    }
  }

  /**
   * n commands of d and m of e, all ready: they take turns, so the shorter stream ends after m (d +
   * e), and all after n d + m e.
   */
  @ParameterizedTest
  @CsvSource({
    "40, 4096, 40, 4096",
    "40, 4096, 10, 65536",
    "40, 65536, 10, 4096",
    "3, 1024, 2, 1024"
  })
  void bothReady_takeTurns(int n, int bytes, int m, int otherBytes) {
    try (DeviceRig rig = DeviceRig.ring(SHORT_WINDOW)) {
      Launch longer = launch(rig, 0, 0, math(n, bytes));
      Launch shorter = launch(rig, 0, 1, math(m, otherBytes));
      drive(rig, longer, shorter);
      long dispatch = rig.machine.pe().cpu().dispatchPs();
      long d = alone(math(1, bytes)) - dispatch;
      long e = alone(math(1, otherBytes)) - dispatch;
      assertThat(shorter.criticalPs()).isEqualTo(dispatch + m * (d + e));
      assertThat(longer.criticalPs()).isEqualTo(dispatch + n * d + m * e - (n == m ? e : 0));
    }
  }

  /**
   * A chain of communication (a message, an addition to it, and on) beside a program that keeps
   * MATH busy: every addition waits for at most one of its commands, so m steps take at most m d
   * longer.
   */
  @Test
  void chainBesideBusyEngine_waitsForOneCommandPerStep() {
    int steps = 20;
    Consumer<PePort> chain =
        p -> {
          for (int i = 0; i < steps; i++) {
            Register r = p.load(Region.of(p.machine().addresses().hbm(p.pe(), 0), 4096));
            Register n = negate(p, r);
            p.release(r);
            p.fence(n);
            p.release(n);
          }
        };
    try (DeviceRig rig = DeviceRig.ring(SHORT_WINDOW)) {
      Launch busy = launch(rig, 0, 0, math(400, 65536));
      Launch moves = launch(rig, 0, 1, chain);
      drive(rig, busy, moves);
      long d = alone(math(1, 65536));
      assertThat(moves.endPs()).as("it ends long before the other").isLessThan(busy.endPs());
      assertThat(moves.criticalPs()).isBetween(alone(chain) + 1, alone(chain) + steps * d);
    }
  }

  /**
   * The rule once more, as a loop over the log: random loads with a computation on each, by two
   * streams; when each computation could start is known, so is when it must.
   */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19})
  void randomStreams_startsFollowTheRule(int seed) {
    try (DeviceRig rig = DeviceRig.ring("pe.tcm.size=64 MiB", "pe.cpu.command_window=64")) {
      Launch[] launches = new Launch[2];
      for (int stream = 0; stream < 2; stream++) {
        Random random = new Random(seed * 2L + stream);
        int odd = 4 * stream;
        launches[stream] =
            launch(
                rig,
                0,
                stream,
                p -> {
                  for (int i = 0; i < COMMANDS; i++) {
                    int bytes = (8 << random.nextInt(random.nextBoolean() ? 16 : 8)) + odd;
                    negate(p, p.load(rig.hbm(0, 0, bytes)));
                  }
                });
      }
      drive(rig, launches);
      List<List<DeviceRig.Row>> loads = byStream(rig.rows(OpKind.LOAD));
      List<List<DeviceRig.Row>> maths = byStream(rig.rows(OpKind.MATH));
      long[] served = {-1, -1};
      int[] next = {0, 0};
      long free = -1;
      for (int done = 0; done < 2 * COMMANDS; done++) {
        long[] ready = {Long.MAX_VALUE, Long.MAX_VALUE};
        for (int s = 0; s < 2; s++) {
          if (next[s] < COMMANDS) {
            long loaded = loads.get(s).get(next[s]).endPs();
            long issued = maths.get(s).get(next[s]).issuePs();
            ready[s] = Math.max(Math.max(issued, loaded), served[s]);
          }
        }
        long start = Math.max(Math.min(ready[0], ready[1]), free);
        boolean both = ready[0] <= start && ready[1] <= start;
        int best = both ? (served[1] < served[0] ? 1 : 0) : ready[0] <= start ? 0 : 1;
        DeviceRig.Row row = maths.get(best).get(next[best]++);
        assertThat(row.startPs()).as("computation %d, of stream %d", done, best).isEqualTo(start);
        served[best] = start;
        free = row.endPs();
      }
    }
  }

  /** Stream 1 takes odd numbers of elements. */
  private static List<List<DeviceRig.Row>> byStream(List<DeviceRig.Row> rows) {
    return List.of(
        rows.stream().filter(r -> r.bytes() % 8 == 0).toList(),
        rows.stream().filter(r -> r.bytes() % 8 != 0).toList());
  }

  /**
   * While a second stream could come, engines choose at the time of the start instead of ahead; a
   * program that has them to itself must not notice.
   */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2})
  void secondStreamDoesNothing_everyRow_isAsWithoutIt(int block) {
    for (int i = 0; i < 60; i++) {
      RandomCase c = RandomCase.of(12_000 + block * 60 + i, true);
      List<DeviceRig.Row> alone;
      try (DeviceRig rig = c.rig(Mode.TIME)) {
        c.run(rig);
        alone = rig.rows();
      }
      try (DeviceRig rig = c.rig(Mode.TIME)) {
        Launch launch = c.launch(rig);
        Launch dormant =
            rig.sim.launch(
                LaunchRequest.of("dormant", launch.pes()).onStream(1).after(List.of(launch)),
                port -> () -> {});
        drive(rig, dormant);
        List<String> now = byProgramOrder(rig.rows());
        List<String> before = byProgramOrder(alone);
        for (int k = 0; k < before.size(); k++) {
          assertThat(now.get(k)).as("row %d of %s", k, c.overrides()).isEqualTo(before.get(k));
        }
        assertThat(now).hasSameSizeAs(before);
      }
    }
  }

  /** Without ids, which count over all PEs in the order of issue. */
  private static List<String> byProgramOrder(List<DeviceRig.Row> rows) {
    return rows.stream()
        .sorted(Comparator.comparing((DeviceRig.Row r) -> r.pe().toString()))
        .map(r ->
            String.join(
                " ",
                r.pe().toString(),
                r.kind().toString(),
                r.cause().toString(),
                Integer.toString(r.bytes()),
                Long.toString(r.issuePs()),
                Long.toString(r.startPs()),
                Long.toString(r.endPs())))
        .toList();
  }
}
