package org.kernbench.device.simulator;

import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.ValueTooLargeException;
import org.kernbench.device.log.Cause;
import org.kernbench.device.memory.TcmSpace;
import org.kernbench.machine.spec.CpuSpec;
import org.kernbench.machine.spec.IssuePolicy;

/**
 * The CPU of one PE: takes the commands of the program and issues them in order, each {@code
 * dispatch} after the last.
 *
 * <p>What holds it up raises its <em>barrier</em>, the time before which nothing more is issued,
 * and is remembered as the cause of what is issued then: a fence, room in TCM, the full command
 * window, a look at data, and, if the machine issues serially, the command before. The program runs
 * ahead of it, so a command may be pending here long before its time.
 */
final class IssueUnit {
  private final ProgramContext context;
  private final CpuSpec spec;
  private final long dispatchPs;
  private final boolean serial;

  // commands that are not issued, in program order
  private @Nullable Op pendingHead;
  private @Nullable Op pendingTail;

  /** The command that must be done before the next is issued, on a machine that issues serially. */
  private @Nullable Op serialBlocker;

  private long freePs;
  private long barrierPs;
  private Cause issueCause = Cause.KERNEL_START;
  private int issueCauseOp = -1;
  private Cause barrierCause = Cause.KERNEL_START;
  private int barrierOp = -1;

  private CommandWindow window;
  private int live;
  private int issuedLive;

  // the last command to be done, of those that are; a send is when its last byte has left
  private int lastDone = -1;
  private long lastDonePs;

  /** Messages that have left, and that their receivers do not see yet. */
  private int unseen;

  // the message that was seen last, of those that are
  private int lastSeen = -1;
  private long lastSeenPs;

  private final TcmSpace tcm;
  private boolean tcmStalled;

  /**
   * @param scheduler whether it issues for the tile scheduler: at its own rate and never serially
   */
  IssueUnit(ProgramContext context, TcmSpace tcm, boolean scheduler) {
    this.context = context;
    this.spec = context.world().machine.pe().cpu();
    this.dispatchPs = scheduler ? spec.schedulerDispatchPs() : spec.dispatchPs();
    this.serial = spec.issue() == IssuePolicy.SERIAL && !scheduler;
    this.window = new CommandWindow(spec.commandWindow());
    this.tcm = tcm;
  }

  /** A program starts. */
  void start(long nowPs) {
    window = new CommandWindow(spec.commandWindow());
    freePs = nowPs;
    barrierPs = nowPs;
    issueCause = Cause.KERNEL_START;
    issueCauseOp = -1;
    lastDone = -1;
    lastDonePs = nowPs;
    lastSeen = -1;
    lastSeenPs = nowPs;
  }

  // ---- from the program ----

  /** Whether the program must wait before its next command. */
  boolean isFull() {
    return window.isFull();
  }

  /** The program's next command, or fence. */
  void take(Op op) {
    live++;
    op.number = window.enter();
    Op tail = pendingTail;
    if (tail == null) {
      pendingHead = op;
    } else {
      tail.next = op;
    }
    pendingTail = op;
    pump();
  }

  /**
   * Whether all commands so far are issued and none holds up the next: the time of issue is known.
   */
  boolean isIdle() {
    return pendingHead == null && serialBlocker == null;
  }

  /** Whether all commands so far are complete, and all messages seen. */
  boolean isDrained() {
    return live == 0 && unseen == 0;
  }

  /** The message of those sent so far that its receiver saw last, -1 if none is. */
  int lastSeen() {
    return lastSeen;
  }

  /** When that was. */
  long lastSeenPs() {
    return lastSeenPs;
  }

  /** When the next command would be issued, but for its dispatch; to be asked when idle. */
  long clockPs() {
    return Math.max(Math.max(freePs, barrierPs), context.world().sim.nowPs());
  }

  /** Whether a program that found the window full goes on now. */
  boolean letsProgramGoOn() {
    if (window.isHalfFree()) {
      raiseBarrier(window.halfFreePs(), Cause.WINDOW, window.halfFreeOp());
      return true;
    }
    return tcmStalled; // what the program issues next may say that values are dead
  }

  /** Issues nothing before a time, because of {@code op}. */
  void raiseBarrier(long timePs, Cause cause, int op) {
    if (timePs > barrierPs) {
      barrierPs = timePs;
      barrierCause = cause;
      barrierOp = op;
    }
  }

  // ---- issue ----

  /** Issues what can be issued. */
  void pump() {
    while (pendingHead != null && serialBlocker == null) {
      Op op = pendingHead;
      boolean fence = op.kind == null && op.task == null;
      if (!(fence ? passFence(op) : issue(op))) {
        return;
      }
    }
    if (context.program.awaitsClock() && isIdle()) {
      context.world().wakeAt(context.world().sim.nowPs(), context);
    }
  }

  private boolean issue(Op op) {
    if (!reserveTcm(op)) {
      return false;
    }
    removePending();
    if (barrierPs > freePs) {
      freePs = barrierPs;
      issueCause = barrierCause;
      issueCauseOp = barrierOp;
    }
    freePs += dispatchPs;
    op.issuePs = freePs;
    op.issueCause = issueCause;
    op.issueCauseOp = issueCauseOp;
    issuedLive++;
    if (op.kind == null) {
      context.pe.scheduler().take(Objects.requireNonNull(op.task));
      return true;
    }
    if (serial && !op.async) {
      serialBlocker = op;
    }
    context.pe.enqueue(op);
    return true;
  }

