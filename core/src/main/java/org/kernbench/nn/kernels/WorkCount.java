package org.kernbench.nn.kernels;

/**
 * What launches of one name had to do at least, whichever PEs did it.
 *
 * @param launches how many
 * @param flops of products, a multiply-add counting twice
 * @param bytes that memory must have read and written: each operand and each result once
 */
public record WorkCount(long launches, double flops, long bytes) {
  static final WorkCount NONE = new WorkCount(0, 0, 0);

  /** Both together. */
  public WorkCount plus(WorkCount other) {
    return new WorkCount(launches + other.launches, flops + other.flops, bytes + other.bytes);
  }
}
