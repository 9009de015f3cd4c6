package org.kernbench.device.simulator;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.kernbench.machine.spec.RouterAllocator;
import org.kernbench.machine.spec.RouterSpec;

/**
 * A mesh of pipelined virtual-channel routers, stepped cycle by cycle over everything there is:
 * what {@code RouterFabric} is compared with. It shares no code with it, has no events but a list
 * of what happens in each cycle, and looks at every queue of every router in every cycle.
 *
 * <p>The router is the one of the textbooks (Dally and Towles, 2004, chapter 16): route
 * computation, virtual-channel allocation, switch allocation, traversal, one link per direction,
 * credits. XY routing. What comes from the east is port 0 and goes on west, then west, south, north
 * and the node; links take {@code hop} cycles, those of nodes {@code local}.
 */
public final class RouterMesh {
  private static final int PORTS = 5;
  private static final int LOCAL = 4;

  /** What happens in a later cycle. */
  private interface Happening {
    void happen(long cycle);
  }

  private static final class Queue {
    final Deque<int[]> flits = new ArrayDeque<>(); // packet, number
    int output = -1;
    int channel = -1;
    long since;
  }

  private final FlitMeshTraffic traffic;
  private final RouterSpec spec;
  private final int side;
  private final int vcs;
  private final int hop;
  private final int local;

  private final Queue[][][] in; // node, port, channel
  private final int[][][] credits; // node, output, channel
  private final boolean[][][] taken;
  private final long[][][] reusable;
  private final int[][][] inputTurn;
  private final int[][] channelTurn; // node, input
  private final int[][] portTurn;
  private final int[][] outputTurn;
  private final int[][] queueTurn;

  private final List<Deque<int[]>> sources = new ArrayList<>();
  private final int[] sourceChannel;
  private final int[] sourceTurn;
  private final int[][] sourceCredits;
  private final boolean[][] sourceTaken;
  private final long[][] sourceReusable;
  private final long[][] linkFree; // node, output: with speed-up flits queue for the link

  private final Map<Long, List<Happening>> later = new HashMap<>();
  private final long[] delivered;
  private int deliveredCount;

  private RouterMesh(
      FlitMeshTraffic traffic, RouterSpec spec, int vcs, int depth, int hop, int local) {
    this.traffic = traffic;
    this.spec = spec;
    this.vcs = vcs;
    this.hop = hop;
    this.local = local;
    side = traffic.side();
    int nodes = side * side;
    in = new Queue[nodes][PORTS][vcs];
    credits = new int[nodes][PORTS][vcs];
    taken = new boolean[nodes][PORTS][vcs];
    reusable = new long[nodes][PORTS][vcs];
    inputTurn = new int[nodes][PORTS][vcs];
    channelTurn = new int[nodes][PORTS * vcs];
    portTurn = new int[nodes][PORTS];
    outputTurn = new int[nodes][PORTS];
    queueTurn = new int[nodes][PORTS];
    sourceChannel = new int[nodes];
    sourceTurn = new int[nodes];
    sourceCredits = new int[nodes][vcs];
    sourceTaken = new boolean[nodes][vcs];
    sourceReusable = new long[nodes][vcs];
    linkFree = new long[nodes][PORTS];
    Arrays.fill(sourceChannel, -1);
    for (int node = 0; node < nodes; node++) {
      sources.add(new ArrayDeque<>());
      Arrays.fill(sourceCredits[node], depth);
      for (int port = 0; port < PORTS; port++) {
        Arrays.fill(credits[node][port], port == LOCAL ? Integer.MAX_VALUE : depth);
        for (int vc = 0; vc < vcs; vc++) {
          in[node][port][vc] = new Queue();
        }
      }
    }
    delivered = new long[traffic.packets().size()];
    Arrays.fill(delivered, -1);
  }

