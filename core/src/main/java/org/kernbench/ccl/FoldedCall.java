package org.kernbench.ccl;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.IntFunction;
import org.kernbench.device.Launch;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.PePort;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.QueueSet;
import org.kernbench.device.simulator.Fold;
import org.kernbench.device.simulator.Simulator;
import org.kernbench.device.simulator.SimulatorOptions;
import org.kernbench.machine.CannotFoldException;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.PhysicalAddress;
import org.kernbench.machine.Turn;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.machine.spec.MmuSpec;
import org.kernbench.machine.spec.TlbFill;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.LaunchGrid;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Tl;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.Part;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.collective.Splits;
import org.kernbench.torch.placement.RankLevel;

/**
 * A collective of all packages, in mode {@code time}, of which one package is simulated for all
 * (ADR 0109): the same picosecond and the same rows as with every rank, for the price of one.
 */
public final class FoldedCall implements AutoCloseable {
  private final Simulator simulator;
  private final QueueSet queues;
  private final Launch launch;
  private final String note;

  private FoldedCall(Simulator simulator, QueueSet queues, Launch launch, String note) {
    this.simulator = simulator;
    this.queues = queues;
    this.launch = launch;
    this.note = note;
  }

  /**
   * Runs an all-reduce (a sum) in place of vectors in the HBM of each rank.
   *
   * @param schedule bound to the group; every package is a rank, of one PE
   * @param spec of its queues
   * @param elements of each rank's vector, at least 1
   * @throws CannotFoldException if ranks are not alike or do not do alike, with the reason
   */
  public static FoldedCall allReduce(
      Group group,
      Schedule schedule,
      IpcqSpec spec,
      DType dtype,
      int elements,
      SimulatorOptions recording) {
    Machine machine = group.machine();
    checkRanks(group);
    checkTranslations(machine.pe().mmu(), (long) elements * dtype.sizeBytes());
    CollectiveCall call = sum(group, dtype, elements);
    return new Run(group, schedule, spec, call)
        .of(
            "allReduce",
            rank -> Payload.of(vector(group, rank, dtype, elements)),
            machine.pe().cpu().contexts() - 1,
            recording);
  }

  /**
   * Runs a call on vectors at the same places of all ranks, given by physical addresses.
   *
   * @param schedule bound to the group, of which each package has the same PEs
   * @param spec of its queues
   * @throws CannotFoldException if ranks are not alike or do not do alike, with the reason
   */
  public static FoldedCall of(
      Group group,
      Schedule schedule,
      IpcqSpec spec,
      CollectiveCall call,
      SimulatorOptions recording) {
    return new Run(group, schedule, spec, call)
        .of("trial", rank -> Payload.of(call, rank), 0, recording);
  }

  /**
   * Compares the programs of a call, of which package 0's part is to be run beside other kernels.
   *
   * @return the queues that begin in package 0, one for each orbit
   * @throws CannotFoldException if ranks are not alike or do not do alike, with the reason
   */
  public static QueuePlan compared(
      Fold fold, Group group, Schedule schedule, IpcqSpec spec, CollectiveCall call) {
    Run run = new Run(group, schedule, spec, call);
    return run.compared(fold, run.first(fold), run.program(rank -> Payload.of(call, rank)));
  }

  /** A call that is to be run. */
  private record Run(Group group, Schedule schedule, IpcqSpec spec, CollectiveCall call) {
    FoldedCall of(
        String name, IntFunction<Payload> vectors, int stream, SimulatorOptions recording) {
      Fold fold = Fold.of(group.machine());
      List<Pe> first = first(fold);
      Function<PePort, Runnable> program = program(vectors);
      QueuePlan plan = compared(fold, first, program);
      Simulator simulator = fold.open(recording);
      try {
        QueueSet set = simulator.install(plan);
        LaunchRequest request = LaunchRequest.of(name, first).with(set).onStream(stream);
        Launch launch = simulator.launch(request, program);
        simulator.drive(launch);
        return new FoldedCall(simulator, set, launch, fold.note());
      } catch (RuntimeException | Error e) {
        simulator.close();
        throw e;
      }
    }

    private List<Pe> first(Fold fold) {
      return group.isOfPackages() ? List.of(group.lead(0)) : fold.representatives(group.leads());
    }

    /** The queues that begin in package 0, if other packages do as it does. */
    private QueuePlan compared(Fold fold, List<Pe> first, Function<PePort, Runnable> program) {
      QueuePlan plan = schedule.representatives(fold, spec, call);
      fold.compare(first, plan, program, turns(first));
      return plan;
    }

