package org.kernbench.torch;

import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import org.kernbench.device.Launch;

/** What a rank has yielded for. */
interface Wait {
  /** Whether the rank may go on. */
  boolean isOver();

  /**
   * A launch that is not done and must be before it is over; empty if that takes other ranks, or
   * nothing.
   */
  Optional<Launch> awaits();

  /** Ends it if nothing is missing any more; returns whether it is over. */
  boolean endIfDone();

  /** The device's part of what is waited for; empty if there is none, or none yet. */
  Optional<Launch> launch();

  /** Global numbers of the ranks that must act first; empty if only time has to pass. */
  BitSet missing();

  /** What a rank in it waits for, for reports. */
  String describe();

  /** For a kernel. */
  record ForKernel(Launch kernel) implements Wait {
    @Override
    public boolean isOver() {
      return kernel.isDone();
    }

    @Override
    public Optional<Launch> awaits() {
      return Optional.of(kernel).filter(launch -> !launch.isDone());
    }

    @Override
    public boolean endIfDone() {
      return isOver();
    }

    @Override
    public Optional<Launch> launch() {
      return Optional.of(kernel);
    }

    @Override
    public BitSet missing() {
      return new BitSet();
    }

    @Override
    public String describe() {
      return "await of kernel " + kernel.name();
    }
  }

  /** For room for more launches. */
  record ForRoom(List<Launch> before) implements Wait {
    @Override
    public boolean isOver() {
      return awaits().isEmpty();
    }

    @Override
    public Optional<Launch> awaits() {
      return before.stream().filter(launch -> !launch.isDone()).findFirst();
    }

    @Override
    public boolean endIfDone() {
      return isOver();
    }

    @Override
    public Optional<Launch> launch() {
      return Optional.empty();
    }

    @Override
    public BitSet missing() {
      return new BitSet();
    }

    @Override
    public String describe() {
      return "room for more launches, of which too many are under way";
    }
  }
}
