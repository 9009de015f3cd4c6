package org.kernbench.device.simulator;

import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.ReusableProgram;
import org.kernbench.device.reuse.Dependence;
import org.kernbench.device.reuse.LaunchMark;
import org.kernbench.device.reuse.MemoHost;
import org.kernbench.device.reuse.MemoLaunch;
import org.kernbench.device.reuse.MemoPe;
import org.kernbench.device.reuse.MemoQueues;

/** A launch as those see it who use again what came of launches. */
final class RememberedLaunch implements MemoLaunch {
  private final TimedExecutor executor;
  private final LaunchState launch;
  private final LaunchMark mark = new LaunchMark();
  private final List<TimedPe> pes;

  /** The queues that it was launched with; null if with none. */
  private final @Nullable MessageUnit queues;

  private @Nullable MemoQueues ends;

  /** The launch starts. */
  RememberedLaunch(TimedExecutor executor, LaunchState launch, @Nullable MessageUnit queues) {
    this.executor = executor;
    this.launch = launch;
    this.queues = queues;
    this.pes = launch.pes().stream().map(executor::pe).toList();
    launch.remembered = this;
  }

  private ProgramContext on(MemoPe pe) {
    return executor.pe(pe.index()).context(launch.stream());
  }

  @Override
  public LaunchMark mark() {
    return mark;
  }

  @Override
  public String name() {
    return launch.name();
  }

  @Override
  public int stream() {
    return launch.stream();
  }

  @Override
  public int id() {
    return launch.id;
  }

  @Override
  public List<TimedPe> pes() {
    return pes;
  }

  @Override
  public Optional<Dependence> dependsOn() {
    return launch.program() instanceof ReusableProgram p
        ? p.key().map(RememberedLaunch::dependence)
        : Optional.empty();
  }

  private static Dependence dependence(ReusableProgram.Key key) {
    return new Dependence(
        key.what(),
        key.memories().stream()
            .map(memory -> new Dependence.Memory(memory.at().value(), memory.bytes()))
            .toList());
  }

  @Override
  public @Nullable MemoQueues queues() {
    MessageUnit unit = queues;
    if (ends == null && unit != null) {
      Set<Integer> within = pes.stream().map(p -> p.index).collect(Collectors.toSet());
      List<QueueEnd> theirs = pes.stream().flatMap(p -> unit.ends(p.index).stream()).toList();
      ends = new Ends(unit, theirs, within, executor);
    }
    return ends;
  }

  /** The ends of the launch's queues on its PEs. */
  private record Ends(MessageUnit unit, List<QueueEnd> ends, Set<Integer> pes, MemoHost host)
      implements MemoQueues {
    @Override
    public Object set() {
      return unit;
    }

    @Override
    public boolean areAtRest() {
      long nowPs = host.nowPs();
      for (QueueEnd end : ends) {
        QueueEnd peer = end.peer();
        boolean isWithin = peer.isUsed() && pes.contains(peer.peIndex);
        if (!isWithin || end.station != null || peer.station != null || !end.isAtRest(nowPs)) {
          return false;
        }
      }
      return true;
    }
  }

  @Override
  public @Nullable MemoLaunch startedBy() {
    LaunchState by = launch.startedBy;
    return by == null ? null : by.remembered;
  }

  @Override
  public MemoPe startedByPe() {
    return executor.pe(launch.startedByPe);
  }

  @Override
  public int callNumber() {
    return launch.callNumber;
  }

  @Override
  public int startNumber() {
    return launch.startNumber;
  }

  @Override
  public boolean isLastPart() {
    return launch.isLastPart();
  }

  @Override
  public void startsAgain() {
    launch.startsAgain();
  }

  @Override
  public int rowOn(MemoPe pe) {
    return on(pe).launchRow;
  }

  @Override
  public boolean isLastCalledOn(MemoPe pe) {
    return on(pe).launches.isEmpty();
  }

  @Override
  public void replaysOn(MemoPe pe) {
    on(pe).replays(launch);
  }

  @Override
  public void hasReplayedOn(MemoPe pe, long endPs, int lastOp, long donePs, int lastSeen) {
    on(pe).hasReplayed(endPs, lastOp, donePs, lastSeen);
  }

  @Override
  public void startsAfterAllOn(MemoPe pe, int row, boolean wasTold) {
    on(pe).startAfterAll(launch, queues, row, wasTold);
  }
}
