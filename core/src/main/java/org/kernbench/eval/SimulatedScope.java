package org.kernbench.eval;

import java.util.Locale;

/**
 * What of a run was simulated, and what stands for the rest: never a guess, each as exact as if all
 * had been simulated (ADR 0109, 0112, 0214).
 *
 * @param packages of the machine
 * @param simulatedPackages of these; fewer if one stands for all
 * @param points at which one package stood for all, of a bench of several points
 * @param ofPoints points of that bench; 0 if it has none
 * @param launches of kernels in simulations in which one may stand for others, 0 if in none
 * @param simulatedLaunches of these
 * @param note what the bench says instead, if it puts its time together from simulated parts
 */
public record SimulatedScope(
    int packages,
    int simulatedPackages,
    int points,
    int ofPoints,
    long launches,
    long simulatedLaunches,
    String note) {
  /** Every package and every launch. */
  public static SimulatedScope everything(int packages) {
    return new SimulatedScope(packages, packages, 0, 0, 0, 0, "");
  }

  /** Of a run that ended before anything was. */
  public static SimulatedScope nothing() {
    return everything(0);
  }

  /** For example {@code everything}, or {@code 1 of 4,096 packages, for all}. */
  public String text() {
    if (packages == 0) {
      return "nothing";
    }
    if (!note.isEmpty()) {
      return note;
    }
    if (simulatedPackages < packages) {
      String where =
          points < ofPoints
              ? String.format(Locale.ROOT, ", at %s of %s points", points, ofPoints)
              : "";
      return String.format(
          Locale.ROOT, "%,d of %,d packages, for all%s", simulatedPackages, packages, where);
    }
    return simulatedLaunches < launches
        ? String.format(Locale.ROOT, "%,d of %,d launches, for all", simulatedLaunches, launches)
        : "everything";
  }
}
