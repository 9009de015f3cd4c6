package org.kernbench.device;

import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.kernbench.sim.Coroutine;

/**
 * The thread of control of a PE's program. It runs ahead of simulated time: what it says goes on a
 * {@link CommandTape}, from which the CPU takes it. The program waits when its command window is
 * full, when it looks at a value that does not exist yet, and when it asks for the time while
 * commands wait to be issued; the thread is switched to only for the last two, and when the tape is
 * used up. A program in {@link Steps} has no thread: it is asked for its next step when the tape is
 * used up.
 */
final class ProgramThread {
  private enum Suspension {
    NONE,
    WINDOW,
    LOOK,
    CLOCK,
    MESSAGE
  }

  private final ProgramContext context;
  private final @Nullable RunWatch watch;
  final CommandTape tape;
  private @Nullable Coroutine coroutine;
  private @Nullable Steps steps;
  private boolean saidAll;

  /** What it said last has ended in an error: it says no more. */
  private boolean failed;

  private boolean ended;
  private long endedPs;
  private Suspension suspension = Suspension.NONE;
  private TimedRegister lookedAt = TimedRegister.NONE;
  private int lookLine;

  /** Queues of which any will do, and from when on the program looks at them. */
  private List<QueueEnd> selected = List.of();

  private long selectPs;

  ProgramThread(ProgramContext context) {
    this.context = context;
    this.watch = context.world().parts.shown;
    this.tape = new CommandTape(context.world().parts.tapeSize);
  }

  // ---- life ----

  /** Runs a program until it waits or ends. */
  void start(String name, Runnable body) {
    ended = false;
    saidAll = false;
    failed = false;
    tape.clear();
    steps = body instanceof Steps inSteps ? inSteps : null;
    coroutine =
        steps != null
            ? null
            : Coroutine.of(
                name,
                () -> {
                  body.run();
                  saidAll = true;
                });
    goOn(false);
  }

  /**
   * Takes what is on the tape and lets the program say more, until it waits or ends.
   *
   * @param letIn whether the first command enters the window though that may be full
   */
  private void goOn(boolean letIn) {
    suspension = Suspension.NONE;
    boolean force = letIn;
    while (suspension == Suspension.NONE && !ended && !failed) {
      if (tape.isEmpty()) {
        sayMore();
      } else if (!force && context.isHeldUpByWindow()) {
        suspension = Suspension.WINDOW;
      } else {
        force &= tape.entry() == CommandTape.Entry.RELEASE;
        context.takeFromTape();
      }
    }
    context.finishIfIdle();
  }

  private void sayMore() {
    Steps inSteps = steps;
    failed = true; // unless it comes back
    if (saidAll) {
      ended = true;
      endedPs = context.world().sim.nowPs();
      context.registers.releaseAll();
    } else if (inSteps != null) {
      saidAll = !inSteps.next();
    } else {
      resume();
    }
    failed = false;
  }

  private void resume() {
    if (watch == null) {
      coroutine().resume();
      return;
    }
    watch.begins(context.pe.place, coroutine());
    try {
      coroutine().resume();
    } finally {
      watch.ends(context.pe.place);
    }
  }

  /** Whether it has returned and all is taken; its last commands may still be under way. */
  boolean hasEnded() {
    return ended;
  }

  /** When that was. */
  long endedPs() {
    return endedPs;
  }

  /** Forgets a program that has ended. */
  void forget() {
    coroutine = null;
    steps = null;
  }

  /** Gives up a program that is suspended. */
  void cancel() {
    if (coroutine != null) {
      coroutine.cancel();
    }
  }

  private Coroutine coroutine() {
    return Objects.requireNonNull(coroutine, "no program runs");
  }

  // ---- the program waits ----

  /** Whether it has a thread of its own, and may be anywhere in what it does. */
  boolean hasThread() {
    return coroutine != null;
  }

  /** Whether it cannot, because it has no thread. */
  boolean isInSteps() {
    return steps != null;
  }

