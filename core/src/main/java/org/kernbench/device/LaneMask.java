package org.kernbench.device;

import org.kernbench.device.memory.CountedLanes;
import org.kernbench.device.memory.Region;

/**
 * Which elements of a load or store count: one bool in TCM for each, row-major. The others are not
 * read or written in memory; loaded, they have a value that the command names. The transfer is
 * charged in full, because a DMA moves bursts.
 *
 * @param register the bools; {@link Register#bytes} of them from {@code offset} on
 * @param offset of the first in the register
 * @param elementBytes size of an element in memory
 * @param other the bytes of the value of masked lanes of a load, at least {@code elementBytes}
 */
public record LaneMask(Register register, int offset, int elementBytes, Lane other)
    implements CountedLanes {
  /** The bytes of one element. */
  public record Lane(long bits) {}

  @Override
  public void runs(Region region, int firstLane, Run run) {
    byte[] bools = register.data();
    int at = register.dataOffset() + offset + firstLane;
    int lanes = region.rowBytes() / elementBytes;
    for (int row = 0; row < region.rows(); row++) {
      int lane = 0;
      while (lane < lanes) {
        int start = lane;
        while (lane < lanes && bools[at + row * lanes + lane] != 0) {
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
      value[from + i] = (byte) (other.bits >>> (8 * (i % elementBytes)));
    }
  }
}
