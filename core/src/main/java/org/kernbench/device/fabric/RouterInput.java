package org.kernbench.device.fabric;

/**
 * A queue before a router: the buffer of a virtual channel at the end of a link, or what begins
 * here and waits for its first link.
 */
final class RouterInput extends FlitQueue {
  static final int NONE = -1;

  /** Place of its link among those that enter its router. */
  final int port;

  /** Place among the queues of that link. */
  final int queue;

  /** Place among the inputs of its router, channels counted. */
  final int place;

  /** The channel at the end of which it is, {@link #NONE} for a source. */
  final int channel;

  /** The channel that its first packet has been given, {@link #NONE} before. */
  int given = NONE;

  /** Cycle from which its first packet may ask for a channel, or having one for the switch. */
  long readyCycle;

  /** Cycle by which the packet before has left. */
  long freeCycle;

  RouterInput(int port, int place, int queue, int channel) {
    this.port = port;
    this.place = place;
    this.queue = queue;
    this.channel = channel;
  }

  boolean isSource() {
    return channel == NONE;
  }
}
