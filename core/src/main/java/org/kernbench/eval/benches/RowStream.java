package org.kernbench.eval.benches;

import java.util.Locale;
import org.kernbench.config.UsageException;
import org.kernbench.device.log.StreamCosts;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.GemmMode;
import org.kernbench.machine.spec.OperationClass;

/**
 * How a kernel that is fused from element-wise operations and sums over rows goes through a matrix.
 *
 * <p>Rows up to the library's {@code resident_row} are read once and kept; of longer ones each pass
 * reads the row again, as kernels do that keep only the sums. A PE that stands for a GPU works on
 * as many rows at once as its local memory holds, others on as many as the bench says.
 *
 * @param rowsAtOnce rows of one turn, at least 1
 * @param rereads whether each pass reads its rows again
 */
record RowStream(int rowsAtOnce, boolean rereads) {
  /** Copies of an element in TCM, in the type of sums, of the turns that overlap. */
  private static final int COPIES = 10;

  private static final int SUM_BYTES = 4;

  /**
   * @param block rows at once on a machine whose PEs are no GPUs
   */
  static RowStream of(
      Machine machine, Pe pe, OperationClass kind, int columns, int elementBytes, int block) {
    long keeps = machine.software().of(kind).residentRowBytes();
    boolean rereads = (long) columns * elementBytes > keeps;
    return new RowStream(
        machine.pe().gemm().mode() == GemmMode.WAVES
            ? Math.clamp(elementsAtOnce(machine, pe) / columns, 1, 1 << 20)
            : block,
        rereads);
  }

  /** Elements that TCM holds of a stream, with all that is made of them. */
  static long elementsAtOnce(Machine machine, Pe pe) {
    return Math.max(1, StreamCosts.of(machine, pe).tcmBytes() * 3 / 4 / (COPIES * SUM_BYTES));
  }

  /**
   * The number of elements of a matrix.
   *
   * @throws UsageException if an array cannot hold it
   */
  static int elements(String rowsName, int rows, String columnsName, int columns) {
    long all = (long) rows * columns;
    if (all > Integer.MAX_VALUE) {
      throw new UsageException(
          String.format(
              Locale.ROOT,
              "--param %s: got %,d x %,d (%s) = %,d elements; expected at most %,d, use fewer of either",
              rowsName,
              rows,
              columns,
              columnsName,
              all,
              Integer.MAX_VALUE));
    }
    return (int) all;
  }
}
