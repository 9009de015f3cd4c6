package org.kernbench.device.simulator;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Launch;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.PePort;
import org.kernbench.device.log.LaunchLog;
import org.kernbench.device.reuse.MemoLaunch;
import org.kernbench.machine.Pe;

/** What the machine keeps of a launch. */
final class LaunchState implements Launch {
  private final LaunchRequest spec;
  private final Function<PePort, Runnable> program;
  private final long enqueuedPs;

  int id = LaunchLog.NONE;

  private long startPs = -1;
  private long lastEndPs;
  private int criticalOp = -1;
  private int criticalPe = -1;
  private final int count;
  private int finished;
  private long lastDonePs;

  /**
   * PEs that have not yet reached this launch in their queues, and launches that it comes after.
   */
  int notReady;

  /** Launches that come after this one. */
  private List<LaunchState> followers = new ArrayList<>(0);

  long arrivalPs;

  /** What may be used again of it; null before it starts, and if nothing is used again. */
  @Nullable MemoLaunch remembered;

  /** The launch whose end on a PE made it start at once; null if something else did. */
  @Nullable LaunchState startedBy;

  /** The index of that PE. */
  int startedByPe = -1;

  /** How many launches had been called before it. */
  final int callNumber;

  /** How many starts had been scheduled before its own. */
  int startNumber;

  LaunchState(
      LaunchRequest spec, Function<PePort, Runnable> program, int callNumber, long enqueuedPs) {
    this.callNumber = callNumber;
    this.spec = spec.after(List.of()); // the others would keep all that came before them
    this.count = spec.pes().size();
    this.program = program;
    this.enqueuedPs = enqueuedPs;
  }

  Runnable programOn(PePort port) {
    return program.apply(port);
  }

  Function<PePort, Runnable> program() {
    return program;
  }

  /** It is simulated from its start, whatever was said of its end. */
  void startsAgain() {
    lastEndPs = startPs;
    criticalOp = -1;
    criticalPe = -1;
    finished = 0;
    lastDonePs = 0;
  }

  void started(long nowPs) {
    startPs = nowPs;
    lastEndPs = nowPs;
  }

  /**
   * A PE is done with its program.
   *
   * @param endPs when its last command was, in the sense of {@link #endPs}
   * @param donePs when all of its messages were seen as well
   * @return whether it is the last: told once, whatever threads PEs end on
   */
  synchronized boolean finished(int peIndex, long endPs, int lastOp, long donePs) {
    finished++;
    lastDonePs = Math.max(lastDonePs, donePs);
    if (criticalPe < 0 || endPs > lastEndPs) {
      lastEndPs = endPs;
      criticalOp = lastOp;
      criticalPe = peIndex;
    }
    return isDone();
  }

  /** Waits for the launches that this one comes after, and counts itself among their followers. */
  void follow(List<Launch> others) {
    for (Launch other : others) {
      LaunchState before = (LaunchState) other;
      if (!before.isDone()) {
        before.followers.add(this);
        notReady++;
      }
    }
  }

  /** The launches that came after this one, which is done; asked once. */
  List<LaunchState> takeFollowers() {
    List<LaunchState> taken = followers;
    followers = List.of();
    return taken;
  }

  LaunchRequest spec() {
    return spec;
  }

  @Override
  public String name() {
    return spec.name();
  }

  @Override
  public List<Pe> pes() {
    return spec.pes();
  }

  @Override
  public int id() {
    return id;
  }

  @Override
  public int stream() {
    return spec.stream();
  }

  /** Whether every PE but one has completed. */
  boolean isLastPart() {
    return finished == count - 1;
  }

  @Override
  public boolean isDone() {
    return finished == count;
  }

  /** When the last PE was done and all messages were seen, in picoseconds. */
  long donePs() {
    return lastDonePs;
  }

  @Override
  public long enqueuedPs() {
    return enqueuedPs;
  }

  @Override
  public long startPs() {
    return startPs;
  }

  @Override
  public long criticalPs() {
    return lastEndPs - startPs;
  }

  @Override
  public long endPs() {
    return lastEndPs;
  }

  @Override
  public int criticalOp() {
    return criticalOp;
  }

  /** Whether it has been called, kept in the log, and is not done. */
  boolean isUnderWay() {
    return !isDone() && id >= 0;
  }
}
