package org.kernbench.device;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.kernbench.device.QueueProgram.Step;
import org.kernbench.device.QueueProgram.Verb;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
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
}
