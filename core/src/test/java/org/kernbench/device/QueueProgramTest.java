package org.kernbench.device;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.kernbench.device.QueueProgram.Step;
import org.kernbench.device.QueueProgram.Verb;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.memory.Region;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.machine.VirtualAddress;
import org.kernbench.tensor.BinaryOp;
import org.kernbench.tensor.DType;

/** What a program does with its queues, written down step by step. */
final class QueueProgramTest {
  private static final Machine MACHINE = Machines.load("ring", List.of("system.sips.count=2"));
  private static final Pe ONE = new Pe(0, 0, 0);
  private static final QueuePlan PLAN =
      new QueuePlan(
          MACHINE.ipcq(), List.of(new QueuePlan.Connection(new Pe(1, 0, 0), "W", ONE, "E")));

  private static List<Step> steps(Consumer<PePort> program) {
    return QueueProgram.of(MACHINE, ONE, PLAN, port -> () -> program.accept(port)).orElseThrow();
  }

  private static Step read(int value) {
    return new Step(Verb.READ, -1, 0, false, value);
  }

  private static Step release(int value) {
    return new Step(Verb.RELEASE, -1, 0, false, value);
  }

  /** What comes after a receive of each of three messages, their copies kept in the slots. */
  private static List<Step> after(BiConsumer<PePort, List<Register>> use) {
    List<Step> all =
        steps(port -> {
          int queue = port.queue("E");
          use.accept(
              port,
              List.of(
                  port.receive(queue, 64, false, false),
                  port.receive(queue, 64, false, false),
                  port.receive(queue, 64, false, false)));
        });
    assertThat(all.subList(0, 3))
        .isEqualTo(
            List.of(
                new Step(Verb.RECEIVE, 1, 64, false, 0),
                new Step(Verb.RECEIVE, 1, 64, false, 1),
                new Step(Verb.RECEIVE, 1, 64, false, 2)));
    return all.subList(3, all.size());
  }

  @Test
  void accumulate_readsBothOperandsAndTheSums_whichItGivesUp() {
    ComputeOp op = new ComputeOp.Gemm(DType.F32, DType.F32, 4, 4, 4, true);
    assertThat(after((port, v) -> port.accumulate(op, v.get(0), 0, v.get(1), 0, v.get(2))))
        .containsExactly(read(0), read(1), read(2), release(2), release(0), release(1));
  }

  @Test
  void compute_readsWhatItIsGiven() {
    ComputeOp op = new ComputeOp.Binary(BinaryOp.ADD, DType.F32, 16);
    assertThat(after((port, v) -> port.compute(op, 64, v.get(2), 0, v.get(1), 0, Register.NONE, 0)))
        .containsExactly(read(2), read(1), release(0), release(1), release(2));
  }

  private static Step send(int bytes) {
    return new Step(Verb.SEND, 1, bytes, false, -1);
  }

  private static LaneMask mask(Register lanes) {
    return new LaneMask(lanes, 0, 4, new LaneMask.Lane(0));
  }

  private static Region bytes(int count) {
    return Region.of(new VirtualAddress(4096), count);
  }

  @Test
  void maskedLoad_readsItsMask_andMakesAValueThatIsNoMessage() {
    assertThat(
            after((port, v) -> {
              assertThat(port.load(bytes(48)).bytes()).isEqualTo(48);
              Register loaded = port.load(bytes(32), mask(v.get(1)));
              assertThat(loaded.bytes()).isEqualTo(32);
              port.send(port.queue("E"), loaded, 0, 32);
            }))
        .containsExactly(read(1), send(32), release(0), release(1), release(2));
  }

  @Test
  void stores_readTheirValue_afterTheirMask() {
    assertThat(
            after((port, v) -> {
              port.store(v.get(2), 0, bytes(64));
              Register stored = port.store(v.get(1), 0, bytes(64), mask(v.get(0)));
              assertThat(stored.bytes()).isZero();
              port.fence(stored);
            }))
        .containsExactly(read(2), read(0), read(1), release(0), release(1), release(2));
  }

  @Test
  void valuesThatAreMade_haveTheSizesOfTheirWork() {
    ComputeOp op = new ComputeOp.Binary(BinaryOp.ADD, DType.F32, 16);
    after((port, v) -> {
      Register made = port.compute(op, 60, v.get(0), 0, v.get(1), 0, Register.NONE, 0);
      assertThat(made.bytes()).isEqualTo(60);
      assertThat(port.accumulate(op, v.get(0), 0, v.get(1), 0, made).bytes()).isEqualTo(60);
    });
  }

  @Test
  void taskOfTheTileScheduler_readsWhatItIsGiven_andFencesOfReadersReadNothing() {
    assertThat(
            after((port, v) -> {
              Register token = port.schedule(List.of(v.get(1), v.get(0)), task -> {});
              assertThat(token.bytes()).isZero();
              port.fenceReaders(v.get(2));
              port.fence(v.get(2));
            }))
        .containsExactly(read(1), read(0), read(2), release(0), release(1), release(2));
  }

  @Test
  void fenceForAll_readsWhatIsStillHeld() {
    assertThat(
            after((port, v) -> {
              port.release(v.get(0));
              port.release(v.get(2));
              port.release(v.get(2)); // given up already
              port.fenceAll();
            }))
        .containsExactly(release(0), release(2), read(1), release(1));
  }

  @Test
  void programSeesItsMachineAndItsQueues_inModeTime() {
    steps(port -> {
      assertThat(port.machine()).isSameAs(MACHINE);
      assertThat(port.pe()).isEqualTo(ONE);
      assertThat(port.mode()).isEqualTo(Mode.TIME);
      assertThat(port.directions()).containsExactly("E");
      assertThat(port.queue("E")).isEqualTo(1);
      assertThat(port.queue("W")).as("of the other PE").isEqualTo(-1);
    });
  }

  @Test
  void receives_sayWhetherTheyCopyAndWait() {
    List<Step> all =
        steps(port -> {
          port.release(port.receive(port.queue("E"), 128, true, true));
          port.release(port.receive(port.queue("E"), 64, true, false));
        });
    assertThat(all)
        .containsExactly(
            new Step(Verb.RECEIVE_ASYNC, 1, 128, true, 0),
            release(0),
            new Step(Verb.RECEIVE, 1, 64, true, 1),
            release(1));
  }

  @Test
  void programThatLooks_hasNoSteps() {
    List<Consumer<PePort>> looks =
        List.of(
            PePort::clockPs,
            port -> port.select(List.of(0), 0),
            port -> port.look(port.load(bytes(8)), 0, 8));
    for (Consumer<PePort> program : looks) {
      assertThat(QueueProgram.of(MACHINE, ONE, PLAN, port -> () -> program.accept(port))).isEmpty();
    }
  }
}
