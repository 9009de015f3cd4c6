package org.kernbench.device.fabric;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.kernbench.machine.spec.FabricSpec;

/**
 * The transfers of a fabric that moves flits, and the packets into which they are cut: both serve
 * again, and events name packets by their index.
 */
final class FlitTraffic {
  private final long chunkBytes;
  private final long flitBytes;
  private final List<BufferedTransfer> transfers = new ArrayList<>();
  private final ArrayDeque<BufferedTransfer> freeTransfers = new ArrayDeque<>();
  private final List<BufferedPacket> packets = new ArrayList<>();
  private final ArrayDeque<BufferedPacket> freePackets = new ArrayDeque<>();

  FlitTraffic(FabricSpec spec) {
    this.chunkBytes = spec.chunkBytes();
    this.flitBytes = spec.flitBytes();
  }

  /**
   * A transfer that sets out at a time, with all links of its route as hops, to be delivered when
   * nobody is in its way but the wires.
   *
   * @param channels of the route, as its fabric numbers them
   */
  BufferedTransfer begin(
      long id,
      FabricRoute route,
      int[] channels,
      long bytes,
      long timePs,
      Interconnect.Sink sink,
      int sinkArg,
      boolean tellInjected) {
    BufferedTransfer t = freeTransfers.poll();
    if (t == null) {
      t = new BufferedTransfer(transfers.size());
      transfers.add(t);
    }
    t.id = id;
    t.route = route.links;
    t.way = route.way;
    t.channels = channels;
    t.hops = route.links.length;
    t.bytes = bytes;
    t.earliestPs = timePs + route.latencyPs + serialPs(route, bytes);
    t.worstWaitPs = 0;
    t.worstLink = -1;
    t.memoryPs = 0;
    t.tellInjected = tellInjected;
    t.reads = false;
    t.writes = false;
    t.sinkArg = sinkArg;
    t.sink = sink;
    return t;
  }

  /** What bytes take on the narrowest link of a route, flit by flit. */
  long serialPs(FabricRoute route, long bytes) {
    long rest = bytes % flitBytes;
    return bytes / flitBytes * route.narrowest.durationPs(flitBytes)
        + route.narrowest.durationPs(rest);
  }

  /** Whether a transfer has a packet of this number; an empty one has one. */
  boolean hasPacket(BufferedTransfer t, long number) {
    return number == 0 || number * chunkBytes < t.bytes;
  }

  /** The packet of this number. */
  BufferedPacket packet(BufferedTransfer t, long number) {
    BufferedPacket p = freePackets.poll();
    if (p == null) {
      p = new BufferedPacket(packets.size(), t);
      packets.add(p);
    }
    p.start(t, number, Math.min(chunkBytes, t.bytes - number * chunkBytes), flitBytes);
    return p;
  }

  /** The packet that an event names. */
  BufferedPacket packet(int index) {
    return packets.get(index);
  }

  /** A packet is where it was to go; if it was the last, its transfer arrives at a time. */
  void ended(BufferedPacket p, long arrivesPs) {
    freePackets.add(p);
    BufferedTransfer t = p.transfer;
    if (!hasPacket(t, p.number + 1)) {
      Interconnect.Sink sink = t.sink();
      t.sink = null;
      freeTransfers.add(t);
      sink.onDelivered(t.sinkArg, arrivesPs, Math.max(0, arrivesPs - t.earliestPs), t.worstLink);
    }
  }
}