  /**
   * Runs until every packet is delivered, or to a cycle.
   *
   * @return by packet, the cycle by whose beginning its tail has arrived; -1 if it has not
   */
  public static long[] run(
      FlitMeshTraffic traffic,
      RouterSpec spec,
      int vcs,
      int depth,
      int hop,
      int local,
      long mostCycles) {
    RouterMesh mesh = new RouterMesh(traffic, spec, vcs, depth, hop, local);
    List<FlitMeshTraffic.Packet> packets = traffic.packets();
    int offered = 0;
    for (long cycle = 0; cycle < mostCycles && mesh.deliveredCount < packets.size(); cycle++) {
      List<Happening> now = mesh.later.remove(cycle);
      if (now != null) {
        for (Happening each : now) {
          each.happen(cycle);
        }
      }
      for (; offered < packets.size() && packets.get(offered).cycle() == cycle; offered++) {
        for (int flit = 0; flit < traffic.packetFlits(); flit++) {
          mesh.sources.get(packets.get(offered).source()).add(new int[] {offered, flit});
        }
      }
      for (int node = 0; node < mesh.side * mesh.side; node++) {
        mesh.inject(node, cycle);
        mesh.giveChannels(node, cycle);
        for (int round = 0; round < spec.speedUp(); round++) {
          mesh.giveSwitch(node, cycle);
        }
      }
    }
    return mesh.delivered;
  }

  private void at(long cycle, Happening what) {
    later.computeIfAbsent(cycle, c -> new ArrayList<>()).add(what);
  }

  private void enqueue(int node, int port, int vc, int[] flit, long cycle) {
    Queue q = in[node][port][vc];
    if (q.flits.isEmpty() && q.channel < 0) {
      q.since = Math.max(q.since, cycle);
    }
    q.flits.add(flit);
  }

  private void inject(int node, long cycle) {
    Deque<int[]> source = sources.get(node);
    if (source.isEmpty()) {
      return;
    }
    for (int k = 0; k < vcs && sourceChannel[node] < 0; k++) {
      boolean inTurn = spec.allocator() == RouterAllocator.SEPARABLE;
      int vc = inTurn ? (sourceTurn[node] + k) % vcs : k;
      if (!sourceTaken[node][vc] && sourceReusable[node][vc] <= cycle) {
        sourceChannel[node] = vc;
        sourceTaken[node][vc] = true;
        sourceTurn[node] = vc + 1;
      }
    }
    int vc = sourceChannel[node];
    if (vc < 0 || sourceCredits[node][vc] == 0) {
      return;
    }
    int[] flit = source.remove();
    sourceCredits[node][vc]--;
    at(cycle + local, c -> enqueue(node, LOCAL, vc, flit, c));
    if (flit[1] == traffic.packetFlits() - 1) {
      sourceChannel[node] = -1;
      sourceTaken[node][vc] = false;
      sourceReusable[node][vc] = cycle + spec.channelReuse();
    }
  }

  private int outputAt(int node, int packet) {
    int to = traffic.packets().get(packet).destination();
    int dx = to % side - node % side;
    int dy = to / side - node / side;
    if (dx != 0) {
      return dx > 0 ? 1 : 0;
    }
    return dy == 0 ? LOCAL : dy > 0 ? 3 : 2;
  }

  private boolean exists(int node, int out) {
    int x = node % side;
    int y = node / side;
    return switch (out) {
      case 0 -> x > 0;
      case 1 -> x < side - 1;
      case 2 -> y > 0;
      case 3 -> y < side - 1;
      default -> true;
    };
  }

  private int neighbour(int node, int port) {
    return node + new int[] {-1, 1, -side, side}[port];
  }

  // ---- virtual channels ----

  private void giveChannels(int node, long cycle) {
    int[] wants = new int[PORTS * vcs];
    for (int i = 0; i < wants.length; i++) {
      Queue q = in[node][i / vcs][i % vcs];
      boolean asks = !q.flits.isEmpty() && q.channel < 0;
      boolean routed = q.since + spec.routeComputation() <= cycle;
      wants[i] = asks && routed ? outputAt(node, q.flits.peek()[0]) : -1;
    }
    boolean separable = spec.allocator() == RouterAllocator.SEPARABLE;
    int[] grants = new int[PORTS * vcs];
    Arrays.fill(grants, -1);
    for (int out = 0; out < PORTS * vcs; out++) {
      int port = out / vcs;
      int vc = out % vcs;
      if (taken[node][port][vc] || reusable[node][port][vc] > cycle) {
        continue;
      }
      for (int k = 0; k < wants.length; k++) {
        int i = (inputTurn[node][port][vc] + k) % wants.length;
        if (wants[i] == port) {
          grants[out] = i;
          break;
        }
      }
      if (!separable && grants[out] >= 0) {
        accept(node, grants[out], port, vc, cycle);
        wants[grants[out]] = -1;
      }
    }
    for (int i = 0; separable && i < wants.length; i++) {
      for (int k = 0; k < vcs && wants[i] >= 0; k++) {
        int vc = (channelTurn[node][i] + k) % vcs;
        if (grants[wants[i] * vcs + vc] == i) {
          accept(node, i, wants[i], vc, cycle);
          break;
        }
      }
    }
  }

