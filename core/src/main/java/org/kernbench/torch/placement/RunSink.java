package org.kernbench.torch.placement;

/** Takes some neighbouring bytes of a tensor; the array is used again afterwards. */
public interface RunSink {
  /**
   * Takes them.
   *
   * @param position of the first in the tensor, row-major
   * @param count how many, from the start of the array on
   */
  void take(long position, byte[] bytes, int count);
}
