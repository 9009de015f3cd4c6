package org.kernbench.device.memory;

/**
 * Lanes that bools in TCM count, row-major.
 *
 * @see CountedLanes
 */
public final class BoolLanes implements CountedLanes {
  private final byte[] bools;
  private final int at;
  private final int elementBytes;
  private final long other;

  /**
   * As the bools are now.
   *
   * @param at where the first is in the array
   * @param elementBytes size of an element in memory, at most eight
   * @param other the bytes of the value of the lanes that do not count, lowest first
   */
  public BoolLanes(byte[] bools, int at, int elementBytes, long other) {
    this.bools = bools;
    this.at = at;
    this.elementBytes = elementBytes;
    this.other = other;
  }

  @Override
  public void runs(Region region, int firstLane, Run run) {
    int first = at + firstLane;
    int lanes = region.rowBytes() / elementBytes;
    for (int row = 0; row < region.rows(); row++) {
      int lane = 0;
      while (lane < lanes) {
        int start = lane;
        while (lane < lanes && bools[first + row * lanes + lane] != 0) {
          lane++;
        }
        if (lane > start) {
          run.accept(
              row * region.strideBytes() + (long) start * elementBytes,
              (row * lanes + start) * elementBytes,
              (lane - start) * elementBytes);
        }
        lane++;
      }
    }
  }

  @Override
  public void fill(byte[] value, int from, int bytes) {
    for (int i = 0; i < bytes; i++) {
      value[from + i] = (byte) (other >>> (8 * (i % elementBytes)));
    }
  }
}