  private void removePending() {
    Op op = pendingHead;
    if (op != null) {
      pendingHead = op.next;
      if (pendingHead == null) {
        pendingTail = null;
      }
    }
  }

  private boolean passFence(Op fence) {
    if (fence.readersOf != TimedRegister.NONE) {
      TimedRegister r = fence.readersOf;
      if (!r.ready || r.readers > 0) {
        return false;
      }
      raiseBarrier(r.lastReadPs, Cause.TCM_SPACE, r.lastReader);
    } else if (fence.a != TimedRegister.NONE) {
      if (!fence.a.ready) {
        return false;
      }
      raiseBarrier(fence.a.readyPs, Cause.FENCE, fence.a.producer);
      context.registers.finishedReading(fence.a, fence.a.producer, fence.a.readyPs);
    } else {
      if (issuedLive > 0) {
        return false;
      }
      raiseBarrier(lastDonePs, Cause.FENCE, lastDone);
    }
    removePending();
    live--;
    window.complete(fence.number, barrierPs, barrierOp);
    context.pe.pool.recycle(fence);
    return true;
  }

  private boolean reserveTcm(Op op) {
    long bytes = op.out.inTcm && !op.hasRoom ? op.out.bytes : 0;
    if (bytes == 0) {
      if (op.hasRoom) {
        op.out.hasRoom = true;
        context.registers.movedOn(op.c);
      }
      return true;
    }
    if (bytes > tcm.capacity()) {
      throw new ValueTooLargeException(
          """
          %s: a value of %s bytes%s does not fit TCM, which has %s bytes beside the \
          message slots; work on smaller tiles\
          """
              .formatted(
                  context.pe.pe, bytes, context.world().parts.atLine(op.line), tcm.capacity()),
          bytes,
          tcm.capacity());
    }
    long issuePs = Math.max(context.world().sim.nowPs(), Math.max(freePs, barrierPs));
    while (tcm.givesLater() && tcm.firstLaterPs() <= issuePs) {
      raiseBarrier(tcm.firstLaterPs(), Cause.TCM_SPACE, tcm.firstLaterOp());
      tcm.countFirstLater(context.world().sim.nowPs());
    }
    boolean wasStalled = tcmStalled;
    tcmStalled = !tcm.fits(bytes);
    tcm.waits(tcmStalled, wasStalled);
    if (!tcmStalled) {
      if (wasStalled) {
        // the room may have been counted as given by another program, or slots were uninstalled
        raiseBarrier(context.world().sim.nowPs(), Cause.TCM_SPACE, tcm.lastGivenBy());
      }
      int gift = tcm.heldUpBy(bytes, issuePs);
      if (gift >= 0) {
        raiseBarrier(tcm.givenPs(gift), Cause.TCM_SPACE, tcm.givenBy(gift));
      }
      tcm.take(bytes);
      op.out.hasRoom = true;
    } else if (tcm.givesLater()) {
      context.pe.tryTcmAt(tcm.firstLaterPs()); // unless a reader that ends before makes room
    }
    return !tcmStalled;
  }

  // ---- progress of what was issued ----

  /** A send has started: from then on it holds up nobody. */
  void sendStarted(Op op, long startPs) {
    if (serialBlocker == op) {
      unblock(op, startPs);
      pump();
    }
  }

  /**
   * A command leaves the window; call {@link #unblock} and {@link #pump} when its effects are
   * settled.
   */
  void retire(Op op, long endPs) {
    live--;
    issuedLive--;
    window.complete(op.number, endPs, op.id);
    if (endPs >= lastDonePs) {
      lastDone = op.id;
      lastDonePs = endPs;
    }
  }

  /** The last byte of a message leaves at {@code timePs}: like {@link #retire}. */
  void sendLeft(Op op, long timePs) {
    retire(op, timePs);
    unseen++;
  }

  /** A message that has left is visible to its receiver at {@code timePs}. */
  void sendSeen(Op op, long timePs) {
    unseen--;
    if (timePs >= lastSeenPs) {
      lastSeen = op.id;
      lastSeenPs = timePs;
    }
  }

  /** A task of the tile scheduler is done, with {@code lastOp}. */
  void retireTask(Op command, long endPs, int lastOp) {
    live--;
    issuedLive--;
    window.complete(command.number, endPs, lastOp);
    if (endPs >= lastDonePs) {
      lastDone = lastOp;
      lastDonePs = endPs;
    }
  }

  /** A command that is done at {@code timePs} no longer holds up the next. */
  void unblock(Op op, long timePs) {
    if (serialBlocker == op) {
      serialBlocker = null;
      raiseBarrier(timePs, Cause.SERIAL_ISSUE, op.id);
    }
  }

  /** Room in TCM is free from now on, because {@code op} is done with it. */
  void roomIsFree(long nowPs, int op) {
    if (tcmStalled) {
      raiseBarrier(nowPs, Cause.TCM_SPACE, op);
    }
  }

  /** Room in TCM may be free now. */
  void tcmGiven() {
    if (tcmStalled) {
      pump();
    }
  }

  /** The command that waits for room in TCM; null if none does. */
  @Nullable Op waitsForTcm() {
    return tcmStalled ? pendingHead : null;
  }
}
