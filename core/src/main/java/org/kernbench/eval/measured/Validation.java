package org.kernbench.eval.measured;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * Measured rows beside simulated ones.
 *
 * @param file the table
 * @param machine what it was simulated on
 * @param rows in the order of the file
 */
public record Validation(MeasuredFile file, String machine, List<Compared> rows) {
  private static final int BINS = 3;

  /**
   * One row.
   *
   * @param row as measured
   * @param simulated as simulated
   */
  public record Compared(MeasuredRow row, RowSimulator.Simulated simulated) {
    /** Simulated over measured, less one: above 0 if the simulator is slower than the machine. */
    public double error() {
      return simulated.ps(row) / row.ps() - 1;
    }

    /** The natural logarithm of simulated over measured. */
    public double logRatio() {
      return StrictMath.log(simulated.ps(row) / row.ps());
    }
  }

  /** Rows of about one size: their number, bounds and mean signed error. */
  public record Bin(int rows, double from, double to, double bias) {}

  /** Copies the list. */
  public Validation {
    rows = List.copyOf(rows);
  }

  /** Simulates every row. */
  public static Validation of(
      MeasuredFile file, String machine, RowSimulator simulator, List<String> changes) {
    List<Compared> rows = new ArrayList<>();
    List<RowSimulator.Simulated> simulated = simulator.simulate(file.rows(), changes);
    for (int i = 0; i < simulated.size(); i++) {
      rows.add(new Compared(file.rows().get(i), simulated.get(i)));
    }
    return new Validation(file, machine, rows);
  }

  /** Weighted mean of the absolute error, 0.1 for 10 %. */
  public double meanError() {
    return mean(c -> Math.abs(c.error()));
  }

  /** Weighted mean of |ln(simulated / measured)|, what {@code calibrate} makes small. */
  public double meanLogRatio() {
    return mean(c -> Math.abs(c.logRatio()));
  }

  /** Weighted mean of the signed error. */
  public double bias() {
    return mean(Compared::error);
  }

  private double mean(ToDoubleFunction<Compared> of) {
    double sum = 0;
    double weight = 0;
    for (Compared c : rows) {
      sum += c.row.weight() * of.applyAsDouble(c);
      weight += c.row.weight();
    }
    return sum / weight;
  }

  /** The rows with the largest errors, the worst first. */
  public List<Compared> worst(int most) {
    return rows.stream()
        .sorted(Comparator.comparingDouble((Compared c) -> -Math.abs(c.logRatio())))
        .limit(most)
        .toList();
  }

  /** The rows in three parts by size, or by measured time if none is said. */
  public List<Bin> bySize() {
    boolean sized = rows.stream().allMatch(c -> c.row.size() > 0);
    ToDoubleFunction<Compared> size = c -> sized ? c.row.size() : c.row.ps() / 1e6;
    List<Compared> sorted = rows.stream().sorted(Comparator.comparingDouble(size)).toList();
    List<Bin> bins = new ArrayList<>();
    int parts = Math.min(BINS, sorted.size());
    for (int i = 0; i < parts; i++) {
      List<Compared> part =
          sorted.subList(i * sorted.size() / parts, (i + 1) * sorted.size() / parts);
      bins.add(
          new Bin(
              part.size(),
              size.applyAsDouble(part.getFirst()),
              size.applyAsDouble(part.getLast()),
              new Validation(file, machine, part).bias()));
    }
    return bins;
  }

  /** What {@link #bySize} is by. */
  public String sizeWord() {
    return rows.stream().allMatch(c -> c.row.size() > 0) ? "size" : "measured us";
  }
}
