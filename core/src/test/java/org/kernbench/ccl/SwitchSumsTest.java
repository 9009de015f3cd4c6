package org.kernbench.ccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.device.DeadlockException;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.QueueSet;
import org.kernbench.device.ReusableProgram;
import org.kernbench.device.check.Finding;
import org.kernbench.device.check.Findings;
import org.kernbench.device.simulator.Fold;
import org.kernbench.device.simulator.Simulator;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.machine.CannotFoldException;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;
import org.kernbench.tensor.BinaryOp;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.LaunchGrid;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.placement.RankLevel;

/** What a switch does with messages that it adds up, said in kernels without an algorithm. */
final class SwitchSumsTest {
  private static final int ELEMENTS = 512;
  private static final long LATE_PS = 5_000_000;

  private static Machine machine(int sips, String... more) {
    List<String> set = new ArrayList<>();
    set.add("system.sips.count=" + sips);
    set.add("system.sips.topology=switch");
    set.add("system.sips.reduces=true");
    set.addAll(List.of(more));
    return Machines.load("model-sips", set);
  }

  private static QueuePlan plan(Machine machine, List<Pe> members, DType type) {
    QueuePlan.SwitchSum sum =
        new QueuePlan.SwitchSum(machine.switchOf(0, 0), members, BinaryOp.ADD, type);
    return new QueuePlan(
        machine.ipcq(),
        members.stream().map(pe -> QueuePlan.Connection.ofSums(pe, "up", "down", sum)).toList());
  }

  private static void sum(Tl tl, Shard shard, int elements) {
    Value given = tl.load(shard.range(0, elements));
    tl.send("up", given);
    Value all = tl.recv("down", Shape.of(elements), shard.dtype());
    tl.store(shard.range(0, elements), all);
    tl.release(given);
    tl.release(all);
  }

  private static byte[] filled(DType type, double value) {
    byte[] data = new byte[ELEMENTS * type.sizeBytes()];
    for (int i = 0; i < ELEMENTS; i++) {
      type.putDouble(data, i * type.sizeBytes(), value);
    }
    return data;
  }

