package org.kernbench.device.simulator;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import org.kernbench.device.simulator.FlitMeshTraffic.Packet;

/**
 * A mesh of routers, stepped cycle by cycle, flit by flit: the independent and slow model that the
 * fabric's event per chunk and link is compared with. It shares no code and no idea of time with
 * the fabric.
 *
 * <p>Virtual cut-through with unlimited buffers: a flit that has reached a router may leave in that
 * very cycle; an output belongs to one packet from its head to its tail; packets are given an
 * output in the order in which their heads arrived; no input blocks another packet (there is a
 * buffer for every packet). XY routing, one flit per link and cycle, links of {@value #HOP_CYCLES}
 * cycles between routers (the router included) and of {@value #LOCAL_CYCLES} between a router and
 * its node.
 */
public final class FlitMesh {
  public static final int HOP_CYCLES = 3;
  public static final int LOCAL_CYCLES = 1;

  /** Which of the heads that reach a router in the same cycle comes first. */
  enum Tie {
    /**
     * The input ports in turn, beginning with another one every cycle, as an arbiter in hardware
     * does.
     */
    ROTATING_PORT,
    /** The packet offered first: the fabric's rule, for comparison packet by packet. */
    PACKET
  }

  private static final int EAST = 0;
  private static final int WEST = 1;
  private static final int SOUTH = 2;
  private static final int NORTH = 3;
  private static final int LOCAL = 4;
  private static final int PORTS = 5;

  /** A chunk inside a router (or a source): how much of it has come, how much has gone. */
  private static final class Holding {
    final int chunk;
    int arrived;
    int sent;

    Holding(int chunk) {
      this.chunk = chunk;
    }
  }

  /** A link: what is on it, in a ring of cycles. */
  private static final class Wire {
    private final int[] chunkAt;

    Wire(int cycles) {
      chunkAt = new int[cycles];
      Arrays.fill(chunkAt, -1);
    }

    /**
     * The chunk of the flit that arrives in this cycle, or -1. To be called before {@link #send} of
     * the cycle.
     */
    int arrival(long cycle) {
      int place = (int) (cycle % chunkAt.length);
      int chunk = chunkAt[place];
      chunkAt[place] = -1;
      return chunk;
    }

    void send(long cycle, int chunk) {
      chunkAt[(int) (cycle % chunkAt.length)] = chunk;
    }
  }

  private static final class Router {
    final Wire[] in = new Wire[PORTS];
    final Wire[] out = new Wire[PORTS];
    final Holding[] arriving = new Holding[PORTS];
    final List<Deque<Holding>> waiting = new ArrayList<>();

    Router() {
      for (int port = 0; port < PORTS; port++) {
        waiting.add(new ArrayDeque<>());
      }
    }
  }

  private final FlitMeshTraffic traffic;
  private final int chunkFlits;
  private final int chunksPerPacket;
  private final Tie tie;
  private final int side;
  private final Router[] routers;
  private final List<Deque<Holding>> sources = new ArrayList<>();
  private final int[] nextChunk;
  private final int[] flitsAtSink;
  private final long[] delivered;
  private int deliveredCount;

  private FlitMesh(FlitMeshTraffic traffic, int chunkFlits, Tie tie) {
    this.traffic = traffic;
    this.chunkFlits = chunkFlits;
    chunksPerPacket = traffic.packetFlits() / chunkFlits;
    this.tie = tie;
    side = traffic.side();
    routers = new Router[side * side];
    nextChunk = new int[side * side];
    Arrays.fill(nextChunk, -1);
    flitsAtSink = new int[traffic.packets().size()];
    delivered = new long[flitsAtSink.length];
    for (int node = 0; node < routers.length; node++) {
      routers[node] = new Router();
      sources.add(new ArrayDeque<>());
    }
    for (int node = 0; node < routers.length; node++) {
      wire(node);
    }
  }

  private void wire(int node) {
    Router here = routers[node];
    here.in[LOCAL] = new Wire(LOCAL_CYCLES);
    here.out[LOCAL] = new Wire(LOCAL_CYCLES);
    if (node % side + 1 < side) {
      connect(here, EAST, routers[node + 1], WEST);
    }
    if (node / side + 1 < side) {
      connect(here, SOUTH, routers[node + side], NORTH);
    }
  }

