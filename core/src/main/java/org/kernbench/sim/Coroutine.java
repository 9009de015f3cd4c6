package org.kernbench.sim;

import java.util.Optional;
import java.util.concurrent.locks.AbstractOwnableSynchronizer;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A thread of control that runs only while its owner waits for it: the two pass one baton, so that
 * exactly one of them runs at any time and the order is a function of the program alone.
 *
 * <p>It is a virtual thread. A hand-over costs a few hundred nanoseconds when the owner is a
 * virtual thread too and the scheduler has one carrier ({@code
 * -Djdk.virtualThreadScheduler.parallelism=1}, which the launcher sets), and works, slower,
 * anywhere else. The JDK's internal continuations would halve that and tie us to an internal API.
 */
public final class Coroutine {
  private final String name;
  private final Thread thread;
  private volatile boolean bodyRuns;
  private volatile boolean done;
  private boolean started;
  private boolean cancelled;
  private volatile boolean givenUp;
  private @Nullable Thread owner;
  private @Nullable Throwable failure;

  private Coroutine(String name, Runnable body) {
    this.name = name;
    this.thread = Thread.ofVirtual().name(name).unstarted(() -> runBody(body));
  }

  /** A coroutine that will run {@code body} from the first {@link #resume} on. */
  public static Coroutine of(String name, Runnable body) {
    return new Coroutine(name, body);
  }

  private void runBody(Runnable body) {
    try {
      if (!cancelled) {
        body.run();
      }
    } catch (Cancelled e) {
      // the owner asked for this; the stack is unwound
    } catch (Throwable t) {
      if (!givenUp) {
        failure = t;
      }
    }
    if (givenUp) {
      return; // nobody waits for it any more
    }
    done = true;
    bodyRuns = false;
    LockSupport.unpark(owner);
  }

  /**
   * Owner: lets the body run until it suspends or ends.
   *
   * @return false if the body has ended, now or earlier
   * @throws RuntimeException or Error whatever the body threw, once
   */
  public boolean resume() {
    if (done) {
      return false;
    }
    if (Thread.currentThread() == thread) {
      throw new IllegalStateException(name + " would wait for itself; this cannot be done in it");
    }
    owner = Thread.currentThread();
    bodyRuns = true;
    if (started) {
      LockSupport.unpark(thread);
    } else {
      started = true;
      thread.start();
    }
    while (bodyRuns) {
      LockSupport.park(this);
    }
    rethrow();
    return !done;
  }

  private void rethrow() {
    Throwable thrown = failure;
    failure = null;
    switch (thrown) {
      case null -> {}
      case RuntimeException e -> throw e;
      case Error e -> throw e;
      default -> throw new IllegalStateException("checked exception in coroutine " + name, thrown);
    }
  }

  /** Body: hands control back to the owner and returns when the owner resumes. */
  public void suspend() {
    if (Thread.currentThread() != thread) {
      throw new IllegalStateException(
          "coroutine " + name + " can only be suspended by its own body");
    }
    if (cancelled || givenUp) {
      throw new Cancelled(); // a finally block of a cancelled body has nobody left to wait for
    }
    bodyRuns = false;
    LockSupport.unpark(owner);
    while (!bodyRuns) {
      LockSupport.park(this);
    }
    if (cancelled) {
      throw new Cancelled();
    }
  }

  /**
   * Owner: ends the body at the point where it is suspended, running its {@code finally} blocks.
   * Does nothing when it has ended.
   */
  public void cancel() {
    cancelled = true;
    if (started) {
      resume();
    }
    done = true;
  }

  // ---- seen from another thread ----

  /** The innermost of the coroutines that a thread has resumed and waits for. */
  public static Optional<Coroutine> runBy(Thread owner) {
    Optional<Coroutine> found = Optional.empty();
    Thread thread = owner;
    for (int depth = 0; depth < 8; depth++) {
      if (!(LockSupport.getBlocker(thread) instanceof Coroutine c) || c.thread == thread) {
        break;
      }
      found = Optional.of(c);
      thread = c.thread;
    }
    return found;
  }

  /** Whether the body waits for a monitor or a lock. */
  public boolean waitsForLock() {
    return switch (thread.getState()) {
      case BLOCKED -> true;
      case WAITING -> LockSupport.getBlocker(thread) instanceof AbstractOwnableSynchronizer;
      case NEW, RUNNABLE, TIMED_WAITING, TERMINATED -> false;
    };
  }

  /**
   * Lets the owner go on with an error while the body is still waiting for something outside. The
   * body ends when it next comes here.
   */
  public void giveUp(RuntimeException why) {
    givenUp = true;
    failure = why;
    done = true;
    bodyRuns = false;
    LockSupport.unpark(owner);
  }

  /** Whether the body has ended. */
  public boolean isDone() {
    return done;
  }

  /** The name given at creation. */
  public String name() {
    return name;
  }

  /** The stack of the suspended body, for reports. */
  public StackTraceElement[] stackTrace() {
    return thread.getStackTrace();
  }

  /**
   * Unwinds a cancelled body; an {@link Error} so that model code does not catch it by accident.
   */
  private static final class Cancelled extends Error {
    private static final long serialVersionUID = 1L;

    Cancelled() {
      super("coroutine cancelled", null, false, false);
    }
  }
}
