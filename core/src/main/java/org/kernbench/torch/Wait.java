package org.kernbench.torch;

import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import org.kernbench.device.Launch;

/** What a rank has yielded for. */
interface Wait {
  /** Whether the rank may go on. */
  boolean isOver();

  /** The launches that end it when all are done; empty if it takes other ranks, or nothing. */
  List<Launch> ended();

  /**
   * Time has run, or all ranks have as far as they can: ends it if it can be. Whether it is over.
   */
  boolean settle();

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
    public List<Launch> ended() {
      return List.of(kernel);
    }

    @Override
    public boolean settle() {
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
}
