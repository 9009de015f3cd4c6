package org.kernbench.device.simulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.kernbench.device.simulator.PeTimingTest.at;
import static org.kernbench.device.simulator.PeTimingTest.chunked;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.Launch;
import org.kernbench.device.Mode;
import org.kernbench.device.log.Cause;
import org.kernbench.device.log.OpKind;
import org.kernbench.machine.spec.Backpressure;
import org.kernbench.machine.spec.BufferKind;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.machine.spec.IssuePolicy;
import org.kernbench.machine.spec.SlotAccess;

/**
 * The rules of issue and start, written down once more without events or state: every operation of
 * random programs issues and starts at exactly the latest of the times that the rules name,
 * computed from the logged times of the operations it depends on. Earlier would break a rule, later
 * would be idleness that nothing explains.
 *
 * <p>How long a transfer takes is the fabric's business and taken from the log; where the log does
 * not show a time (fragments of a long message, a channel that contention keeps busy) the start may
 * be later than all known times, and then the cause must say so.
 */
final class GateRulesTest {
  private static final int CASES = 60;

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3})
  void randomPrograms_everyStart_isTheLatestOfItsConditions(int block) {
    int[] exact = new int[1];
    for (int i = 0; i < CASES; i++) {
      RandomCase c = RandomCase.of(5000 + block * CASES + i, true);
      try (DeviceRig rig = c.rig(Mode.TIME)) {
        Launch launch = c.run(rig);
        exact[0] += new Rules(c, rig, launch).check();
      }
    }
    assertThat(exact[0])
        .as("operations whose start was predicted exactly")
        .isGreaterThan(CASES * 30);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3})
  void randomPrograms_walkingBackTheCauses_reachesTheStartOfTheKernel(int block) {
    Set<Cause> met = EnumSet.noneOf(Cause.class);
    for (int i = 0; i < CASES; i++) {
      RandomCase c = RandomCase.of(9000 + block * CASES + i);
      boolean looks = i % 2 == 1;
      try (DeviceRig rig = c.rig(looks ? Mode.FULL : Mode.TIME)) {
        Launch launch = c.run(rig, looks);
        walkBack(c, rig, launch);
        gaps(c, rig, launch);
        rig.rows().forEach(r -> met.add(r.cause()));
      }
    }
    assertThat(met).as("causes that the programs met").containsExactly(Cause.values());
  }

  /**
   * What an operation says it waited for ended when it started, or as long before as the cause
   * says.
   */
  private static void gaps(RandomCase c, DeviceRig rig, Launch launch) {
    long dispatch = rig.machine.pe().cpu().dispatchPs();
    Map<Integer, DeviceRig.Row> byId = new HashMap<>();
    rig.rows().forEach(r -> byId.put(r.id(), r));
    Map<OpKind, Map<Object, DeviceRig.Row>> last = new HashMap<>();
    for (DeviceRig.Row row : rig.rows()) {
      DeviceRig.Row before =
          last.computeIfAbsent(row.kind(), k -> new HashMap<>()).put(row.pe(), row);
      if (before != null
          && before.startPs() == row.startPs()
          && before.causeOp() == row.causeOp()) {
        continue; // started with its predecessor in the queue, for the same cause
      }
      DeviceRig.Row cause = byId.get(row.causeOp());
      String what = c + ": " + row + " caused by " + cause;
      long issued = row.issuePs() - (cause == null ? launch.startPs() : rig.donePs(cause));
      switch (row.cause()) {
        case OPERAND, MEMORY_ORDER -> assertThat(row.startPs()).as(what).isEqualTo(cause.endPs());
        case ENGINE, MESSAGE, CREDIT -> {
          if (cause.kind() == OpKind.SEND) {
            assertThat(row.startPs()).as(what).isBetween(cause.startPs(), cause.endPs());
          } else if (row.cause() == Cause.ENGINE) {
            assertThat(row.startPs()).as(what).isEqualTo(cause.endPs());
          } else {
            long latency = rig.machine.route(cause.pe(), row.pe()).latencyPs();
            assertThat(row.startPs()).as(what).isGreaterThanOrEqualTo(cause.startPs() + latency);
          }
        }
        case KERNEL_START, FENCE, WINDOW, LOOK -> {
          assertThat(row.startPs()).as(what).isEqualTo(row.issuePs());
          assertThat(issued).as(what).isPositive();
          assertThat(issued % dispatch).as(what).isZero();
        }
        case SERIAL_ISSUE -> {
          long wait =
              row.issuePs() - (cause.kind() == OpKind.SEND ? cause.startPs() : cause.endPs());
          assertThat(row.startPs()).as(what).isEqualTo(row.issuePs());
          assertThat(wait).as(what).isPositive();
          assertThat(wait % dispatch).as(what).isZero();
        }
        case TCM_SPACE -> {
          assertThat(row.startPs()).as(what).isEqualTo(row.issuePs());
          assertThat(row.issuePs()).as(what).isGreaterThan(cause.startPs());
          if (cause.kind() != OpKind.SEND) {
            assertThat(issued).as(what).isPositive();
            assertThat(issued % dispatch).as(what).isZero();
          }
        }
      }
    }
  }

  private static void walkBack(RandomCase c, DeviceRig rig, Launch launch) {
    Map<Integer, DeviceRig.Row> byId = new HashMap<>();
    rig.rows().forEach(r -> byId.put(r.id(), r));
    Set<Integer> seen = new HashSet<>();
    int id = launch.criticalOp();
    if (id < 0) {
      return;
    }
    DeviceRig.Row row = byId.get(id);
    assertThat(row.kind() == OpKind.SEND ? row.startPs() : row.endPs())
        .isLessThanOrEqualTo(launch.endPs());
    while (true) {
      assertThat(seen.add(row.id())).as("the causes of %s go round in a circle", c).isTrue();
      assertThat(row.startPs()).isBetween(launch.startPs(), row.endPs());
      if (row.causeOp() < 0) {
        assertThat(row.cause()).as("%s %s", c, row).isEqualTo(Cause.KERNEL_START);
        return;
      }
      DeviceRig.Row cause = byId.get(row.causeOp());
      assertThat(cause).as("%s %s", c, row).isNotNull();
      assertThat(cause.startPs())
          .as("%s: %s caused by %s", c, row, cause)
          .isLessThanOrEqualTo(row.startPs());
      row = cause;
    }
  }

  /** The rules for one run. */
  private static final class Rules {
    private final RandomCase c;
    private final DeviceRig rig;
    private final Launch launch;
    private final IpcqSpec ipcq;
    private final List<List<DeviceRig.Row>> rows = new ArrayList<>();
    private final List<List<RandomProgram.Step>> commands = new ArrayList<>();
    private int exact;

    Rules(RandomCase c, DeviceRig rig, Launch launch) {
      this.c = c;
      this.rig = rig;
      this.launch = launch;
      this.ipcq = rig.machine.ipcq();
      for (int pe = 0; pe < c.pes(); pe++) {
        final int at = pe;
        rows.add(
            rig.rows().stream()
                .filter(r -> r.pe().equals(rig.pe(at)))
                .sorted(Comparator.comparingInt(DeviceRig.Row::id))
                .toList());
        commands.add(
            c.programs().get(pe).steps.stream().filter(RandomProgram.Step::isCommand).toList());
      }
    }

    int check() {
      for (int pe = 0; pe < c.pes(); pe++) {
        assertThat(rows.get(pe)).as("%s", c).hasSameSizeAs(commands.get(pe));
        issues(pe);
        for (int k = 0; k < rows.get(pe).size(); k++) {
          start(pe, k);
        }
      }
      return exact;
    }

    /**
     * The CPU: program order, one dispatch each, after fences and, if it issues serially, after the
     * command before.
     */
    private void issues(int pe) {
      long dispatch = rig.machine.pe().cpu().dispatchPs();
      boolean serial = rig.machine.pe().cpu().issue() == IssuePolicy.SERIAL;
      Map<Integer, DeviceRig.Row> producers = producers(pe);
      long cpu = launch.startPs();
      int k = 0;
      for (RandomProgram.Step s : c.programs().get(pe).steps) {
        if (s.isCommand()) {
          DeviceRig.Row row = rows.get(pe).get(k++);
          cpu += dispatch;
          assertThat(row.issuePs()).as("issue of %s in %s", row, c).isEqualTo(cpu);
          if (serial) {
            cpu = Math.max(cpu, row.kind() == OpKind.SEND ? row.startPs() : row.endPs());
          }
        } else if (s.kind() == RandomProgram.Kind.FENCE) {
          cpu = Math.max(cpu, producers.get(s.a()).endPs());
        } else if (s.kind() == RandomProgram.Kind.FENCE_ALL) {
          cpu =
              Math.max(cpu, rows.get(pe).stream().limit(k).mapToLong(rig::donePs).max().orElse(0));
        }
      }
    }

    private Map<Integer, DeviceRig.Row> producers(int pe) {
      Map<Integer, DeviceRig.Row> byValue = new HashMap<>();
      for (int k = 0; k < commands.get(pe).size(); k++) {
        byValue.put(commands.get(pe).get(k).out(), rows.get(pe).get(k));
      }
      return byValue;
    }

    private void start(int pe, int k) {
      DeviceRig.Row row = rows.get(pe).get(k);
      RandomProgram.Step step = commands.get(pe).get(k);
      Map<Integer, DeviceRig.Row> producers = producers(pe);
      long latest = row.issuePs();
      Set<Cause> unknown = new HashSet<>();
      if (step.kind() != RandomProgram.Kind.FILL) {
        for (int operand : new int[] {step.a(), step.b()}) {
          latest = Math.max(latest, operand < 0 ? 0 : producers.get(operand).endPs());
        }
      }
      latest = Math.max(latest, memoryOrder(pe, k));
      latest = Math.max(latest, engine(pe, k, unknown));
      if (row.kind() == OpKind.RECV) {
        latest = Math.max(latest, message(pe, k, unknown));
      } else if (row.kind() == OpKind.SEND) {
        latest = credit(pe, k, latest, unknown);
      } else if (row.kind() == OpKind.MATH) {
        assertThat(row.ps()).isEqualTo(mathPs(step));
      }
      if (unknown.isEmpty()) {
        exact++;
        assertThat(row.startPs()).as("start of %s in %s", row, c).isEqualTo(latest);
      } else {
        assertThat(row.startPs()).as("start of %s in %s", row, c).isGreaterThanOrEqualTo(latest);
        if (row.startPs() > latest) {
          assertThat(unknown)
              .as("start of %s after %d in %s", row, latest, c)
              .contains(row.cause());
        }
      }
    }

    private static long mathPs(RandomProgram.Step s) {
      int streams =
          s.kind() == RandomProgram.Kind.ADD ? 3 : s.kind() == RandomProgram.Kind.NEG ? 2 : 1;
      return Math.max(
          (10 + Math.ceilDiv(s.bytes(), 256)) * 500L, at(1024, (long) streams * s.bytes()));
    }

    /** Loads after stores, stores after both, if their bytes meet. */
    private long memoryOrder(int pe, int k) {
      RandomProgram.Step s = commands.get(pe).get(k);
      boolean store = s.kind() == RandomProgram.Kind.STORE;
      if (!store && s.kind() != RandomProgram.Kind.LOAD) {
        return 0;
      }
      long latest = 0;
      for (int j = 0; j < k; j++) {
        RandomProgram.Step e = commands.get(pe).get(j);
        boolean matters =
            e.kind() == RandomProgram.Kind.STORE || (store && e.kind() == RandomProgram.Kind.LOAD);
        if (matters && e.offset() < s.offset() + s.bytes() && s.offset() < e.offset() + e.bytes()) {
          latest = Math.max(latest, rows.get(pe).get(j).endPs());
        }
      }
      return latest;
    }

    /** In order, and only while fewer than all channels are taken. */
    private long engine(int pe, int k, Set<Cause> unknown) {
      DeviceRig.Row row = rows.get(pe).get(k);
      List<DeviceRig.Row> before =
          rows.get(pe).stream().limit(k).filter(r -> r.kind() == row.kind()).toList();
      if (before.isEmpty()) {
        return 0;
      }
      DeviceRig.Row last = before.getLast();
      if (row.kind() == OpKind.SEND) {
        // the log does not show when the channel was free, only when the message had arrived
        unknown.add(Cause.ENGINE);
        long overhead = rig.machine.pe().dma().messageOverheadPs();
        return last.startPs()
            + fragments(last.bytes()) * overhead
            + chunked(256, Math.min(last.bytes(), ipcq.slotBytes()));
      }
      int channels =
          switch (row.kind()) {
            case LOAD -> rig.machine.pe().dma().readQueues();
            case STORE -> rig.machine.pe().dma().writeQueues();
            case MATH, GEMM, SEND, RECV -> 1;
          };
      long free =
          before.size() < channels
              ? 0
              : before.stream()
                  .map(DeviceRig.Row::endPs)
                  .sorted(Comparator.reverseOrder())
                  .skip(channels - 1)
                  .findFirst()
                  .orElseThrow();
      return Math.max(free, last.startPs());
    }

    private long fragments(int bytes) {
      return Math.max(1, Math.ceilDiv(bytes, ipcq.slotBytes()));
    }

    private List<Integer> indices(int pe, OpKind kind) {
      List<Integer> found = new ArrayList<>();
      for (int k = 0; k < rows.get(pe).size(); k++) {
        if (rows.get(pe).get(k).kind() == kind) {
          found.add(k);
        }
      }
      return found;
    }

    /** The n-th receive takes the n-th message of the western neighbour. */
    private long message(int pe, int k, Set<Cause> unknown) {
      int n = indices(pe, OpKind.RECV).indexOf(k);
      int west = (pe + c.pes() - 1) % c.pes();
      DeviceRig.Row send = rows.get(west).get(indices(west, OpKind.SEND).get(n));
      assertThat(send.bytes()).isEqualTo(rows.get(pe).get(k).bytes());
      if (fragments(send.bytes()) > 1) {
        unknown.add(Cause.MESSAGE);
        return send.startPs();
      }
      return send.endPs();
    }

    /** Fragment f needs the slot that fragment f - slots had. */
    private long credit(int pe, int k, long ready, Set<Cause> unknown) {
      int fragment = 0;
      for (int j : indices(pe, OpKind.SEND)) {
        if (j < k) {
          fragment += (int) fragments(rows.get(pe).get(j).bytes());
        }
      }
      int had = fragment - c.slots();
      if (had < 0) {
        return ready;
      }
      int east = (pe + 1) % c.pes();
      int at = 0;
      for (int j : indices(east, OpKind.RECV)) {
        DeviceRig.Row recv = rows.get(east).get(j);
        int n = (int) fragments(recv.bytes());
        if (had < at + n) {
          long latency = rig.machine.route(rig.pe(east), rig.pe(pe)).latencyPs();
          long credit =
              freedPs(east, j, n, had - at, latency + 80 + 2_000, unknown) + latency + 80 + 2_000;
          if (ipcq.backpressure() == Backpressure.POLL && credit > ready) {
            // the sender looks again and again from when it was ready, which the log shows only if
            // the channel was free
            unknown.add(Cause.CREDIT);
          }
          return Math.max(ready, credit);
        }
        at += n;
      }
      throw new AssertionError("a send beyond all receives");
    }

    private long freedPs(
        int pe, int recv, int fragments, int fragment, long creditPs, Set<Cause> unknown) {
      DeviceRig.Row row = rows.get(pe).get(recv);
      RandomProgram.Step step = commands.get(pe).get(recv);
      boolean inPlace =
          !step.copy()
              && fragments == 1
              && ipcq.slotAccess() == SlotAccess.STREAMED
              && ipcq.bufferKind() == BufferKind.TCM;
      if (!inPlace) {
        if (fragment < fragments - 1) {
          unknown.add(Cause.CREDIT);
          return row.startPs();
        }
        return row.endPs() - (ipcq.recvAwaitsCredit() ? creditPs : 0);
      }
      long last = row.endPs();
      for (int k = 0; k < commands.get(pe).size(); k++) {
        RandomProgram.Step s = commands.get(pe).get(k);
        if (s.kind() != RandomProgram.Kind.FILL && (s.a() == step.out() || s.b() == step.out())) {
          last = Math.max(last, rows.get(pe).get(k).endPs());
        }
      }
      return last;
    }
  }
}