  /** Makes room on the tape for one more entry; for a step, which cannot wait, it grows. */
  void makeRoomOnTape() {
    if (watch != null && !isInSteps()) { // one in steps never has control for long
      watch.said(context.pe.place);
    }
    if (tape.isFull() && !isInSteps()) {
      emptyTape();
    }
  }

  /** Waits until the CPU has taken all that was said so far. */
  void emptyTape() {
    while (!tape.isEmpty()) {
      coroutine().suspend();
    }
  }

  /** Waits until all commands so far are issued. */
  void awaitClock() {
    suspend(Suspension.CLOCK);
  }

  /** Waits until a value exists, if it does not yet. */
  void awaitValue(TimedRegister register, int line) {
    if (register.ready && register.readyPs <= context.world().sim.nowPs()) {
      return;
    }
    lookedAt = register;
    lookLine = line;
    if (register.ready) {
      context.world().wakeAt(register.readyPs, context);
    }
    suspend(Suspension.LOOK);
    lookedAt = TimedRegister.NONE;
  }

  /** Waits until one of these queues has a message that nobody has asked for. */
  void awaitMessage(List<QueueEnd> ends, long fromPs, int line) {
    selected = ends;
    selectPs = fromPs;
    lookLine = line;
    long next = QueueEnd.NEVER;
    for (QueueEnd end : ends) {
      end.selecting = context;
      next = Math.min(next, end.unaskedPs());
    }
    if (!messageIsThere()) {
      if (next != QueueEnd.NEVER) {
        context.world().wakeAt(Math.max(fromPs, next), context);
      }
      suspend(Suspension.MESSAGE);
    }
    ends.forEach(end -> end.selecting = null);
    selected = List.of();
  }

  private boolean messageIsThere() {
    long now = context.world().sim.nowPs();
    if (now < selectPs) {
      return false;
    }
    for (QueueEnd end : selected) {
      if (end.unaskedPs() <= now) {
        return true;
      }
    }
    return false;
  }

  private void suspend(Suspension why) {
    suspension = why;
    coroutine().suspend();
  }

  // ---- and goes on ----

  /** A command is complete, or its completion certain, which makes {@code out}. */
  void completed(TimedRegister out) {
    switch (suspension) {
      case NONE -> context.finishIfIdle();
      case WINDOW -> {
        if (context.cpu.letsProgramGoOn()) {
          goOn(true);
        }
      }
      case LOOK -> {
        if (lookedAt == out) {
          context.world().wakeAt(out.readyPs, context);
        }
      }
      case CLOCK, MESSAGE -> {}
    }
  }

  /** The time that the suspended program, or the end of the kernel, waits for has come. */
  void timeHasCome() {
    switch (suspension) {
      case LOOK -> {
        if (lookedAt.ready && lookedAt.readyPs <= context.world().sim.nowPs()) {
          goOn(false);
        }
      }
      case CLOCK -> {
        if (context.cpu.isIdle()) {
          goOn(false);
        }
      }
      case MESSAGE -> {
        if (messageIsThere()) {
          goOn(false);
        } else {
          lookAgain();
        }
      }
      case NONE -> context.finishIfIdle();
      case WINDOW -> {}
    }
  }

  /** A message was there before the program looked: it is seen when the program does. */
  private void lookAgain() {
    long next = QueueEnd.NEVER;
    for (QueueEnd end : selected) {
      next = Math.min(next, end.unaskedPs());
    }
    long at = Math.max(selectPs, next);
    if (next != QueueEnd.NEVER && at > context.world().sim.nowPs()) {
      context.world().wakeAt(at, context);
    }
  }

  boolean awaitsClock() {
    return suspension == Suspension.CLOCK;
  }

  boolean looks() {
    return suspension == Suspension.LOOK;
  }

  /** The queues that the program waits for any of; empty if it does not. */
  List<QueueEnd> selects() {
    return suspension == Suspension.MESSAGE ? selected : List.of();
  }

  /** The source line of the look that waits. */
  int lookLine() {
    return lookLine;
  }
}
