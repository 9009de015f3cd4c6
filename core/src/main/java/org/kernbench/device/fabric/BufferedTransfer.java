package org.kernbench.device.fabric;

import org.jspecify.annotations.Nullable;

/** A transfer on links whose ends have finite buffers, used again when it has ended. */
final class BufferedTransfer {
  final int index;
  long id;
  int[] route = {};
  int[] way = {};
  int[] channels = {};

  /** Links that flits cross; a banked memory at the end is not one. */
  int hops;

  long bytes;
  long earliestPs;
  long worstWaitPs;
  int worstLink;
  long memoryPs;
  boolean tellInjected;
  boolean reads;
  boolean writes;
  int sinkArg;
  Interconnect.@Nullable Sink sink;

  BufferedTransfer(int index) {
    this.index = index;
  }

  Interconnect.Sink sink() {
    Interconnect.Sink s = sink;
    if (s == null) {
      throw new IllegalStateException("bug: transfer " + index + " has ended");
    }
    return s;
  }
}