  private void accept(int node, int i, int port, int vc, long cycle) {
    inputTurn[node][port][vc] = i + 1;
    channelTurn[node][i] = vc + 1;
    Queue q = in[node][i / vcs][i % vcs];
    q.output = port;
    q.channel = vc;
    q.since = cycle + spec.channelAllocation();
    taken[node][port][vc] = true;
  }

  // ---- the switch ----

  private boolean canGo(int node, int port, int vc, long cycle) {
    Queue q = in[node][port][vc];
    int stages = spec.switchAllocation() + spec.traversal();
    return q.channel >= 0
        && !q.flits.isEmpty()
        && q.since <= cycle
        && credits[node][q.output][q.channel] > 0
        && (spec.speedUp() > 1 || linkFree[node][q.output] <= cycle + stages);
  }

  private void giveSwitch(int node, long cycle) {
    boolean[][] asks = new boolean[PORTS][PORTS];
    for (int port = 0; port < PORTS; port++) {
      for (int vc = 0; vc < vcs; vc++) {
        if (canGo(node, port, vc, cycle)) {
          asks[port][in[node][port][vc].output] = true;
        }
      }
    }
    int[] match = new int[PORTS];
    Arrays.fill(match, -1);
    if (spec.allocator() == RouterAllocator.SEPARABLE) {
      int[] grants = new int[PORTS];
      for (int out = 0; out < PORTS; out++) {
        grants[out] = -1;
        for (int k = PORTS - 1; k >= 0; k--) {
          int port = (portTurn[node][out] + k) % PORTS;
          grants[out] = asks[port][out] ? port : grants[out];
        }
      }
      for (int port = 0; port < PORTS; port++) {
        for (int k = PORTS - 1; k >= 0; k--) {
          int out = (outputTurn[node][port] + k) % PORTS;
          match[port] = grants[out] == port ? out : match[port];
        }
      }
    } else {
      int[] outputs = IntStream.range(0, PORTS).filter(out -> exists(node, out)).toArray();
      for (int j = 0; j < outputs.length; j++) {
        int out = outputs[(int) ((j + cycle) % outputs.length)];
        int best = -1;
        for (int k = PORTS - 1; k >= 0; k--) {
          int port = (portTurn[node][out] + k) % PORTS;
          best = asks[port][out] && match[port] < 0 ? port : best;
        }
        if (best >= 0) {
          match[best] = out;
        }
      }
    }
    for (int port = 0; port < PORTS; port++) {
      if (match[port] >= 0) {
        portTurn[node][match[port]] = port + 1;
        outputTurn[node][port] = match[port] + 1;
        send(node, port, match[port], cycle);
      }
    }
  }

  private void send(int node, int port, int out, long cycle) {
    int vc = -1;
    for (int k = vcs - 1; k >= 0; k--) {
      int each = (queueTurn[node][port] + k) % vcs;
      vc = canGo(node, port, each, cycle) && in[node][port][each].output == out ? each : vc;
    }
    queueTurn[node][port] = vc + 1;
    Queue q = in[node][port][vc];
    final int[] flit = q.flits.remove();
    final int channel = q.channel;
    final boolean tail = flit[1] == traffic.packetFlits() - 1;
    final long leaves = cycle + spec.switchAllocation();
    final long enters = Math.max(leaves + spec.traversal(), linkFree[node][out]);
    linkFree[node][out] = enters + 1;
    if (out == LOCAL) {
      if (tail) {
        delivered[flit[0]] = enters + local + 1;
        deliveredCount++;
      }
    } else {
      credits[node][out][channel]--;
      int next = neighbour(node, out);
      at(enters + hop, c -> enqueue(next, out, channel, flit, c));
    }
    giveBack(node, port, vc, leaves);
    if (tail) {
      q.channel = -1;
      q.output = -1;
      q.since = leaves;
      taken[node][out][channel] = false;
      reusable[node][out][channel] = leaves + spec.channelReuse();
    }
  }

  private void giveBack(int node, int port, int vc, long leaves) {
    if (port == LOCAL) {
      at(leaves + local + spec.creditDelay(), c -> sourceCredits[node][vc]++);
    } else {
      int before = neighbour(node, port ^ 1);
      at(leaves + hop + spec.creditDelay(), c -> credits[before][port][vc]++);
    }
  }
}
