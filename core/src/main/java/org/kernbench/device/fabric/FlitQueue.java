package org.kernbench.device.fabric;

/**
 * Flits in a buffer at the end of a link, those that are on the link included, oldest first: of
 * each its packet, the hop after this one, and when its tail is here. At a source they are packets.
 */
abstract class FlitQueue {
  // a ring
  private BufferedPacket[] packets = new BufferedPacket[8];
  private int[] hops = new int[8];
  private long[] tailsPs = new long[8];
  private int first;
  private int count;
  private int arrived;

  /** A flit is on its way here. */
  final void push(BufferedPacket packet, int hop, long tailPs) {
    if (count == packets.length) {
      grow();
    }
    int at = (first + count) % packets.length;
    packets[at] = packet;
    hops[at] = hop;
    tailsPs[at] = tailPs;
    count++;
  }

  /** Twice the room, with the oldest one at its beginning. */
  private void grow() {
    BufferedPacket[] morePackets = new BufferedPacket[count * 2];
    int[] moreHops = new int[count * 2];
    long[] moreTails = new long[count * 2];
    for (int i = 0; i < count; i++) {
      int at = (first + i) % count;
      morePackets[i] = packets[at];
      moreHops[i] = hops[at];
      moreTails[i] = tailsPs[at];
    }
    packets = morePackets;
    hops = moreHops;
    tailsPs = moreTails;
    first = 0;
  }

  /** The oldest flit on its way has come, or a packet begins; whether the buffer was empty. */
  final boolean arrive() {
    arrived++;
    return arrived == 1;
  }

  /** Whether a flit stands in the buffer. */
  final boolean hasArrived() {
    return arrived > 0;
  }

  final BufferedPacket packet() {
    return packets[first];
  }

  final int hop() {
    return hops[first];
  }

  final long tailPs() {
    return tailsPs[first];
  }

  final void pop() {
    first = (first + 1) % packets.length;
    count--;
    arrived--;
  }
}
