package org.kernbench.device.fabric;

import java.util.Arrays;

/**
 * A queue before a router: the buffer of a virtual channel at the end of a link, or what begins
 * here and waits for its first link.
 */
final class RouterInput {
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

  // a ring of flits, oldest first; of packets at a source
  private BufferedPacket[] packets = new BufferedPacket[8];
  private int[] hops = new int[8];
  private long[] tailsPs = new long[8];
  private int first;
  private int count;
  private int arrived;

  RouterInput(int port, int place, int queue, int channel) {
    this.port = port;
    this.place = place;
    this.queue = queue;
    this.channel = channel;
  }

  boolean isSource() {
    return channel == NONE;
  }

  /** A flit is on its way here: its packet, the hop after this one, when its tail is here. */
  void push(BufferedPacket packet, int hop, long tailPs) {
    if (count == packets.length) {
      turn();
      packets = Arrays.copyOf(packets, count * 2);
      hops = Arrays.copyOf(hops, count * 2);
      tailsPs = Arrays.copyOf(tailsPs, count * 2);
    }
    int at = (first + count) % packets.length;
    packets[at] = packet;
    hops[at] = hop;
    tailsPs[at] = tailPs;
    count++;
  }

  /** Puts the oldest one at the beginning of the arrays. */
  private void turn() {
    BufferedPacket[] p = packets.clone();
    int[] h = hops.clone();
    long[] t = tailsPs.clone();
    for (int i = 0; i < count; i++) {
      int at = (first + i) % p.length;
      packets[i] = p[at];
      hops[i] = h[at];
      tailsPs[i] = t[at];
    }
    first = 0;
  }

  /** The oldest flit on its way has come, or a packet begins; whether the queue was empty. */
  boolean arrive() {
    arrived++;
    return arrived == 1;
  }

  boolean isEmpty() {
    return arrived == 0;
  }

  BufferedPacket packet() {
    return packets[first];
  }

  int hop() {
    return hops[first];
  }

  long tailPs() {
    return tailsPs[first];
  }

  void pop() {
    first = (first + 1) % packets.length;
    count--;
    arrived--;
  }
}
