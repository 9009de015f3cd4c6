package org.kernbench.device.memory;

/** Which elements of a region are read or written, and what the others are when it is read. */
public interface CountedLanes {
  /** Takes a run of lanes that count. */
  interface Run {
    /**
     * @param memoryOffset from the first byte of the region
     * @param valueOffset from the first byte of the value that the region holds
     */
    void accept(long memoryOffset, int valueOffset, int bytes);
  }

  /**
   * The runs of lanes that count.
   *
   * @param firstLane of the region among all lanes, for the part of an access that one memory has
   */
  void runs(Region region, int firstLane, Run run);

  /** Fills {@code bytes} of a value with what lanes are that do not count. */
  void fill(byte[] value, int from, int bytes);
}
