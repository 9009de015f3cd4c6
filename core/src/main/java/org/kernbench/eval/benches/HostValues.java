package org.kernbench.eval.benches;

import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Values on the host, inputs or what a result should be: computed when they are first asked for. In
 * mode {@code time} nobody asks, so a run of any size costs the host no arithmetic.
 */
final class HostValues {
  private final Supplier<double[]> source;
  private double @Nullable [] values;

  private HostValues(Supplier<double[]> source) {
    this.source = source;
  }

  /** Values that a supplier gives; it is asked once at most. */
  static HostValues of(Supplier<double[]> source) {
    return new HostValues(source);
  }

  /** The values; the same array each time. */
  double[] get() {
    double[] known = values;
    if (known == null) {
      known = source.get();
      values = known;
    }
    return known;
  }

  /** What a function makes of them; it may work in its argument, which is a copy. */
  HostValues map(UnaryOperator<double[]> function) {
    return of(() -> function.apply(get().clone()));
  }

  /** Rows {@code [from, to)} of a matrix with {@code columns} columns. */
  HostValues rows(int columns, int from, int to) {
    return block(columns, from, to, 0, columns);
  }

  /** The transpose of a matrix of some rows. */
  double[] transposed(int rows) {
    double[] matrix = get();
    int columns = matrix.length / rows;
    double[] turned = new double[matrix.length];
    for (int i = 0; i < rows; i++) {
      for (int j = 0; j < columns; j++) {
        turned[j * rows + i] = matrix[i * columns + j];
      }
    }
    return turned;
  }

  /** A block of a matrix with {@code width} columns. */
  HostValues block(int width, int row, int rowEnd, int column, int columnEnd) {
    return of(() -> KernelBed.block(get(), width, row, rowEnd, column, columnEnd));
  }
}
