package org.kernbench.eval.measured;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * Finds values of a machine with which simulated times are as measured ones: the mean of {@code
 * |ln(simulated / measured)|} over the rows that are not held out becomes small.
 *
 * <p>Each step simulates the rows once for every value, moved a little, and solves the linear
 * problem that the changes of the logarithms give, with weights that make its least squares a least
 * sum of magnitudes. Where the critical path switches and the step does not pay, it is shortened,
 * and at the end each value is tried alone to both sides in falling steps. Where all that finds
 * nothing better than the machine as it is, the machine is kept. All of it is deterministic: the
 * same rows give the same values, bit for bit.
 */
public final class Calibration {
  private static final double DIFFERENCE = 0.02;

  /** Equal parts of a range, at whose ends values are looked for where the middle says nothing. */
  private static final int PLACES = 8;

  private static final int STEPS = 8;
  private static final double GAIN = 2e-4;
  private static final double SMALL = 0.01;
  private static final double[] ALONE = {0.16, 0.04, 0.01};

  /** Half of an interval over its value, above which a value is hardly known. */
  private static final double OPEN = 0.1;

  private static final double CLEARLY_WORSE = 2;
  private static final double WORSE_BY = 0.05;

  private final RowSimulator simulator;
  private final MeasuredFile fitted;
  private final String machine;
  private final List<FitParameter> parameters;

  /** Keys on which some row was seen to depend, somewhere. */
  private final BitSet matter = new BitSet();

  private int simulations;

  private Calibration(
      RowSimulator simulator, String machine, MeasuredFile fitted, List<FitParameter> parameters) {
    this.simulator = simulator;
    this.machine = machine;
    this.fitted = fitted;
    this.parameters = List.copyOf(parameters);
  }

  /**
   * What was found.
   *
   * @param file the whole table
   * @param machine what it was fitted on
   * @param parameters whose values were found; none if the machine is kept as it was
   * @param values that were found, as they are written, one for each parameter
   * @param intervals in which 95 of 100 such tables would leave them; empty if the rows are too few
   *     or cannot tell
   * @param before fitted rows with the machine as it was
   * @param after fitted rows with the values
   * @param heldOutBefore rows that were held out, before; empty if none were
   * @param heldOutAfter the same with the values
   * @param warnings what the user should know
   * @param refusal why the values are not to be used; empty if they are
   * @param simulations rows simulated
   */
  public record Found(
      MeasuredFile file,
      String machine,
      List<FitParameter> parameters,
      List<String> values,
      List<Identifiability.Interval> intervals,
      Validation before,
      Validation after,
      Optional<Validation> heldOutBefore,
      Optional<Validation> heldOutAfter,
      List<String> warnings,
      Optional<String> refusal,
      int simulations) {
    /** Copies the lists. */
    public Found {
      parameters = List.copyOf(parameters);
      values = List.copyOf(values);
      intervals = List.copyOf(intervals);
      warnings = List.copyOf(warnings);
    }
  }

  /**
   * Fits.
   *
   * @param holdout every so many rows one is held out; 0 for none
   * @param maxError largest mean error in per cent, of rows held out if there are any
   */
  public static Found fit(
      MeasuredFile file,
      String machine,
      RowSimulator simulator,
      List<FitParameter> parameters,
      int holdout,
      Optional<Double> maxError) {
    List<MeasuredRow> used = new ArrayList<>();
    List<MeasuredRow> held = new ArrayList<>();
    for (int i = 0; i < file.rows().size(); i++) {
      (holdout > 0 && i % holdout == holdout - 1 ? held : used).add(file.rows().get(i));
    }
    List<FitParameter> keys =
        parameters.stream().map(p -> inWholes(p, simulator, used.getFirst())).toList();
    Calibration c = new Calibration(simulator, machine, file.with(used), keys);
    double[] at = c.search();
    double[] residuals = c.residuals(at);
    Identifiability known = new Identifiability(keys, c.slopes(at, residuals));
    Optional<String> refusal = c.flat(known, at).or(known::refusal);
    Validation before = c.validation(List.of());
    Validation best = c.validation(c.changes(at));
    boolean kept = refusal.isEmpty() && before.meanLogRatio() <= best.meanLogRatio();
    List<String> changes = kept ? List.of() : c.changes(at);
    Validation after = kept ? before : best;
    List<Identifiability.Interval> intervals =
        refusal.isPresent() || kept ? List.of() : known.intervals(at, residuals, c.weights());
    Optional<Validation> heldAfter = c.heldOut(held, changes);
    if (refusal.isEmpty()) {
      refusal = refusal(after, heldAfter, maxError);
    }
    return new Found(
        file,
        machine,
        kept ? List.of() : keys,
        kept ? List.of() : c.shown(at),
        intervals,
        before,
        after,
        c.heldOut(held, List.of()),
        heldAfter,
        kept ? List.of(c.keeps(at, before, best)) : c.warnings(at, intervals),
        refusal,
        c.simulations);
  }

