package org.kernbench.ccl.conformance;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.ccl.AlgorithmConfig;
import org.kernbench.ccl.CollectiveAlgorithm;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.ccl.Schedule;
import org.kernbench.config.UsageException;
import org.kernbench.machine.Machine;

/**
 * Does an algorithm do what it says, everywhere? Runs it over group sizes, shapes, vector lengths,
 * types, operations, sub-groups and slot memories, and checks every run ({@link CollectiveTrial}):
 * values, the same bits everywhere, bytes on the wire, time against the lower bound, no deadlock;
 * that nothing moves where nothing has to; the slots that it needs, and the forecasts that claim to
 * be exact.
 *
 * <p>An algorithm may refuse a group by a {@link CollectiveException} with the reason. That is no
 * failure, but it is counted, and one that refuses everything does not pass.
 */
public final class Conformance {
  /** How much is run. */
  public enum Extent {
    /** A few lengths of every group, types and so on drawn by the seed: a second or two. */
    FAST,
    /** Everything that is listed, 64 MiB in mode time included: a minute or two. */
    FULL
  }

  /**
   * What was found.
   *
   * @param algorithm its name
   * @param cases runs that were made and checked
   * @param refused groups and calls that the algorithm refused
   * @param refusals the first reasons, by group
   * @param failures what failed, each with all it takes to run it again; at most {@value
   *     ConformanceSuite#KEPT}
   * @param failed how many cases failed
   * @param slots least numbers of slots that were measured, and found to be those reported
   * @param forecasts how near the forecasts were
   * @param ratios time over lower bound
   */
  public record Report(
      String algorithm,
      int cases,
      int refused,
      Map<String, String> refusals,
      List<String> failures,
      int failed,
      Slots slots,
      Forecasts forecasts,
      Ratios ratios) {
    /** Copies the collections. */
    public Report {
      refusals = Collections.unmodifiableMap(new LinkedHashMap<>(refusals));
      failures = List.copyOf(failures);
    }

    /** A copy under another name. */
    public Report named(String name) {
      return new Report(name, cases, refused, refusals, failures, failed, slots, forecasts, ratios);
    }

    /** Whether nothing was run, as every group was refused. */
    public boolean refusedAll() {
      return cases == 0 && failed == 0;
    }

    /** Whether something was run and nothing failed. */
    public boolean passes() {
      return cases > 0 && failed == 0;
    }
  }

  /**
   * Least slots per direction where commands are issued one by one: reported by following the
   * kernels, measured by running with that many, and with one fewer, which must deadlock.
   *
   * @param counted numbers that were compared
   * @param least the smallest; 0 if none was compared
   * @param most the largest
   */
  public record Slots(int counted, int least, int most) {}

  /**
   * Forecasts ({@link Schedule#predictPs}) against times.
   *
   * @param exact forecasts that claim to be exact, on the machines of the cost model; each is
   *     judged
   * @param worstExact largest of their deviations, as a share of the time
   * @param others the other forecasts there; judged to be within a factor of {@value
   *     ConformanceSuite#NEAR}
   * @param worstOther largest factor between them and the time; 0 without any
   * @param used forecasts on all other machines that can be trusted there, of vectors that are too
   *     long to be simulated at once; judged to be within a factor of 1.5
   * @param notUsed those that cannot, so that nothing goes by them
   * @param worstElsewhere largest factor of those that are used; 0 without any
   */
  public record Forecasts(
      int exact,
      double worstExact,
      int others,
      double worstOther,
      int used,
      int notUsed,
      double worstElsewhere) {}

  /**
   * Time over lower bound, which no run may be below.
   *
   * @param least the nearest to the bound of all runs
   * @param most the farthest
   * @param longVectors the nearest of vectors of 64 MiB; 0 if none was run
   */
  public record Ratios(double least, double most, double longVectors) {}

  private final ConformanceSuite.Places places;

  private Conformance(ConformanceSuite.Places places) {
    this.places = places;
  }

  /** The suite; its machines are made once, for any number of algorithms. */
  public Conformance() {
    this(ConformanceSuite.Places.load());
  }

  /**
   * The suite on the groups of one machine. An algorithm that serves none of them has no cases, and
   * the reasons among its refusals.
   *
   * @throws UsageException if the machine has no two places that could be ranks
   */
  public static Conformance on(Machine machine) {
    ConformanceSuite.Places places = ConformanceSuite.Places.of(machine);
    if (places.all().isEmpty()) {
      throw new UsageException(
          "%s has one package of one PE, so there is nobody to send to; expected two or more"
              .formatted(machine.name()));
    }
    return new Conformance(places);
  }

  /**
   * Runs an algorithm through all of it.
   *
   * @param config what {@code ccl.yaml} says about the algorithm
   * @param seed of what is drawn in a {@link Extent#FAST} run
   */
  public Report run(
      CollectiveAlgorithm algorithm, AlgorithmConfig config, Extent extent, long seed) {
    return new ConformanceSuite(algorithm, config, extent, seed, places).run();
  }
}
