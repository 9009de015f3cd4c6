package org.kernbench.nn.bridge;

import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.parallel.ModuleRole;

/**
 * How a {@link ColocatedBridgeCommunicator} is to be understood.
 *
 * @param source name of the module that gives, in messages
 * @param dest name of the module that takes
 * @param dims which axis of a tensor is which
 * @param sourceContextParallel whether the source may be context parallel: its ranks then hold
 *     parts of the sequence, which the bridge puts together first
 */
public record BridgeOptions(String source, String dest, Dims dims, boolean sourceContextParallel) {
  /** From an encoder to a language model, of tensors {@code [b, s, h]} or {@code [rows, h]}. */
  public static final BridgeOptions DEFAULT =
      new BridgeOptions(
          ModuleRole.ENCODER.token(), ModuleRole.LANGUAGE.token(), Dims.BATCH_FIRST, false);

  /**
   * Which axis of a tensor of three is which ({@code dim_mapping}). Matrices {@code [rows, h]} have
   * their samples along the rows, one after another.
   *
   * @param b axis of samples
   * @param s axis of positions
   * @param h axis of elements
   */
  public record Dims(int b, int s, int h) {
    /** {@code [b, s, h]}. */
    public static final Dims BATCH_FIRST = new Dims(0, 1, 2);

    /** {@code [s, b, h]}. */
    public static final Dims SEQUENCE_FIRST = new Dims(1, 0, 2);

    /** Checks that the three are 0, 1 and 2. */
    public Dims {
      boolean[] seen = new boolean[3];
      for (int axis : new int[] {b, s, h}) {
        if (axis < 0 || axis > 2 || seen[axis]) {
          throw LayoutException.argument(
              "dimensions b " + b + ", s " + s + ", h " + h + "; expected 0, 1 and 2, each once");
        }
        seen[axis] = true;
      }
    }
  }

  /** A copy with other names of the modules. */
  public BridgeOptions named(String sourceName, String destName) {
    return new BridgeOptions(sourceName, destName, dims, sourceContextParallel);
  }

  /** A copy with other axes. */
  public BridgeOptions withDims(Dims axes) {
    return new BridgeOptions(source, dest, axes, sourceContextParallel);
  }

  /** A copy whose source may be context parallel. */
  public BridgeOptions withSourceContextParallel() {
    return new BridgeOptions(source, dest, dims, true);
  }
}
