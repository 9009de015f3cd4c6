package org.kernbench.ccl;

import java.util.List;
import java.util.OptionalLong;
import org.kernbench.torch.collective.CollectiveOp;

/**
 * What {@code algorithm: auto} took for a call, and what it took it from.
 *
 * @param op the operation
 * @param bytes of the call's vector; of an all-to-all what each rank sends
 * @param chosen name of the algorithm
 * @param basis what decided
 * @param candidates all algorithms of the configuration that can do the operation: the fastest by
 *     simulation first, then those that were not simulated, then those that refused
 */
public record AutoChoice(
    CollectiveOp op, long bytes, String chosen, Basis basis, List<Candidate> candidates) {
  /** Copies the list. */
  public AutoChoice {
    candidates = List.copyOf(candidates);
  }

  /** What decided. */
  public enum Basis {
    /** The table that the configuration names. */
    TABLE("table"),
    /** Simulations of the call alone. */
    SIMULATION("simulation"),
    /** A forecast: nothing could be simulated. */
    FORECAST("forecast"),
    /** There is no other. */
    ONLY("the only one");

    private final String word;

    Basis(String word) {
      this.word = word;
    }

    /** The word that outputs use. */
    public String word() {
      return word;
    }
  }

  /**
   * An algorithm.
   *
   * @param algorithm its name
   * @param forecastPs its forecast, picoseconds; empty without one that can be trusted
   * @param simulatedPs the time of the call alone, picoseconds; empty if it was not simulated
   * @param note why it was not simulated, or not taken; empty if the time says it
   */
  public record Candidate(
      String algorithm, OptionalLong forecastPs, OptionalLong simulatedPs, String note) {}
}
