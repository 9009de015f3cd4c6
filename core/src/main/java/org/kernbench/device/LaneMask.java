package org.kernbench.device;

import org.kernbench.device.memory.BoolLanes;
import org.kernbench.device.memory.CountedLanes;

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
public record LaneMask(Register register, int offset, int elementBytes, Lane other) {
  /** The bytes of one element. */
  public record Lane(long bits) {}

  /**
   * The lanes that the bools count as they are now, which are in {@code data} from {@code at} on.
   */
  public CountedLanes lanes(byte[] data, int at) {
    return new BoolLanes(data, at + offset, elementBytes, other.bits);
  }
}
