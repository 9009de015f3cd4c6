package org.kernbench.device;

import java.util.ArrayDeque;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.log.LaunchLog;

/**
 * One of the programs that a PE runs at the same time: its thread, its CPU, its values, and the
 * launches that wait for it. Contexts of a PE share its engines, its TCM and its memories, and
 * nothing else.
 */
final class ProgramContext {
  final TimedPe pe;

  /** Dense over the machine. */
  final int index;

  /** Whose programs it runs; the tile scheduler's is the one after those of the launches. */
  final int stream;

  final ProgramThread program;
  final RegisterFile registers;
  final IssueUnit cpu;

  /** Launches that have not started. */
  final ArrayDeque<Launch> launches = new ArrayDeque<>();

  @Nullable Launch running;

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
    this.scheduler = scheduler;
    this.stream = stream;
    this.pe = pe;
    this.index = pe.index * pe.contexts().length + stream;
    this.cpu = new IssueUnit(this, pe.tcm, scheduler != null);
    this.program = new ProgramThread(this);
    this.registers = new RegisterFile(this);
    this.port = new TimedPort(this);
  }

  World world() {
    return pe.world;
  }

  boolean isIdle() {
    return running == null;
  }

  void start(Launch launch, @Nullable MessageUnit queuesOfLaunch) {
    long now = world().sim.nowPs();
    running = launch;
    queues = queuesOfLaunch;
    lastOp = -1;
    lastEndPs = now;
    cpu.start(now);
    program.start(launch.name() + "@" + pe.pe, launch.programOn(port));
  }

  /** A launch begins of which it is known what comes. */
  void replays(Launch launch) {
    running = launch;
    replaying = true;
  }

  /** It has come; see {@link #finishIfIdle}. */
  void hasReplayed(long endPs, int last, long donePs, int lastSeen) {
    Launch launch = Objects.requireNonNull(running);
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
      Launch launch, @Nullable MessageUnit queuesOfLaunch, int row, boolean wasTold) {
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

  /**
   * Ends the launch if the program has returned, its last command is done and its last message
   * seen, though the launch's own time counts a message only until it has left.
   */
  void finishIfIdle() {
    if (scheduler != null) {
      scheduler.programMayHaveEnded();
      return;
    }
    Launch launch = running;
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
  boolean leavesNothing(Launch launch) {
    RememberedLaunch r = launch.remembered;
    return (told && r != null && r.mark().isReplayed())
        ? r.mark().leftNothingOn(pe)
        : launches.isEmpty();
  }

  private void over(Launch launch, long endPs, int endOp, long donePs, int last) {
    running = null;
    queues = null;
    TimedExecutor executor = world().executor;
    executor.log.launches().doneThere(launchRow, donePs, last);
    boolean isLast = launch.finished(pe.index, endPs, endOp, donePs);
    RememberedLaunch r = launch.remembered;
    if (r != null) {
      r.mark().ended(r, pe, leavesNothing(launch), endPs, endOp, donePs, last, isLast);
    }
    if (told) {
      told = false;
      executor.wasTold(launch, pe);
    } else {
      executor.isIdle(this, launch, isLast);
    }
  }
}
