package org.kernbench.device.simulator;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import org.kernbench.device.simulator.FlitMeshTraffic.Packet;

/**
 * A mesh of wormhole routers with finite buffers and virtual channels, stepped cycle by cycle: what
 * {@code BufferedFabric} is compared with. It shares no code and no idea of time with the fabric,
 * and arbitrates as hardware does.
 *
 * <p>Each input port has a queue of {@code depth} flits per virtual channel. Per cycle, in this
 * order: flits and credits arrive; heads at the front of their queues ask for the channel of their
 * output, which is given to the input ports in turn and kept until the tail has left; each output
 * passes one flit, of its channels in turn, if there is a credit; each input port gives at most one
 * flit. A flit that has arrived may leave in the same cycle. XY routing; a packet keeps its virtual
 * channel. Links take {@link FlitMesh#HOP_CYCLES} cycles between routers, {@link
 * FlitMesh#LOCAL_CYCLES} between a router and its node, credits as long back; sinks take what
 * comes.
 */
public final class WormholeMesh {
  private static final int LOCAL = 4;
  private static final int PORTS = 5;
  private static final int[] DX = {1, -1, 0, 0};
  private static final int[] DY = {0, 0, 1, -1};
  private static final int[] OPPOSITE = {1, 0, 3, 2};

  /** What is on a wire, by the cycle at which it arrives. */
  private static final class Wire {
    private final int[][] at;
    private final int cycles;

    Wire(int cycles) {
      this.cycles = cycles;
      at = new int[cycles + 1][];
    }

    void put(long cycle, int... what) {
      at[(int) ((cycle + cycles) % at.length)] = what;
    }

    int[] take(long cycle) {
      int place = (int) (cycle % at.length);
      int[] what = at[place];
      at[place] = null;
      return what == null ? new int[0] : what;
    }
  }

  /** A queue of one input port, or of a source. */
  private static final class Queue {
    final Deque<int[]> flits = new ArrayDeque<>(); // packet, number
    int output = -1; // granted to the packet in front
  }

  private static final class Router {
    final Queue[][] in; // by port and channel
    final Wire[] arriving = new Wire[PORTS];
    final Wire[] leaving = new Wire[PORTS];
    final Wire[] creditsIn = new Wire[PORTS]; // for our outputs
    final Wire[] creditsOut = new Wire[PORTS]; // of our inputs
    final int[][] credits; // by output and channel
    final int[][] owner; // by output and channel: input port, -1 for none
    final int[] lastChannel = new int[PORTS];
    final int[][] lastPort;

    Router(int channels, int depth) {
      in = new Queue[PORTS][channels];
      credits = new int[PORTS][channels];
      owner = new int[PORTS][channels];
      lastPort = new int[PORTS][channels];
      for (int port = 0; port < PORTS; port++) {
        Arrays.fill(credits[port], port == LOCAL ? Integer.MAX_VALUE / 2 : depth);
        Arrays.fill(owner[port], -1);
        Arrays.fill(lastPort[port], -1);
        for (int vc = 0; vc < channels; vc++) {
          in[port][vc] = new Queue();
        }
      }
    }
  }

  private final FlitMeshTraffic traffic;
  private final int side;
  private final int channels;
  private final Router[] routers;

  // sources: packets by channel, flits sent of the first, credits, turn
  private final List<List<Deque<Integer>>> sources = new ArrayList<>();
  private final int[][] sent;
  private final int[][] sourceCredits;
  private final int[] sourceTurn;

  private final long[] delivered;
  private int deliveredCount;

  private WormholeMesh(FlitMeshTraffic traffic, int depth, int channels) {
    this.traffic = traffic;
    this.side = traffic.side();
    this.channels = channels;
    int nodes = side * side;
    routers = new Router[nodes];
    sent = new int[nodes][channels];
    sourceCredits = new int[nodes][channels];
    sourceTurn = new int[nodes];
    for (int node = 0; node < nodes; node++) {
      Router r = new Router(channels, depth);
      routers[node] = r;
      r.arriving[LOCAL] = new Wire(FlitMesh.LOCAL_CYCLES);
      r.leaving[LOCAL] = new Wire(FlitMesh.LOCAL_CYCLES);
      r.creditsOut[LOCAL] = new Wire(FlitMesh.LOCAL_CYCLES);
      Arrays.fill(sourceCredits[node], depth);
      List<Deque<Integer>> queues = new ArrayList<>();
      for (int vc = 0; vc < channels; vc++) {
        queues.add(new ArrayDeque<>());
      }
      sources.add(queues);
    }
    for (int node = 0; node < nodes; node++) {
      for (int port = 0; port < LOCAL; port++) {
        int x = node % side + DX[port];
        int y = node / side + DY[port];
        if (x >= 0 && x < side && y >= 0 && y < side) {
          Router next = routers[y * side + x];
          Wire wire = new Wire(FlitMesh.HOP_CYCLES);
          Wire back = new Wire(FlitMesh.HOP_CYCLES);
          routers[node].leaving[port] = wire;
          next.arriving[OPPOSITE[port]] = wire;
          next.creditsOut[OPPOSITE[port]] = back;
          routers[node].creditsIn[port] = back;
        }
      }
    }
    delivered = new long[traffic.packets().size()];
  }