  /** A key that takes counts may not be given a fraction. */
  private static FitParameter inWholes(FitParameter p, RowSimulator simulator, MeasuredRow row) {
    boolean counts =
        p.mayCount()
            && !simulator.takes(row, p.path() + "=" + (p.low() + 0.5))
            && simulator.takes(row, p.change(0));
    return counts ? p.counted() : p;
  }

  /** That the search ended where nothing depends on a key, though something does elsewhere. */
  private Optional<String> flat(Identifiability known, double[] at) {
    return matter.stream()
        .filter(known::isWithoutEffect)
        .mapToObj(i ->
            """
            where the rows fit best no row depends on %s, which does matter in another part of \
            its range; leave it out, or give a range without %s\
            """
                .formatted(parameters.get(i).path(), parameters.get(i).shown(at[i])))
        .findFirst();
  }

  private Optional<Validation> heldOut(List<MeasuredRow> held, List<String> changes) {
    return held.isEmpty()
        ? Optional.empty()
        : Optional.of(Validation.of(fitted.with(held), machine, simulator, changes));
  }

  private List<String> shown(double[] at) {
    List<String> values = new ArrayList<>();
    for (int i = 0; i < at.length; i++) {
      values.add(parameters.get(i).shown(at[i]));
    }
    return values;
  }

  /** That nothing better was found than what there was. */
  private String keeps(double[] at, Validation before, Validation best) {
    return String.format(
        Locale.ROOT,
        """
        nothing found fits the rows better than the machine as it is, which is kept: mean |ln| \
        %.6f, with %s %.6f\
        """,
        before.meanLogRatio(),
        String.join(", ", changes(at)),
        best.meanLogRatio());
  }

  private static Optional<String> refusal(
      Validation fitted, Optional<Validation> held, Optional<Double> maxError) {
    if (held.isPresent()
        && held.get().meanLogRatio() > CLEARLY_WORSE * fitted.meanLogRatio()
        && held.get().meanLogRatio() > fitted.meanLogRatio() + WORSE_BY) {
      return Optional.of(
          String.format(
              Locale.ROOT,
              """
              the rows held out are clearly worse (%.1f %%) than those fitted (%.1f %%): the \
              values describe the rows, not the machine; fit fewer keys or more rows\
              """,
              100 * held.get().meanError(),
              100 * fitted.meanError()));
    }
    double error = 100 * held.orElse(fitted).meanError();
    return maxError.isPresent() && error > maxError.get()
        ? Optional.of(
            String.format(
                Locale.ROOT,
                "mean error %.1f %%%s; expected at most %s %% (--max-error)",
                error,
                held.isPresent() ? " of the rows held out" : "",
                maxError.get()))
        : Optional.empty();
  }

  // ---- the search ----

  private List<String> changes(double[] at) {
    List<String> changes = new ArrayList<>();
    for (int i = 0; i < at.length; i++) {
      changes.add(parameters.get(i).change(at[i]));
    }
    return changes;
  }

  private Validation validation(List<String> changes) {
    simulations += fitted.rows().size();
    return Validation.of(fitted, machine, simulator, changes);
  }

  /** The logarithms of simulated over measured, of each row. */
  private double[] residuals(double[] at) {
    return validation(changes(at)).rows().stream()
        .mapToDouble(Validation.Compared::logRatio)
        .toArray();
  }

  private double objective(double[] residuals) {
    double sum = 0;
    double weight = 0;
    for (int i = 0; i < residuals.length; i++) {
      double w = fitted.rows().get(i).weight();
      sum += w * Math.abs(residuals[i]);
      weight += w;
    }
    return sum / weight;
  }

  private double[] search() {
    double[] middle = new double[parameters.size()];
    Arrays.fill(middle, 0.5);
    double[] residuals = residuals(middle);
    double[][] slopes = slopes(middle, residuals);
    double[] at = start(middle, residuals, slopes);
    boolean moves = at != middle;
    residuals = moves ? residuals(at) : residuals;
    double best = objective(residuals);
    for (int step = 0; step < STEPS; step++) {
      slopes = step > 0 || moves ? slopes(at, residuals) : slopes;
      double[] move = move(slopes, residuals, at);
      boolean better = false;
      for (double part = 1; part > 0.1 && !better; part /= 2) {
        double[] next = moved(at, move, part);
        double[] found = residuals(next);
        double value = objective(found);
        if (value < best - GAIN * best) {
          better = true;
          best = value;
          at = next;
          residuals = found;
        }
      }
      if (!better) {
        break;
      }
    }
    return alone(at, best);
  }

