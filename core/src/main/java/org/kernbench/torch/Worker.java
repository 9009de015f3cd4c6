package org.kernbench.torch;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.kernbench.sim.Coroutine;

/**
 * One rank, as its body sees it. Bodies run one at a time and give way only where they wait: for a
 * kernel, a host read, a collective, a barrier.
 */
public final class Worker {
  private final Scheduler scheduler;
  private final int rank;
  private final Torch torch;
  private final Coroutine coroutine;
  private @Nullable Wait wait;
  private boolean ended;

  Worker(Scheduler scheduler, int rank, Torch torch, Consumer<Worker> body) {
    this.scheduler = scheduler;
    this.rank = rank;
    this.torch = torch;
    this.coroutine =
        Coroutine.of(
            "rank " + rank,
            () -> {
              try {
                body.accept(this);
              } catch (Aborted e) {
                // another rank has failed; this one only had to stop
              }
            });
  }

  /** Number of this rank, 0 to {@link #worldSize} less one. */
  public int rank() {
    return rank;
  }

  /** How many ranks were spawned. */
  public int worldSize() {
    return scheduler.worldSize();
  }

  /**
   * The runtime; tensors lie on the device of this rank unless {@link Ahbm#setDevice} says else.
   */
  public Torch torch() {
    return torch;
  }

  /** What this rank does together with others. */
  public Distributed distributed() {
    return torch.distributed();
  }

  // ---- the rank's side ----

  /** Gives way until the wait is over. */
  void block(Wait on) {
    if (scheduler.isAborting()) {
      throw new Aborted();
    }
    wait = on;
    coroutine.suspend();
    wait = null;
  }

  // ---- the scheduler's side ----

  boolean isRunnable() {
    Wait w = wait;
    return !ended && (w == null || w.isOver());
  }

  boolean isEnded() {
    return ended;
  }

  /** Runs the body to its next yield or its end; throws what it throws. */
  void resume() {
    try {
      if (!coroutine.resume()) {
        ended = true;
      }
    } catch (RuntimeException | Error e) {
      ended = true;
      throw e;
    }
  }

  /** Ends the body where it waits. */
  void abort() {
    ended = true;
    coroutine.cancel();
  }

  @Nullable Wait waitingFor() {
    return wait;
  }

  String place() {
    return CallSite.of(coroutine.stackTrace());
  }

  /** Unwinds a rank that goes on after another has failed. */
  private static final class Aborted extends Error {
    private static final long serialVersionUID = 1L;

    Aborted() {
      super("rank aborted because another failed", null, false, false);
    }
  }
}
