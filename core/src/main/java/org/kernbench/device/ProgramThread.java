package org.kernbench.device;

import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.kernbench.sim.Coroutine;

/**
 * The thread of control of a PE's program. It runs ahead of simulated time and is suspended only
 * when its command window is full, when it looks at a value that does not exist yet, and when it
 * asks for the time while commands wait to be issued.
 */
final class ProgramThread {
  private enum Suspension {
    NONE,
    WINDOW,
    LOOK,
    CLOCK
  }

  private final TimedExecutor world;
  private final ProgramContext context;
  private @Nullable Coroutine coroutine;
  private boolean ended;
  private Suspension suspension = Suspension.NONE;
  private Register lookedAt = Register.NONE;
  private int lookLine;

  ProgramThread(ProgramContext context) {
    this.world = context.world;
    this.context = context;
  }

  // ---- life ----

  /** Runs a program until it is suspended or ends. */
  void start(String name, Runnable body) {
    ended = false;
    coroutine =
        Coroutine.of(
            name,
            () -> {
              body.run();
              ended = true;
            });
    resume();
  }

  private void resume() {
    suspension = Suspension.NONE;
    coroutine().resume();
    if (ended) {
      context.registers.releaseAll();
    }
    context.finishIfIdle();
  }

  /** Whether it has returned; its last commands may still be under way. */
  boolean hasEnded() {
    return ended;
  }

  /** Forgets a program that has ended. */
  void forget() {
    coroutine = null;
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

  /** Waits for room in the command window. */
  void awaitWindow() {
    suspend(Suspension.WINDOW);
  }

  /** Waits until all commands so far are issued. */
  void awaitClock() {
    suspend(Suspension.CLOCK);
  }

  /** Waits until a value exists, if it does not yet. */
  void awaitValue(Register register, int line) {
    if (register.ready && register.readyPs <= world.sim.nowPs()) {
      return;
    }
    lookedAt = register;
    lookLine = line;
    if (register.ready) {
      world.wakeAt(register.readyPs, context);
    }
    suspend(Suspension.LOOK);
    lookedAt = Register.NONE;
  }

  private void suspend(Suspension why) {
    suspension = why;
    coroutine().suspend();
  }

  // ---- and goes on ----

  /** A command is complete, or its completion certain, which makes {@code out}. */
  void completed(Register out) {
    switch (suspension) {
      case NONE -> context.finishIfIdle();
      case WINDOW -> {
        if (context.cpu.letsProgramGoOn()) {
          resume();
        }
      }
      case LOOK -> {
        if (lookedAt == out) {
          world.wakeAt(out.readyPs, context);
        }
      }
      case CLOCK -> {}
    }
  }

  /** The time that the suspended program, or the end of the kernel, waits for has come. */
  void timeHasCome() {
    switch (suspension) {
      case LOOK -> {
        if (lookedAt.ready && lookedAt.readyPs <= world.sim.nowPs()) {
          resume();
        }
      }
      case CLOCK -> {
        if (context.cpu.isIdle()) {
          resume();
        }
      }
      case NONE -> context.finishIfIdle();
      case WINDOW -> {}
    }
  }

  boolean awaitsClock() {
    return suspension == Suspension.CLOCK;
  }

  boolean looks() {
    return suspension == Suspension.LOOK;
  }

  /** The source line of the look that waits. */
  int lookLine() {
    return lookLine;
  }
}
