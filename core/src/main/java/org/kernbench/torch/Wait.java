package org.kernbench.torch;

import java.util.BitSet;
import java.util.Optional;
import java.util.function.Consumer;
import org.kernbench.device.Launch;

/** What a rank has yielded for. */
interface Wait {
  /** Whether the rank may go on. */
  boolean isOver();

  /**
   * Lets simulated time do what ends the wait; false if that depends on other ranks.
   *
   * @param drive lets time run until a launch is done
   */
  boolean advance(Consumer<Launch> drive);

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
    public boolean advance(Consumer<Launch> drive) {
      drive.accept(kernel);
      return true;
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
}
