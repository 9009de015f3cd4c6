package org.kernbench.torch;

import java.util.OptionalInt;
import org.kernbench.device.SimulationException;

/**
 * How a tensor is laid over the cubes and processing elements of one device: first over cubes, then
 * each cube's part over its PEs. There is no axis across packages: a tensor belongs to one device,
 * which {@code setDevice} chooses.
 *
 * @param cube how the tensor is laid over the cubes
 * @param pe how a cube's part is laid over its PEs
 * @param numCubes how many cubes, the first ones in structural order; all if empty
 * @param numPes how many PEs of each of them; all if empty
 */
public record DpPolicy(Split cube, Split pe, OptionalInt numCubes, OptionalInt numPes) {
  /** How one level divides what it gets. */
  public enum Split {
    /** Everyone holds all of it. */
    REPLICATE,
    /** Divides the last axis. */
    COLUMN_WISE,
    /** Divides the first axis. */
    ROW_WISE
  }

  /** Checks the ranges. */
  public DpPolicy {
    check("numCubes", numCubes);
    check("numPes", numPes);
  }

  private static void check(String name, OptionalInt count) {
    if (count.isPresent() && count.getAsInt() < 1) {
      throw new SimulationException(
          "placement " + name + ": got " + count.getAsInt() + "; expected at least 1");
    }
  }

  /** All of the tensor on the device's first PE: the default. */
  public static DpPolicy single() {
    return of(Split.REPLICATE, Split.REPLICATE).withCubes(1).withPes(1);
  }

  /** Over all cubes and PEs of the device. */
  public static DpPolicy of(Split cube, Split pe) {
    return new DpPolicy(cube, pe, OptionalInt.empty(), OptionalInt.empty());
  }

  /** A whole copy on every PE of the device. */
  public static DpPolicy replicate() {
    return of(Split.REPLICATE, Split.REPLICATE);
  }

  /** The last axis divided over all PEs of the device. */
  public static DpPolicy columnWise() {
    return of(Split.COLUMN_WISE, Split.COLUMN_WISE);
  }

  /** The first axis divided over all PEs of the device. */
  public static DpPolicy rowWise() {
    return of(Split.ROW_WISE, Split.ROW_WISE);
  }

  /** A copy that uses the first {@code count} cubes. */
  public DpPolicy withCubes(int count) {
    return new DpPolicy(cube, pe, OptionalInt.of(count), numPes);
  }

  /** A copy that uses the first {@code count} PEs of each cube. */
  public DpPolicy withPes(int count) {
    return new DpPolicy(cube, pe, numCubes, OptionalInt.of(count));
  }
}
