package org.kernbench.device;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import org.kernbench.device.FlitMeshTraffic.Packet;

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
final class FlitMesh {
  static final int HOP_CYCLES = 3;
  static final int LOCAL_CYCLES = 1;

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

  /** A packet inside a router (or a source): how much of it has come, how much has gone. */
  private static final class Holding {
    final int packet;
    int arrived;
    int sent;

    Holding(int packet) {
      this.packet = packet;
    }
  }

  /** A link: what is on it, in a ring of cycles. */
  private static final class Wire {
    private final int[] packetAt;

    Wire(int cycles) {
      packetAt = new int[cycles];
      Arrays.fill(packetAt, -1);
    }

    /**
     * The packet of the flit that arrives in this cycle, or -1. To be called before {@link #send}
     * of the cycle.
     */
    int arrival(long cycle) {
      int place = (int) (cycle % packetAt.length);
      int packet = packetAt[place];
      packetAt[place] = -1;
      return packet;
    }

    void send(long cycle, int packet) {
      packetAt[(int) (cycle % packetAt.length)] = packet;
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
  private final Tie tie;
  private final int side;
  private final Router[] routers;
  private final List<Deque<Holding>> sources = new ArrayList<>();
  private final int[] flitsAtSink;
  private final long[] delivered;
  private int deliveredCount;

  private FlitMesh(FlitMeshTraffic traffic, Tie tie) {
    this.traffic = traffic;
    this.tie = tie;
    side = traffic.side();
    routers = new Router[side * side];
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

  /**
   * Runs until every packet is delivered. Returns, by packet, the cycle by whose beginning its tail
   * has arrived.
   */
  static long[] run(FlitMeshTraffic traffic, Tie tie) {
    FlitMesh mesh = new FlitMesh(traffic, tie);
    int offered = 0;
    for (long cycle = 0; mesh.deliveredCount < mesh.delivered.length; cycle++) {
      for (int node = 0; node < mesh.routers.length; node++) {
        mesh.receive(node, cycle);
      }
      List<Packet> packets = traffic.packets();
      while (offered < packets.size() && packets.get(offered).cycle() == cycle) {
        Holding all = new Holding(offered);
        all.arrived = traffic.packetFlits();
        mesh.sources.get(packets.get(offered).source()).add(all);
        offered++;
      }
      for (int node = 0; node < mesh.routers.length; node++) {
        mesh.send(node, cycle);
      }
    }
    return mesh.delivered;
  }

  private void receive(int node, long cycle) {
    Router router = routers[node];
    List<Holding> heads = new ArrayList<>(PORTS);
    for (int i = 0; i < PORTS; i++) {
      int port = (int) ((i + cycle) % PORTS);
      int packet = router.in[port] == null ? -1 : router.in[port].arrival(cycle);
      if (packet >= 0) {
        Holding holding = router.arriving[port];
        if (holding == null) {
          holding = new Holding(packet);
          router.arriving[port] = holding;
          heads.add(holding);
        }
        holding.arrived++;
        if (holding.arrived == traffic.packetFlits()) {
          router.arriving[port] = null;
        }
      }
    }
    if (tie == Tie.PACKET) {
      heads.sort(Comparator.comparingInt(h -> h.packet));
    }
    for (Holding head : heads) {
      router.waiting.get(outputAt(node, head.packet)).add(head);
    }
    int leaving = router.out[LOCAL].arrival(cycle);
    if (leaving >= 0 && ++flitsAtSink[leaving] == traffic.packetFlits()) {
      delivered[leaving] = cycle + 1;
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
    sendOneFlit(sources.get(node), router.in[LOCAL], cycle);
    for (int port = 0; port < PORTS; port++) {
      sendOneFlit(router.waiting.get(port), router.out[port], cycle);
    }
  }

  private void sendOneFlit(Deque<Holding> waiting, Wire wire, long cycle) {
    Holding first = waiting.peekFirst();
    if (first != null && first.sent < first.arrived) {
      wire.send(cycle, first.packet);
      first.sent++;
      if (first.sent == traffic.packetFlits()) {
        waiting.removeFirst();
      }
    }
  }
}
