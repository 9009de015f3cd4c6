package org.kernbench.torch;

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
  final Wait wait;
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
    Worker worker = worker("await");
    if (!wait.isOver()) {
      worker.block(wait);
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
      worker("isCompleted").block(new PollWait(this));
    }
    asked = true;
    return isDone();
  }

  private boolean isDone() {
    return wait.isOver() && launch().map(Launch::isDone).orElse(true);
  }

  /** What the device does; empty before all ranks have called, or if there is nothing to do. */
  public Optional<Launch> launch() {
    return Optional.ofNullable(
        switch (wait) {
          case Rendezvous meeting -> meeting.launch();
          case Post post -> post.launch();
          case LaunchWait launched -> launched.launch();
          case PollWait poll -> throw new IllegalStateException("work of a poll");
        });
  }

  private Worker worker(String method) {
    Worker worker = session.current();
    if (worker == null || worker.rank() != rank) {
      throw new SimulationException(
          """
          %s of %s, which belongs to rank %s, by %s; each rank waits for its own work\
          """
              .formatted(
                  method,
                  what,
                  rank,
                  worker == null ? "the host program" : "rank " + worker.rank()));
    }
    return worker;
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
}
