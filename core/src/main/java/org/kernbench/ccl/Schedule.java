package org.kernbench.ccl;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.Steps;
import org.kernbench.device.simulator.Fold;
import org.kernbench.machine.CannotFoldException;
import org.kernbench.machine.Turn;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.tl.Tl;
import org.kernbench.torch.collective.CollectiveCall;

/** An algorithm bound to a group: who talks to whom, and what each rank does. */
public interface Schedule {
  /** The queues it needs; a direction name is used once per PE. */
  List<QueuePlan.Connection> connections();

  /**
   * What each rank does in a call.
   *
   * @param call of an operation that the algorithm {@linkplain CollectiveAlgorithm#operations can
   *     do}, with at least one element to move
   */
  RankProgram program(CollectiveCall call);

  /** The queues that one call needs, if that depends on the call, say on its root. */
  default List<QueuePlan.Connection> connections(CollectiveCall call) {
    return connections();
  }

  /**
   * The time that the algorithm's closed form gives for a call, with the machine's own numbers and
   * the queues that it was bound with, in picoseconds; empty if it has none. For choosing among
   * algorithms: within a few per cent on machines that are as the closed forms take them, but far
   * off where messages meet on links or wait in HBM; {@code auto} compares it with simulations
   * before it goes by it.
   */
  default OptionalLong predictPs(CollectiveCall call) {
    return OptionalLong.empty();
  }

  /**
   * The time by the algorithm's formula, to be drawn beside simulated ones: {@link #predictPs}, or
   * a rougher one that nothing is chosen by.
   */
  default OptionalLong formulaPs(CollectiveCall call) {
    return predictPs(call);
  }

  /**
   * Whether {@link #predictPs} claims to be exact: no message waits for another on a link. Judged
   * where the assumptions of the closed forms hold: nothing takes time but {@code o}, {@code s/B},
   * {@code L} and {@code gamma} (presets {@code model-sips} and {@code model-cubes}).
   */
  default boolean isForecastExact(CollectiveCall call) {
    return false;
  }

  /** Name of the algorithm that performs a call, if this schedule chooses among several. */
  default Optional<String> chosen(CollectiveCall call) {
    return Optional.empty();
  }

  /** What was chosen for each kind of call so far, if this schedule chooses among several. */
  default List<AutoChoice> choices() {
    return List.of();
  }

  /**
   * Chooses from now on as another schedule of the same algorithm does, whose ranks are at another
   * place of the same devices, wherever the same can be done here.
   */
  default void follow(Schedule first) {}

  /** The bytes that all ranks together send in a call, exactly; empty if not known. */
  default OptionalLong wireBytes(CollectiveCall call) {
    return OptionalLong.empty();
  }

  /**
   * A promise: the least slots per direction with which a call ends where each PE finishes a
   * command before it issues the next ({@code cpu.issue: serial}); with one less it deadlocks.
   * Machines that overlap commands need only one. Empty if it promises nothing; {@code kernbench
   * conformance} counts them in any case.
   */
  default OptionalInt leastSlots(CollectiveCall call) {
    return OptionalInt.empty();
  }

  /**
   * Of the queues of a call those that begin in package 0, one for each orbit of shifts, where
   * every package is a rank (ADR 0109). By default found among all of them; a schedule of very many
   * ranks may know without.
   *
   * @throws CannotFoldException if a shift takes some queue to where none is
   */
  default QueuePlan representatives(Fold fold, IpcqSpec spec, CollectiveCall call) {
    return fold.representatives(new QueuePlan(spec, connections(call)));
  }

  /**
   * How ranks that do alike name the bytes of their vectors, which begin at offset 0 here: for
   * running one rank for all where every package is a rank (ADR 0109). Only what is claimed here is
   * believed, and then compared.
   *
   * @throws CannotFoldException if ranks do not do alike in this call, with the reason
   */
  default Turn turn(CollectiveCall call) {
    return Turn.NONE;
  }

  /**
   * As {@link #turn}, of the vectors that results go to, where they are others than those that are
   * read.
   */
  default Turn resultTurn(CollectiveCall call) {
    return turn(call);
  }

  /** The kernel of one collective, told its rank. */
  @FunctionalInterface
  interface RankProgram {
    /**
     * Issues the commands of one rank.
     *
     * @param vector what the rank contributes, and where the result goes
     * @param reduction how contributions combine, if the operation reduces
     */
    void run(Tl tl, int rank, Payload vector, Reduction reduction);
  }

  /**
   * A program that goes a step at a time: for algorithms that are run on very many ranks. Ranks may
   * be asked by several threads at once, so they share nothing that changes.
   */
  interface SteppedProgram extends RankProgram {
    /** Begins the part of one rank; parameters as those of {@link #run}. */
    Steps begin(Tl tl, int rank, Payload vector, Reduction reduction);

    @Override
    default void run(Tl tl, int rank, Payload vector, Reduction reduction) {
      begin(tl, rank, vector, reduction).run();
    }
  }
}