  /**
   * The middle of all ranges; of a value on which no row depends there, the place in its range
   * where rows fit best.
   */
  private double[] start(double[] middle, double[] residuals, double[][] slopes) {
    double[] at = middle;
    Identifiability known = new Identifiability(parameters, slopes);
    double best = objective(residuals);
    for (int i = 0; i < at.length; i++) {
      for (int place = 0; known.isWithoutEffect(i) && place <= PLACES; place++) {
        double[] next = at.clone();
        next[i] = place / (double) PLACES;
        double value = objective(residuals(next));
        if (Math.abs(value - best) > GAIN * best) {
          matter.set(i);
        }
        if (value < best - GAIN * best) {
          best = value;
          at = next;
        }
      }
    }
    return at;
  }

  /** Each value by itself, a little to both sides, as long as that helps. */
  private double[] alone(double[] from, double found) {
    double[] at = from;
    double best = found;
    for (double by : ALONE) {
      for (int i = 0; i < at.length; i++) {
        for (int side = -1; side <= 1; side += 2) {
          double[] next = at.clone();
          FitParameter p = parameters.get(i);
          next[i] = Math.clamp(side < 0 ? p.down(at[i], by) : p.up(at[i], by), 0, 1);
          double value = next[i] == at[i] ? best : objective(residuals(next));
          if (value < best - GAIN * best) {
            best = value;
            at = next;
          }
        }
      }
    }
    return at;
  }

  private static double[] moved(double[] at, double[] move, double part) {
    double[] next = new double[at.length];
    for (int i = 0; i < at.length; i++) {
      next[i] = Math.clamp(at[i] + part * move[i], 0, 1);
    }
    return next;
  }

  /** By row and value: what the logarithm changes by, over the whole range. */
  private double[][] slopes(double[] at, double[] residuals) {
    double[][] slopes = new double[residuals.length][at.length];
    for (int i = 0; i < at.length; i++) {
      double[] next = at.clone();
      FitParameter p = parameters.get(i);
      double[] found;
      double wide = DIFFERENCE;
      do { // several counts may come to the same
        double up = p.up(at[i], wide);
        next[i] = up <= 1 ? up : Math.max(0, p.down(at[i], wide));
        found = residuals(next);
        wide *= 2;
      } while (p.isCount() && Arrays.equals(found, residuals) && wide < 1);
      double by = next[i] - at[i];
      for (int row = 0; row < found.length; row++) {
        slopes[row][i] = (found[row] - residuals[row]) / by;
      }
    }
    Identifiability here = new Identifiability(parameters, slopes);
    IntStream.range(0, at.length).filter(i -> !here.isWithoutEffect(i)).forEach(matter::set);
    return slopes;
  }

  /** Weighted least squares; values at a limit that would leave it stay. */
  private double[] move(double[][] slopes, double[] residuals, double[] at) {
    int n = at.length;
    boolean[] fixed = new boolean[n];
    double[] move = new double[n];
    for (int round = 0; round <= n; round++) {
      double[][] matrix = new double[n][n];
      double[] right = new double[n];
      for (int row = 0; row < residuals.length; row++) {
        double w = fitted.rows().get(row).weight() / Math.max(SMALL, Math.abs(residuals[row]));
        for (int i = 0; i < n; i++) {
          right[i] -= w * slopes[row][i] * residuals[row];
          for (int j = 0; j < n; j++) {
            matrix[i][j] += w * slopes[row][i] * slopes[row][j];
          }
        }
      }
      for (int i = 0; i < n; i++) {
        if (fixed[i]) {
          Arrays.fill(matrix[i], 0);
          matrix[i][i] = 1;
          right[i] = 0;
        }
        matrix[i][i] += 1e-9 + 1e-6 * matrix[i][i];
      }
      move = Linear.solved(matrix, right);
      boolean changed = false;
      for (int i = 0; i < n; i++) {
        boolean leaves = (at[i] <= 0 && move[i] < 0) || (at[i] >= 1 && move[i] > 0);
        if (leaves && !fixed[i]) {
          fixed[i] = true;
          changed = true;
        }
      }
      if (!changed) {
        break;
      }
    }
    return move;
  }

  // ---- what can be known ----

  private double[] weights() {
    return fitted.rows().stream().mapToDouble(MeasuredRow::weight).toArray();
  }

  private List<String> warnings(double[] at, List<Identifiability.Interval> intervals) {
    List<String> warnings = new ArrayList<>();
    if (4 * at.length > fitted.rows().size()) {
      warnings.add(
          String.format(
              Locale.ROOT,
              "%d keys for %d rows: more than a quarter; they may describe the noise",
              at.length,
              fitted.rows().size()));
    }
    for (int i = 0; i < at.length; i++) {
      if (parameters.get(i).isLimit(at[i])) {
        warnings.add(
            "%s is at the limit of its range, %s"
                .formatted(parameters.get(i).path(), parameters.get(i).shown(at[i])));
      }
    }
    for (int i = 0; i < intervals.size(); i++) {
      if (intervals.get(i).share() > OPEN) {
        warnings.add(
            "the rows leave %s open, %s: add rows that it matters for"
                .formatted(parameters.get(i).path(), intervals.get(i).text()));
      }
    }
    return warnings;
  }
}