  /**
   * 256, 1, 1, 1 in bf16, whose neighbour above 256 is 258: in the order of the ranks 256, from the
   * other end 260. Whoever comes last, the order is that of the members.
   */
  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"FULL", "VALUES"})
  void sum_whoeverComesLast_isMadeInTheOrderOfTheMembers(Mode mode) {
    double[] values = {256, 1, 1, 1};
    for (int late = 0; late < 4; late++) {
      Machine machine = machine(4);
      int last = late;
      for (boolean reversed : new boolean[] {false, true}) {
        List<Pe> pes = Bed.leads(machine, RankLevel.SIP, 4);
        List<Pe> members = reversed ? pes.reversed() : pes;
        try (Bed bed = Bed.open(machine, mode)) {
          List<Shard> shards = bed.vectors(pes, DType.BF16, ELEMENTS);
          for (int i = 0; i < 4; i++) {
            bed.write(shards.get(i), filled(DType.BF16, values[i]));
          }
          bed.run(
              plan(machine, members, DType.BF16),
              pes,
              tl -> {
                if (tl.pe().sip() == last) {
                  tl.await(tl.elapse(LATE_PS));
                }
                sum(tl, shards.get(tl.pe().sip()), ELEMENTS);
              });
          for (Shard shard : shards) {
            assertThat(bed.read(shard)).isEqualTo(filled(DType.BF16, reversed ? 260 : 256));
          }
        }
      }
    }
  }

  private static QueuePlan copies(Machine machine) {
    List<Pe> pes = Bed.leads(machine, RankLevel.SIP, 3);
    QueuePlan.SwitchSum copy =
        QueuePlan.SwitchSum.copies(
            machine.switchOf(0, 0), pes.get(0), pes.subList(1, 3), DType.F32);
    return new QueuePlan(
        machine.ipcq(),
        pes.stream().map(pe -> QueuePlan.Connection.ofSums(pe, "up", "down", copy)).toList());
  }

  /**
   * Two slots, six messages, and one of two takers late: none is overwritten before the last has
   * taken it, and the giver waits for that one.
   */
  @ParameterizedTest
  @EnumSource(
      value = Mode.class,
      names = {"FULL", "VALUES"})
  void copies_oneTakerLate_comeWholeToBoth(Mode mode) {
    Machine machine = machine(3, "ipcq.slots=2");
    List<Pe> pes = Bed.leads(machine, RankLevel.SIP, 3);
    int n = 16;
    for (int late : new int[] {1, 2}) {
      try (Bed bed = Bed.open(machine, mode)) {
        List<Shard> shards = bed.vectors(pes, DType.F32, ELEMENTS);
        byte[] given = filled(DType.F32, 0);
        for (int i = 0; i < ELEMENTS; i++) {
          DType.F32.putDouble(given, 4 * i, i);
        }
        bed.write(shards.get(0), given);
        bed.run(
            copies(machine),
            pes,
            tl -> {
              int me = tl.pe().sip();
              if (me == late) {
                tl.await(tl.elapse(LATE_PS));
              }
              for (int k = 0; k < 6; k++) {
                if (me == 0) {
                  Value value = tl.load(shards.get(0).range(k * n, n));
                  tl.send("up", value);
                  tl.release(value);
                } else {
                  Value value = tl.recv("down", Shape.of(n), DType.F32);
                  tl.store(shards.get(me).range(k * n, n), value);
                  tl.release(value);
                }
              }
            });
        for (int me = 1; me < 3; me++) {
          assertThat(Arrays.copyOf(bed.read(shards.get(me)), 6 * n * 4))
              .as("%s, late %s", me, late)
              .isEqualTo(Arrays.copyOf(given, 6 * n * 4));
        }
      }
    }
  }

  @Test
  void copiesThatNobodyGives_nameTheGiver() {
    Machine machine = machine(3);
    List<Pe> pes = Bed.leads(machine, RankLevel.SIP, 3);
    for (Mode mode : new Mode[] {Mode.TIME, Mode.VALUES}) {
      try (Bed bed = Bed.open(machine, mode)) {
        assertThatThrownBy(() ->
                bed.run(
                    copies(machine),
                    pes,
                    tl -> {
                      if (tl.pe().sip() == 2) {
                        tl.await(tl.recv("down", Shape.of(4), DType.F32));
                      }
                    }))
            .isInstanceOf(DeadlockException.class)
            .hasMessageContaining("no message from sip0.cube0.pe0");
      }
    }
    assertThatThrownBy(() ->
            new QueuePlan.SwitchSum(
                0, pes.subList(0, 2), List.of(pes.get(2)), BinaryOp.ADD, DType.F32))
        .hasMessageContaining("expected takers that give too");
  }

  private static long timePs(Machine machine, int late) {
    List<Pe> pes = Bed.leads(machine, RankLevel.SIP, machine.sips());
    try (Bed bed = Bed.open(machine, Mode.TIME)) {
      List<Shard> shards = bed.vectors(pes, DType.F32, ELEMENTS);
      return bed.run(
              plan(machine, pes, DType.F32),
              pes,
              tl -> {
                if (tl.pe().sip() == late) {
                  tl.await(tl.elapse(LATE_PS));
                }
                sum(tl, shards.get(tl.pe().sip()), ELEMENTS);
              })
          .criticalPs();
    }
  }

  /** Nothing goes down before the last has come: who is late makes all as late, to the ps. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 4})
  void sum_oneMemberLate_makesAllAsLate(int late) {
    Machine machine = machine(5);
    assertThat(timePs(machine, late)).isEqualTo(timePs(machine, -1) + LATE_PS);
  }

  @Test
  void memberThatGivesNothing_isNamedWhenAllWait() {
    Machine machine = machine(3);
    List<Pe> pes = Bed.leads(machine, RankLevel.SIP, 3);
    for (Mode mode : new Mode[] {Mode.TIME, Mode.VALUES}) {
      try (Bed bed = Bed.open(machine, mode)) {
        List<Shard> shards = bed.vectors(pes, DType.F32, ELEMENTS);
        assertThatThrownBy(() ->
                bed.run(
                    plan(machine, pes, DType.F32),
                    pes,
                    tl -> {
                      if (tl.pe().sip() != 1) {
                        sum(tl, shards.get(tl.pe().sip()), ELEMENTS);
                      }
                    }))
            .isInstanceOf(DeadlockException.class)
            .hasMessageContaining("no sum, to which sip1.cube0.pe0 gives nothing");
      }
    }
  }

  @Test
  void messages_ofTwoSizes_orLongerThanASlot_areRefused() {
    Machine machine = machine(2, "ipcq.slot_size=1 KiB");
    List<Pe> pes = Bed.leads(machine, RankLevel.SIP, 2);
    for (int more : new int[] {1, 256}) {
      Mode mode = more == 1 ? Mode.VALUES : Mode.TIME;
      try (Bed bed = Bed.open(machine, mode)) {
        List<Shard> shards = bed.vectors(pes, DType.F32, ELEMENTS);
        assertThatThrownBy(() ->
                bed.run(
                    plan(machine, pes, DType.F32),
                    pes,
                    tl -> sum(tl, shards.get(tl.pe().sip()), more + 16 * tl.pe().sip())))
            .isInstanceOf(SimulationException.class)
            .hasMessageContaining(more == 1 ? "let all members send as much" : "at most a slot");
      }
    }
  }

  @Test
  void switchThatOnlyPassesOn_addsNothingUp() {
    Machine machine = machine(2, "system.sips.reduces=false");
    List<Pe> pes = Bed.leads(machine, RankLevel.SIP, 2);
    try (Bed bed = Bed.open(machine, Mode.TIME)) {
      QueuePlan plan = plan(machine, pes, DType.F32);
      assertThatThrownBy(() -> bed.run(plan, pes, tl -> {}))
          .isInstanceOf(SimulationException.class)
          .hasMessageContaining("switch adds nothing up; expected reduces: true");
    }
  }

  @Test
  void foldedPackages_areRefused() {
    Machine machine = machine(4);
    QueuePlan plan = plan(machine, Bed.leads(machine, RankLevel.SIP, 4), DType.F32);
    assertThatThrownBy(() -> Fold.of(machine).representatives(plan))
        .isInstanceOf(CannotFoldException.class)
        .hasMessageContaining("sums in a switch");
  }

  /** What a member did before it gave is done for all who have the sum; not for who only gives. */
  @Test
  void sum_ordersWhatWasBefore_forThoseThatHaveIt() {
    assertThat(findings(true)).isEmpty();
    assertThat(findings(false)).isNotEmpty();
  }

  private static List<Finding> findings(boolean waits) {
    Machine machine = machine(3);
    List<Pe> pes = Bed.leads(machine, RankLevel.SIP, 3);
    LaunchGrid grid = new LaunchGrid(0, 3);
    Findings found = new Findings();
    SimulatorOptions options = SimulatorOptions.DEFAULT.checkedBy(found);
    try (Simulator simulator = Simulator.open(machine, Mode.FULL, options)) {
      QueueSet set = simulator.install(plan(machine, pes, DType.F32));
      Shard shared =
          new Shard("x", machine.addresses().hbm(pes.get(2), 4096), Shape.of(8), DType.F32);
      simulator.drive(
          simulator.launch(
              LaunchRequest.of("order", pes).with(set),
              port ->
                  () -> {
                    Tl tl = new Tl(port, grid);
                    Value zeros = tl.zeros(Shape.of(8), DType.F32);
                    if (port.pe().sip() == 0) {
                      tl.await(tl.store(shared.range(0, 8), zeros));
                    }
                    tl.send("up", zeros);
                    Value sum = tl.recv("down", Shape.of(8), DType.F32);
                    if (waits) {
                      tl.await(sum);
                    }
                    if (port.pe().sip() == 2) {
                      tl.release(tl.load(shared.range(0, 8)));
                    }
                    tl.release(sum);
                    tl.release(zeros);
                  }));
    }
    return found.list();
  }

  /** A program that says what it depends on, so that what came of it could be used again. */
  private static final class Zeros implements ReusableProgram {
    @Override
    public Optional<Key> key() {
      return Optional.of(new Key(List.of("zeros"), List.of()));
    }

    @Override
    public Runnable apply(PePort port) {
      return () -> {
        Tl tl = new Tl(port, new LaunchGrid(0, 3));
        Value given = tl.zeros(Shape.of(ELEMENTS), DType.F32);
        tl.send("up", given);
        tl.release(given);
        tl.release(tl.recv("down", Shape.of(ELEMENTS), DType.F32));
      };
    }
  }

  /** The same launch again and again, as if each were simulated: none is taken from before. */
  @Test
  void launches_onceMore_areSimulated() {
    Machine machine = machine(3, "pe.cpu.dispatch=1 ns");
    assertThat(hash(machine, true)).isEqualTo(hash(machine, false));
  }

  private static String hash(Machine machine, boolean reuse) {
    List<Pe> pes = Bed.leads(machine, RankLevel.SIP, 3);
    SimulatorOptions options = SimulatorOptions.DEFAULT.reusing(reuse);
    try (Simulator simulator = Simulator.open(machine, Mode.TIME, options)) {
      QueueSet set = simulator.install(plan(machine, pes, DType.F32));
      for (int i = 0; i < 8; i++) {
        simulator.drive(simulator.launch(LaunchRequest.of("zeros", pes).with(set), new Zeros()));
      }
      assertThat(simulator.reused().isPresent()).isEqualTo(reuse);
      simulator.reused().ifPresent(r -> assertThat(r.launches()).as("%s", r).isZero());
      return simulator.opLog().hash();
    }
  }
}
