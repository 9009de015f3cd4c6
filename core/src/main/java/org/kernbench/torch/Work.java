package org.kernbench.torch;

import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Launch;
import org.kernbench.machine.SimulationException;

/**
 * An operation of a process group that was called with {@code async} ({@code Work} in PyTorch). It
 * runs beside the kernels that the rank launches meanwhile. Until {@link #await}, neither kernels
 * nor the host may touch the tensors that it writes.
 */
public final class Work {
  private final Wait wait;
  private final Session session;
  private final int rank;
  private final Object what;
  private final String place;
  private final List<Tensor> held;
  private final @Nullable Tensor result;
  private boolean awaited;
  private boolean asked;

  Work(
      Session session,
      int rank,
      Wait wait,
      Object what,
      String place,
      List<Tensor> held,
      @Nullable Tensor result) {
    this.session = session;
    this.rank = rank;
    this.wait = wait;
    this.what = what;
    this.place = place;
    this.held = held;
    this.result = result;
  }

  /**
   * Orders the rank after the operation ({@code wait} in PyTorch): it gives way until all the other
   * ranks have called as well; then what it launches next on the operation's tensors starts when
   * the operation is done, and the host's reads wait for it. Time does not pass here. Does nothing
   * the second time.
   */
  public void await() {
    if (awaited) {
      return;
    }
    Rank caller = caller("await");
    if (!wait.isOver()) {
      caller.block(wait);
    }
    awaited = true;
    session.end(this);
  }

  /**
   * Whether the device has done it ({@code is_completed}). The first question is answered at once;
   * a rank that asks again gives way to the others and to time, so that a loop of questions ends.
   */
  public boolean isCompleted() {
    if (!isDone() && asked) {
      caller("isCompleted").block(new Poll(this));
    }
    asked = true;
    return isDone();
  }

  private boolean isDone() {
    return wait.isOver() && launch().map(Launch::isDone).orElse(true);
  }

  /** What the device does; empty before all ranks have called, or if there is nothing to do. */
  public Optional<Launch> launch() {
    return wait.launch();
  }

  private Rank caller(String method) {
    Rank caller = session.current();
    if (caller == null || caller.number() != rank) {
      throw new SimulationException(
          """
          %s of %s, which belongs to rank %s, by %s; each rank waits for its own work\
          """
              .formatted(
                  method,
                  what,
                  rank,
                  caller == null ? "the host program" : "rank " + caller.number()));
    }
    return caller;
  }

  /** Tensors that must stay where they are until the rank has waited. */
  List<Tensor> held() {
    return held;
  }

  /** The tensor that it writes; null if there is none. */
  @Nullable Tensor result() {
    return result;
  }

  /** For example {@code allReduce #3 of group world: f32[8], SUM (async, at Train.java:12)}. */
  @Override
  public String toString() {
    return what + " (async, at " + place + ")";
  }

  /**
   * A rank has asked again whether an operation is complete. It gets its answer when the other
   * ranks have run as far as they can and time has moved, so that a loop of questions ends.
   */
  static final class Poll implements Wait {
    private final Work work;
    private boolean over;

    private Poll(Work work) {
      this.work = work;
    }

    @Override
    public boolean isOver() {
      return over;
    }

    @Override
    public Optional<Launch> awaits() {
      return work.wait.isOver() ? work.launch().filter(l -> !l.isDone()) : Optional.empty();
    }

    @Override
    public boolean endIfDone() {
      over |= work.isDone();
      return over;
    }

    @Override
    public Optional<Launch> launch() {
      return work.launch();
    }

    /** Something else has moved: the answer may be no. */
    void end() {
      over = true;
    }

    @Override
    public BitSet missing() {
      return new BitSet();
    }

    @Override
    public String describe() {
      return "isCompleted of " + work.wait.describe();
    }
  }
}
