package org.kernbench.device;

import java.util.ArrayDeque;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.log.LaunchLog;
import org.kernbench.device.reuse.MemoLaunch;

/**
 * One of the programs that a PE runs at the same time: its thread, its CPU, its values, and the
 * launches that wait for it. Contexts of a PE share its engines, its TCM and its memories, and
 * nothing else.
 */
final class ProgramContext extends Issuer {
  /** Is told which launches have ended on a PE. */
  interface Launches {
    /**
     * A context has ended its part of a launch and may start the next.
     *
     * @param isDone whether that was the last part
     */
    void isIdle(ProgramContext context, LaunchState ended, boolean isDone);

    /** A PE has ended its part of a launch again, of which all others have been told before. */
    void wasTold(LaunchState ended, TimedPe pe);
  }

  final TimedPe pe;

  final ProgramThread program;
  final RegisterFile registers;
  final IssueUnit cpu;

  /** Launches that have not started. */
  final ArrayDeque<LaunchState> launches = new ArrayDeque<>();

  /** Of the running launch or, between two, the one before, in the {@link LaunchLog}. */
  int launchRow = LaunchLog.NONE;

  /** The queues of the running launch; null if it has none. */
  @Nullable MessageUnit queues;

  /** Whether the running launch is replayed: nothing of it happens here before its end. */
  private boolean replaying;

  /**
   * Whether others have been told that the running launch is over, which is simulated after all.
   */
  private boolean told;

  final TimedPort port;

  // the last operation to end, of those that have; a send ends when its channel is free
  private int lastOp = -1;
  private long lastEndPs;

  /** The scheduler that this context issues for; null for the context of a stream. */
  final @Nullable TileScheduler scheduler;

  ProgramContext(TimedPe pe, int stream, @Nullable TileScheduler scheduler) {
    super(pe.index * pe.contexts().length + stream, pe.place, stream, scheduler != null);
    this.scheduler = scheduler;
    this.pe = pe;
    this.cpu = new IssueUnit(this, pe.tcm, scheduler != null);
    this.program = new ProgramThread(this);
    this.registers = new RegisterFile(this);
    this.port = new TimedPort(this);
  }

  World world() {
    return pe.world;
  }

  @Override
  PePort port() {
    return port;
  }

  @Override
  void timeHasCome() {
    program.timeHasCome();
  }

  boolean isIdle() {
    return running == null;
  }

  void start(LaunchState launch, @Nullable MessageUnit queuesOfLaunch) {
    long now = world().sim.nowPs();
    running = launch;
    queues = queuesOfLaunch;
    lastOp = -1;
    lastEndPs = now;
    cpu.start(now);
    program.start(launch.name() + "@" + pe.pe, launch.programOn(port));
  }

  /** A launch begins of which it is known what comes. */
  void replays(LaunchState launch) {
    running = launch;
    replaying = true;
  }

  /** It has come; see {@link #finishIfIdle}. */
  void hasReplayed(long endPs, int last, long donePs, int lastSeen) {
    LaunchState launch = Objects.requireNonNull(running);
    replaying = false;
    over(launch, endPs, last, donePs, lastSeen);
  }

  /**
   * What was to be replayed is simulated, from the start of the launch.
   *
   * @param row of the launch, in the {@link LaunchLog}
   * @param wasTold whether it was over here, and everybody has been told so
   */
  void startAfterAll(
      LaunchState launch, @Nullable MessageUnit queuesOfLaunch, int row, boolean wasTold) {
    replaying = false;
    told = wasTold;
    launchRow = row;
    start(launch, queuesOfLaunch);
  }

  /** Whether the next entry of the tape is a command for which the window has no room. */
  boolean isHeldUpByWindow() {
    return port.isHeldUpByWindow();
  }

  /** The CPU takes the next entry of the tape. */
  void takeFromTape() {
    port.take();
  }

  /** An operation of this program has ended, or will for certain, at {@code timePs}. */
  void ended(int op, long timePs) {
    if (timePs >= lastEndPs) {
      lastOp = op;
      lastEndPs = timePs;
    }
  }

  @Override
  void isDone(ScheduledTask task) {
    for (TimedRegister r : task.reads) {
      r.keepers--;
      registers.finishedReading(r, task.lastOp(), task.endPs());
    }
    TimedRegister token = task.command.out;
    token.produced(task.lastOp(), task.endPs());
    ended(task.lastOp(), task.endPs());
    cpu.retireTask(task.command, task.endPs(), task.lastOp());
    pe.pool.recycle(task.command);
    cpu.pump();
    program.completed(token);
  }

  /**
   * Ends the launch if the program has returned, its last command is done and its last message
   * seen, though the launch's own time counts a message only until it has left.
   */
  void finishIfIdle() {
    if (scheduler != null) {
      scheduler.programMayHaveEnded();
      return;
    }
    LaunchState launch = running;
    if (launch == null || replaying || !program.hasEnded() || !cpu.isDrained()) {
      return;
    }
    long donePs = Math.max(Math.max(lastEndPs, cpu.lastSeenPs()), program.endedPs());
    final World world = world();
    if (donePs > world.sim.nowPs() && !world.sim.isApart()) {
      world.wakeAt(donePs, this);
    } else { // if packages run apart, it may be later here than there
      program.forget();
      int last = lastEndPs < cpu.lastSeenPs() ? cpu.lastSeen() : lastOp;
      over(launch, lastEndPs, lastOp, donePs, last);
    }
  }

  /**
   * Whether the end of a launch here leaves its stream without any, or did when others were told.
   */
  boolean leavesNothing(LaunchState launch) {
    MemoLaunch r = launch.remembered;
    return (told && r != null && r.mark().isReplayed())
        ? r.mark().leftNothingOn(pe)
        : launches.isEmpty();
  }

  private void over(LaunchState launch, long endPs, int endOp, long donePs, int last) {
    running = null;
    queues = null;
    world().parts.log.launches().doneThere(launchRow, donePs, last);
    boolean isLast = launch.finished(pe.index, endPs, endOp, donePs);
    MemoLaunch r = launch.remembered;
    if (r != null) {
      r.mark().ended(r, pe, leavesNothing(launch), endPs, endOp, donePs, last, isLast);
    }
    if (told) {
      told = false;
      pe.launcher.wasTold(launch, pe);
    } else {
      pe.launcher.isIdle(this, launch, isLast);
    }
  }
}
