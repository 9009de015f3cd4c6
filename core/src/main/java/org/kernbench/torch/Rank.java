package org.kernbench.torch;

import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Launch;
import org.kernbench.device.log.SourceLine;
import org.kernbench.sim.Coroutine;

/** A rank's body on its way: it runs until it waits, and goes on when it is resumed. */
final class Rank {
  private final int number;
  private final int worldSize;
  private final BooleanSupplier aborting;
  private final Coroutine coroutine;

  /** Where it waits, if its program is not Java. */
  private Optional<String> said = Optional.empty();

  private Supplier<String> part = () -> "";
  private @Nullable Wait wait;

  /** Launches that must be done before it may make more. */
  private Wait.ForRoom room = new Wait.ForRoom(List.of());

  private boolean ended;

  /**
   * A rank that has not begun.
   *
   * @param aborting whether another has failed, so that this one ends where it next waits
   */
  Rank(int number, int worldSize, Runnable body, BooleanSupplier aborting) {
    this.number = number;
    this.worldSize = worldSize;
    this.aborting = aborting;
    this.coroutine =
        Coroutine.of(
            "rank " + number,
            () -> {
              try {
                body.run();
              } catch (Aborted e) {
                // another rank has failed; this one only had to stop
              }
            });
  }

  int number() {
    return number;
  }

  int worldSize() {
    return worldSize;
  }

  // ---- the body's side ----

  /** Gives way until the wait is over. */
  void block(Wait on) {
    if (aborting.getAsBoolean()) {
      throw new Aborted();
    }
    wait = on;
    said = SourceLine.current();
    coroutine.suspend();
    wait = null;
  }

  // ---- the scheduler's side ----

  boolean isRunnable() {
    Wait w = waitingFor();
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

  /** For room first, then for what it has yielded for. */
  @Nullable Wait waitingFor() {
    return room.isOver() ? wait : room;
  }

  /** Lets it wait until launches are done, if it does not wait for others so already. */
  void waitForRoom(List<Launch> launches) {
    if (room.isOver()) {
      room = new Wait.ForRoom(launches);
    }
  }

  String place() {
    String part = part();
    String line = said.orElseGet(() -> CallSite.of(coroutine.stackTrace()));
    return line + (part.isEmpty() ? "" : ", in " + part);
  }

  /** The part of its model that it computes; empty if it has said none. */
  String part() {
    return part.get();
  }

  /** Says where to ask for that. */
  void within(Supplier<String> told) {
    part = told;
  }

  /** For example {@code rank 3} or {@code ranks 0-4, 7}. */
  static String named(BitSet set) {
    StringBuilder s = new StringBuilder(set.cardinality() == 1 ? "rank " : "ranks ");
    String separator = "";
    for (int from = set.nextSetBit(0); from >= 0; ) {
      int to = set.nextClearBit(from) - 1;
      s.append(separator).append(from).append(to > from ? "-" + to : "");
      separator = ", ";
      from = set.nextSetBit(to + 1);
    }
    return s.toString();
  }

  /** Unwinds a rank that goes on after another has failed. */
  private static final class Aborted extends Error {
    private static final long serialVersionUID = 1L;

    Aborted() {
      super("rank aborted because another failed", null, false, false);
    }
  }
}
