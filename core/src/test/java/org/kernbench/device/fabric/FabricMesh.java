package org.kernbench.device.fabric;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.kernbench.device.simulator.FlitMesh;
import org.kernbench.device.simulator.FlitMeshTraffic;
import org.kernbench.machine.spec.FabricSpec;
import org.kernbench.machine.spec.RouterSpec;
import org.kernbench.sim.Rate;
import org.kernbench.sim.Simulation;

/**
 * The mesh of {@link FlitMesh} as links of a {@link Fabric}: one flit is {@value #FLIT_BYTES}
 * bytes, one cycle {@value #CYCLE_PS} ps, a link passes one flit per cycle.
 */
public final class FabricMesh {
  private static final int FLIT_BYTES = 64;
  private static final long CYCLE_PS = 1_000;
  private static final Rate FLIT_PER_CYCLE =
      Rate.ofBytesPerSecond(FLIT_BYTES * 1_000_000_000_000L / CYCLE_PS);

  private final int side;
  private final int[][] linkTo;
  private final List<Long> latencies = new ArrayList<>();
  private final List<int[]> ends = new ArrayList<>();
  private final int hop;
  private final int local;

  private FabricMesh(int side, int hop, int local) {
    this.side = side;
    this.hop = hop;
    this.local = local;
    int nodes = side * side;
    // Routers are 0 .. nodes-1, the nodes behind them nodes .. 2*nodes-1.
    linkTo = new int[2 * nodes][2 * nodes];
    // Into a router by number: from the east, west, south, north, from its node.
    for (int[] step : new int[][] {{1, 0}, {-1, 0}, {0, 1}, {0, -1}}) {
      for (int a = 0; a < nodes; a++) {
        int x = a % side + step[0];
        int y = a / side + step[1];
        if (x >= 0 && x < side && y >= 0 && y < side) {
          connect(y * side + x, a, hop);
        }
      }
    }
    for (int a = 0; a < nodes; a++) {
      connect(nodes + a, a, local);
      connect(a, nodes + a, local);
    }
  }

  private void connect(int from, int to, int cycles) {
    linkTo[from][to] = latencies.size();
    latencies.add(cycles * CYCLE_PS);
    ends.add(new int[] {from, to});
  }

  private int[] route(int source, int destination) {
    List<Integer> stops = new ArrayList<>(List.of(side * side + source, source));
    int at = source;
    while (at % side != destination % side) {
      at += Integer.signum(destination % side - at % side);
      stops.add(at);
    }
    while (at != destination) {
      at += side * Integer.signum(destination - at);
      stops.add(at);
    }
    stops.add(side * side + destination);
    int[] links = new int[stops.size() - 1];
    for (int i = 0; i < links.length; i++) {
      links[i] = linkTo[stops.get(i)][stops.get(i + 1)];
    }
    return links;
  }

  /**
   * Runs the traffic over a fabric, each packet one transfer.
   *
   * @param chunkFlits the fabric's chunk; at least the packet for virtual cut-through, where no
   *     link lets another packet in between
   * @return by packet, the cycle by whose beginning it was delivered
   */
  public static long[] run(FlitMeshTraffic traffic, int chunkFlits) {
    return run(
        traffic,
        1,
        (sim, rates, latenciesPs) ->
            new Fabric(sim, FabricRig.wires((long) chunkFlits * FLIT_BYTES, rates, latenciesPs)));
  }

  /**
   * The same with finite buffers; packet {@code i} uses virtual channel {@code i mod channels}.
   *
   * @param depth flits that the buffer of a channel holds
   */
  static long[] runBuffered(FlitMeshTraffic traffic, int depth, int channels) {
    FabricSpec spec =
        new FabricSpec(
            (long) traffic.packetFlits() * FLIT_BYTES,
            (long) depth * FLIT_BYTES,
            FLIT_BYTES,
            channels);
    return run(
        traffic,
        channels,
        (sim, rates, latenciesPs) -> new BufferedFabric(sim, spec, rates, latenciesPs));
  }

  /**
   * The same with routers that are clocked, which choose the channels.
   *
   * @param hop cycles of a link between routers
   * @param local of one between a router and its node
   */
  static long[] runRouters(
      FlitMeshTraffic traffic, RouterSpec router, int channels, int depth, int hop, int local) {
    FabricSpec spec =
        new FabricSpec(
            (long) traffic.packetFlits() * FLIT_BYTES,
            (long) depth * FLIT_BYTES,
            FLIT_BYTES,
            channels,
            Optional.of(router));
    FabricMesh mesh = new FabricMesh(traffic.side(), hop, local);
    int nodes = traffic.side() * traffic.side();
    boolean[] isRouter = new boolean[2 * nodes];
    Arrays.fill(isRouter, 0, nodes, true);
    RouterFabric.Joints joints =
        new RouterFabric.Joints(
            mesh.ends.stream().mapToInt(e -> e[0]).toArray(),
            mesh.ends.stream().mapToInt(e -> e[1]).toArray(),
            isRouter);
    return run(
        traffic,
        1,
        mesh,
        (sim, rates, latenciesPs) -> new RouterFabric(sim, spec, rates, latenciesPs, joints));
  }

  private interface Maker {
    Interconnect make(Simulation sim, Rate[] rates, long[] latenciesPs);
  }

  private static long[] run(FlitMeshTraffic traffic, int channels, Maker maker) {
    FabricMesh mesh = new FabricMesh(traffic.side(), FlitMesh.HOP_CYCLES, FlitMesh.LOCAL_CYCLES);
    return run(traffic, channels, mesh, maker);
  }

  private static long[] run(FlitMeshTraffic traffic, int channels, FabricMesh mesh, Maker maker) {
    long[] latenciesPs = mesh.latencies.stream().mapToLong(ps -> ps).toArray();
    Rate[] rates = new Rate[latenciesPs.length];
    Arrays.fill(rates, FLIT_PER_CYCLE);
    Simulation sim = new Simulation();
    Interconnect fabric = maker.make(sim, rates, latenciesPs);
    int nodes = traffic.side() * traffic.side();
    FabricRoute[][][] routes = new FabricRoute[channels][nodes][nodes];
    for (int vc = 0; vc < channels; vc++) {
      for (int a = 0; a < nodes; a++) {
        for (int b = 0; b < nodes; b++) {
          FabricRoute route = FabricRig.route(mesh.route(a, b), rates, latenciesPs);
          route.channels = new int[route.links.length];
          Arrays.fill(route.channels, vc);
          routes[vc][a][b] = route;
        }
      }
    }
    long[] delivered = new long[traffic.packets().size()];
    Interconnect.Sink sink =
        new Interconnect.Sink() {
          @Override
          public void onInjected(int arg, long timePs) {
            throw new AssertionError("nobody asked");
          }

          @Override
          public void onDelivered(int arg, long timePs, long waitPs, int worstLink) {
            delivered[arg] = Math.ceilDiv(timePs, CYCLE_PS);
          }
        };
    for (int i = 0; i < delivered.length; i++) {
      FlitMeshTraffic.Packet p = traffic.packets().get(i);
      long bytes = (long) traffic.packetFlits() * FLIT_BYTES;
      FabricRoute route = routes[i % channels][p.source()][p.destination()];
      fabric.begin(i, route, bytes, p.cycle() * CYCLE_PS, sink, i, false, null);
    }
    sim.run();
    return delivered;
  }
}
