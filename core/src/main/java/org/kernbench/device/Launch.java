package org.kernbench.device;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.log.LaunchLog;
import org.kernbench.machine.Pe;

/**
 * One kernel on a set of PEs, from the host's call to the last PE's completion. All PEs start at
 * one common time; {@code pe_exec} is counted from there to the completion of a PE's last command,
 * and the critical time of the launch is its maximum. The time before the common start is launch
 * overhead and never part of it.
 *
 * <p>It starts when, on each of its PEs, what was launched before on the same stream is done, and
 * the launches that it was told to come after are.
 */
public final class Launch {
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
  private List<Launch> followers = new ArrayList<>(0);

  long arrivalPs;

  /** What may be used again of it; null before it starts, and if nothing is used again. */
  @Nullable RememberedLaunch remembered;

  /** The launch whose end on a PE made it start at once; null if something else did. */
  @Nullable Launch startedBy;

  /** The index of that PE. */
  int startedByPe = -1;

  /** How many starts had been scheduled before its own. */
  int startNumber;

  Launch(LaunchRequest spec, Function<PePort, Runnable> program, long enqueuedPs) {
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
    for (Launch before : others) {
      if (!before.isDone()) {
        before.followers.add(this);
        notReady++;
      }
    }
  }

  /** The launches that came after this one, which is done; asked once. */
  List<Launch> takeFollowers() {
    List<Launch> taken = followers;
    followers = List.of();
    return taken;
  }

  LaunchRequest spec() {
    return spec;
  }

  /** The kernel's name. */
  public String name() {
    return spec.name();
  }

  /** Where it runs. */
  public List<Pe> pes() {
    return spec.pes();
  }

  /** Its number in the {@link LaunchLog}; -1 if it is not kept. */
  public int id() {
    return id;
  }

  /** Which of the PEs' program contexts it takes. */
  public int stream() {
    return spec.stream();
  }

  /** Whether every PE but one has completed. */
  boolean isLastPart() {
    return finished == count - 1;
  }

  /** Whether every PE has completed. */
  public boolean isDone() {
    return finished == count;
  }

  /** When the last PE was done and all messages were seen, in picoseconds. */
  long donePs() {
    return lastDonePs;
  }

  /** When the host called, in picoseconds. */
  public long enqueuedPs() {
    return enqueuedPs;
  }

  /** The common start of all PEs, in picoseconds; -1 before. */
  public long startPs() {
    return startPs;
  }

  /** From the common start to the last PE's completion, in picoseconds. */
  public long criticalPs() {
    return lastEndPs - startPs;
  }

  /**
   * When the last PE completed, in picoseconds. A command counts until the PE is done with it: a
   * send until its last byte has left and its channel is free, though the message is still under
   * way then and its row of the op log ends when the receiver sees it. A launch whose last command
   * is a send thus ends before that row does; who needs the message waits for it in the receiver's
   * program.
   */
  public long endPs() {
    return lastEndPs;
  }

  /**
   * The operation that ended last, in the sense of {@link #endPs}, an id of the op log; -1 if the
   * kernel issued none.
   */
  public int criticalOp() {
    return criticalOp;
  }

  /** Whether it has been called, kept in the log, and is not done. */
  boolean isUnderWay() {
    return !isDone() && id >= 0;
  }
}
