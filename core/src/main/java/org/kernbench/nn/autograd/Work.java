package org.kernbench.nn.autograd;

/**
 * What launches of one name had to do at least, whichever PEs did it.
 *
 * @param launches how many
 * @param flops of products, a multiply-add counting twice
 * @param bytes that memory must have read and written: each operand and each result once
 */
public record Work(long launches, double flops, long bytes) {
  static final Work NONE = new Work(0, 0, 0);

  /** Both together. */
  public Work plus(Work other) {
    return new Work(launches + other.launches, flops + other.flops, bytes + other.bytes);
  }
}