  /**
   * Runs until every packet is delivered; packet {@code i} uses channel {@code i mod channels}.
   *
   * @param depth flits of a queue
   * @return by packet, the cycle by whose beginning its tail has arrived
   */
  public static long[] run(FlitMeshTraffic traffic, int depth, int channels) {
    WormholeMesh mesh = new WormholeMesh(traffic, depth, channels);
    List<Packet> packets = traffic.packets();
    int offered = 0;
    for (long cycle = 0; mesh.deliveredCount < packets.size(); cycle++) {
      while (offered < packets.size() && packets.get(offered).cycle() == cycle) {
        mesh.sources.get(packets.get(offered).source()).get(offered % channels).add(offered);
        offered++;
      }
      for (int node = 0; node < mesh.routers.length; node++) {
        mesh.receive(node, cycle);
      }
      for (int node = 0; node < mesh.routers.length; node++) {
        mesh.inject(node, cycle);
        mesh.allocate(node);
        mesh.send(node, cycle);
      }
    }
    return mesh.delivered;
  }

  private void receive(int node, long cycle) {
    Router r = routers[node];
    for (int port = 0; port < PORTS; port++) {
      if (r.arriving[port] != null) {
        int[] flit = r.arriving[port].take(cycle);
        if (flit.length > 0) {
          r.in[port][flit[0] % channels].flits.add(flit);
        }
      }
      if (r.creditsIn[port] != null) {
        for (int vc : r.creditsIn[port].take(cycle)) {
          r.credits[port][vc]++;
        }
      }
    }
    for (int vc : r.creditsOut[LOCAL].take(cycle)) {
      sourceCredits[node][vc]++;
    }
    int[] out = r.leaving[LOCAL].take(cycle);
    if (out.length > 0 && out[1] == traffic.packetFlits() - 1) {
      delivered[out[0]] = cycle + 1;
      deliveredCount++;
    }
  }

  private void inject(int node, long cycle) {
    for (int i = 1; i <= channels; i++) {
      int vc = (sourceTurn[node] + i) % channels;
      Deque<Integer> queue = sources.get(node).get(vc);
      if (!queue.isEmpty() && sourceCredits[node][vc] > 0) {
        sourceCredits[node][vc]--;
        sourceTurn[node] = vc;
        routers[node].arriving[LOCAL].put(cycle, queue.peek(), sent[node][vc]);
        if (++sent[node][vc] == traffic.packetFlits()) {
          sent[node][vc] = 0;
          queue.remove();
        }
        return;
      }
    }
  }

  private int outputAt(int node, int packet) {
    int destination = traffic.packets().get(packet).destination();
    int dx = Integer.signum(destination % side - node % side);
    int dy = Integer.signum(destination / side - node / side);
    for (int port = 0; port < LOCAL; port++) {
      if (dx != 0 ? DX[port] == dx : dy != 0 && DY[port] == dy) {
        return port;
      }
    }
    return LOCAL;
  }

  private void allocate(int node) {
    Router r = routers[node];
    for (int vc = 0; vc < channels; vc++) {
      int[] wanted = new int[PORTS];
      for (int port = 0; port < PORTS; port++) {
        Queue q = r.in[port][vc];
        boolean asks = q.output < 0 && !q.flits.isEmpty();
        wanted[port] = asks ? outputAt(node, q.flits.peek()[0]) : -1;
      }
      for (int output = 0; output < PORTS; output++) {
        for (int i = 1; i <= PORTS && r.owner[output][vc] < 0; i++) {
          int port = (r.lastPort[output][vc] + i) % PORTS;
          if (wanted[port] == output) {
            r.owner[output][vc] = port;
            r.lastPort[output][vc] = port;
            r.in[port][vc].output = output;
          }
        }
      }
    }
  }

  private void send(int node, long cycle) {
    Router r = routers[node];
    boolean[] gave = new boolean[PORTS];
    for (int j = 0; j < PORTS; j++) {
      int output = (int) ((j + cycle) % PORTS);
      for (int i = 1; i <= channels; i++) {
        int vc = (r.lastChannel[output] + i) % channels;
        int port = r.owner[output][vc];
        if (port >= 0 && !gave[port] && canGo(r, port, vc, output)) {
          gave[port] = true;
          r.lastChannel[output] = vc;
          pass(r, port, vc, output, cycle);
          break;
        }
      }
    }
  }

  private static boolean canGo(Router r, int port, int vc, int output) {
    return !r.in[port][vc].flits.isEmpty() && r.credits[output][vc] > 0;
  }

  private void pass(Router r, int port, int vc, int output, long cycle) {
    Queue q = r.in[port][vc];
    int[] flit = q.flits.remove();
    r.credits[output][vc]--;
    r.leaving[output].put(cycle, flit);
    r.creditsOut[port].put(cycle, vc);
    if (flit[1] == traffic.packetFlits() - 1) {
      q.output = -1;
      r.owner[output][vc] = -1;
    }
  }
}