    /** How ranks name the bytes of what they read and of what they write. */
    private List<Turn> turns(List<Pe> first) {
      Turn read = schedule.turn(call);
      Turn written = schedule.resultTurn(call);
      List<Turn> turns = new ArrayList<>();
      for (Pe pe : first) {
        int rank = group.rankOf(pe);
        Optional<Shard> in = call.inputs().get(rank);
        Optional<Shard> out = call.outputs().get(rank);
        in.ifPresent(shard -> turns.add(of(read, shard)));
        if (!out.equals(in)) {
          out.ifPresent(shard -> turns.add(of(written, shard)));
        }
      }
      return turns;
    }

    private Turn of(Turn turn, Shard shard) {
      if (shard.address() instanceof PhysicalAddress physical) {
        return turn.at(group.machine().addresses().decode(physical).offset());
      }
      // all packages map their vectors at the same addresses, at the same places
      long bytes = shard.shape().elements() * shard.dtype().sizeBytes();
      return (turn.equals(Turn.NONE) ? new Turn(0, bytes, 0, 1) : turn).at(shard.address().value());
    }

    private Function<PePort, Runnable> program(IntFunction<Payload> vectors) {
      Schedule.RankProgram program = schedule.program(call);
      Reduction reduction = new Reduction(call.reduce(), group.size());
      LaunchGrid grid = new LaunchGrid(0, group.machine().sips());
      return port -> {
        Tl tl = new Tl(port, grid);
        int rank = group.rankOf(port.pe());
        Payload vector = vectors.apply(rank);
        return program instanceof Schedule.SteppedProgram stepped
            ? stepped.begin(tl, rank, vector, reduction)
            : () -> program.run(tl, rank, vector, reduction);
      };
    }
  }

  private static void checkRanks(Group group) {
    Machine machine = group.machine();
    int pes = machine.cubesPerSip() * machine.pesPerCube();
    if (group.level() != RankLevel.SIP || pes != 1) {
      throw new CannotFoldException(
          "a package has %s PEs, and ranks are of level %s; only packages of one PE are folded here, with others use the bench collective"
              .formatted(pes, group.level().name().toLowerCase(Locale.ROOT)));
    }
    if (group.size() != machine.sips()) {
      throw new CannotFoldException(
          "%s of %s packages are ranks; let all packages take part (world_size)"
              .formatted(group.size(), machine.sips()));
    }
  }

  /** Translations cost nothing if the TLB holds all pages, and mapping fills it. */
  private static void checkTranslations(MmuSpec mmu, long bytes) {
    if (mmu.missPs() == 0) {
      return;
    }
    if (mmu.fill() != TlbFill.AT_MAP) {
      throw new CannotFoldException(
          """
          translations miss at first touch, at another step on each rank; use pe.mmu.fill: \
          at_map to fold\
          """);
    }
    long pages = Math.ceilDiv(bytes, mmu.pageBytes()) + 1;
    if (pages > mmu.entries()) {
      throw new CannotFoldException(
          String.format(
              Locale.ROOT,
              """
              the vector of %,d bytes takes up to %,d pages, and the TLB holds %,d: translations \
              miss at another step on each rank; use smaller vectors or more pe.mmu.entries\
              """,
              bytes,
              pages,
              mmu.entries()));
    }
  }

  /**
   * A sum of whole vectors over all ranks of a group, as its algorithm is asked. Nobody asks where
   * those of other ranks are: rank 0's stand for all.
   */
  public static CollectiveCall sum(Group group, DType dtype, int elements) {
    int ranks = group.size();
    List<Optional<Shard>> shards =
        Collections.nCopies(ranks, Optional.of(vector(group, 0, dtype, elements)));
    return new CollectiveCall(
        CollectiveOp.ALL_REDUCE,
        ReduceKind.SUM,
        dtype,
        -1,
        elements,
        Collections.nCopies(ranks, new Part(0, elements)),
        Splits.NONE,
        List.of(),
        shards,
        shards);
  }

  private static Shard vector(Group group, int rank, DType dtype, int elements) {
    return new Shard(
        "x", group.machine().addresses().hbm(group.lead(rank), 0), Shape.of(elements), dtype);
  }

  /** Package 0, which stood for all. */
  public Simulator simulator() {
    return simulator;
  }

  /** Its queues. */
  public QueueSet queues() {
    return queues;
  }

  /** The kernel, done. */
  public Launch launch() {
    return launch;
  }

  /** What was folded, by which shifts, and how it was checked. */
  public String note() {
    return note;
  }

  @Override
  public void close() {
    simulator.close();
  }
}