  private static void connect(Router a, int portOfA, Router b, int portOfB) {
    a.out[portOfA] = new Wire(HOP_CYCLES);
    b.in[portOfB] = a.out[portOfA];
    b.out[portOfB] = new Wire(HOP_CYCLES);
    a.in[portOfA] = b.out[portOfB];
  }

  /** Each packet in one piece. */
  static long[] run(FlitMeshTraffic traffic, Tie tie) {
    return run(traffic, traffic.packetFlits(), tie);
  }

  /**
   * Runs until every packet is delivered.
   *
   * @param chunkFlits what a link belongs to from head to tail; a packet is a train of such chunks,
   *     the next one offered when the tail of the last one has left, behind those that wait already
   * @return by packet, the cycle by whose beginning its tail has arrived
   */
  static long[] run(FlitMeshTraffic traffic, int chunkFlits, Tie tie) {
    FlitMesh mesh = new FlitMesh(traffic, chunkFlits, tie);
    int offered = 0;
    for (long cycle = 0; mesh.deliveredCount < mesh.delivered.length; cycle++) {
      for (int node = 0; node < mesh.routers.length; node++) {
        mesh.receive(node, cycle);
        mesh.offerNextChunk(node);
      }
      List<Packet> packets = traffic.packets();
      while (offered < packets.size() && packets.get(offered).cycle() == cycle) {
        mesh.offer(packets.get(offered).source(), offered * mesh.chunksPerPacket);
        offered++;
      }
      for (int node = 0; node < mesh.routers.length; node++) {
        mesh.send(node, cycle);
      }
    }
    return mesh.delivered;
  }

  private void offer(int node, int chunk) {
    Holding all = new Holding(chunk);
    all.arrived = chunkFlits;
    sources.get(node).add(all);
  }

  private void offerNextChunk(int node) {
    if (nextChunk[node] >= 0) {
      offer(node, nextChunk[node]);
      nextChunk[node] = -1;
    }
  }

  private void receive(int node, long cycle) {
    Router router = routers[node];
    List<Holding> heads = new ArrayList<>(PORTS);
    for (int i = 0; i < PORTS; i++) {
      int port = (int) ((i + cycle) % PORTS);
      int chunk = router.in[port] == null ? -1 : router.in[port].arrival(cycle);
      if (chunk >= 0) {
        Holding holding = router.arriving[port];
        if (holding == null) {
          holding = new Holding(chunk);
          router.arriving[port] = holding;
          heads.add(holding);
        }
        holding.arrived++;
        if (holding.arrived == chunkFlits) {
          router.arriving[port] = null;
        }
      }
    }
    if (tie == Tie.PACKET) {
      heads.sort(Comparator.comparingInt(h -> h.chunk));
    }
    for (Holding head : heads) {
      router.waiting.get(outputAt(node, head.chunk / chunksPerPacket)).add(head);
    }
    int leaving = router.out[LOCAL].arrival(cycle);
    if (leaving >= 0) {
      arriveAtSink(leaving / chunksPerPacket, cycle);
    }
  }

  private void arriveAtSink(int packet, long cycle) {
    flitsAtSink[packet]++;
    if (flitsAtSink[packet] == traffic.packetFlits()) {
      delivered[packet] = cycle + 1;
      deliveredCount++;
    }
  }

  private int outputAt(int node, int packet) {
    int destination = traffic.packets().get(packet).destination();
    int dx = destination % side - node % side;
    int dy = destination / side - node / side;
    if (dx != 0) {
      return dx > 0 ? EAST : WEST;
    }
    if (dy != 0) {
      return dy > 0 ? SOUTH : NORTH;
    }
    return LOCAL;
  }

  private void send(int node, long cycle) {
    Router router = routers[node];
    int left = sendOneFlit(sources.get(node), router.in[LOCAL], cycle);
    if (left >= 0 && (left + 1) % chunksPerPacket != 0) {
      nextChunk[node] = left + 1;
    }
    for (int port = 0; port < PORTS; port++) {
      sendOneFlit(router.waiting.get(port), router.out[port], cycle);
    }
  }

  /** Returns the chunk whose tail has left in this cycle, or -1. */
  private int sendOneFlit(Deque<Holding> waiting, Wire wire, long cycle) {
    Holding first = waiting.peekFirst();
    if (first != null && first.sent < first.arrived) {
      wire.send(cycle, first.chunk);
      first.sent++;
      if (first.sent == chunkFlits) {
        waiting.removeFirst();
        return first.chunk;
      }
    }
    return -1;
  }
}
