package org.kernbench.device.fabric;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.log.TransferLog;
import org.kernbench.machine.Machine;
import org.kernbench.machine.NodeKind;
import org.kernbench.machine.spec.FabricSpec;
import org.kernbench.machine.spec.LinkSpec;
import org.kernbench.machine.spec.RouterSpec;
import org.kernbench.sim.EventHandler;
import org.kernbench.sim.Rate;
import org.kernbench.sim.Simulation;

/**
 * Links with finite buffers between routers that are clocked ({@link RouterSpec}): wormhole
 * switching with virtual channels that a packet chooses anew at every link.
 *
 * <p>The streaming rule is that of {@link BufferedFabric}: flits of {@code fabric.flit} bytes, a
 * chunk is a packet, a channel belongs to it from head to tail, a flit needs a credit. Here a
 * router takes time. With stages of R, V, S and T cycles, a head that has come to the front of its
 * buffer by the edge k of the clock asks for a channel from cycle {@code k + R} on; is given one in
 * cycle v; asks for the switch from {@code v + V} on, as do the flits behind it; is given it in
 * cycle s; leaves its buffer at edge {@code s + S}, from which the packet behind it is at the front
 * and the credit on its way; and enters its link at edge {@code s + S + T}. Alone a packet takes
 *
 * <pre>
 *   sum over links of L + sum over routers of (R + V + S + T) cycles + n / min B
 * </pre>
 *
 * if latencies are whole cycles. Who gets what is decided by {@link Router}, once per cycle, when
 * everything that happens at its edge has happened. Where a packet begins it waits in a queue
 * without end for its first link; what has reached the end of its route is taken at once. Nodes
 * that are no routers (controllers, PEs, the host) have no stages.
 *
 * <p>Channels of a link are shared out evenly to the phases of routes ({@link
 * Machine#virtualChannels}), within which a packet takes any: waits make no circle, as before.
 */
final class RouterFabric implements Interconnect, EventHandler, Router.Links {
  private static final int OFFER = 0; // of a packet
  private static final int ARRIVAL = 1; // of a flit at the end of a channel
  private static final int CREDIT = 2; // for a channel
  private static final int SERVE = 3; // of a router

  /** Which links make which routers. */
  record Joints(int[] startOfLink, int[] endOfLink, boolean[] isRouter) {}

  private final Simulation sim;
  private final int handler;
  private final long flitBytes;
  private final int vcs;
  private final int classes;
  private final RouterSpec spec;
  private final RouterClock clock;
  private final Rate[] rates;
  private final long[] latenciesPs;
  private final @Nullable Machine machine;
  private final Ties ties;

  private final Router[] routers;
  private final Joints joints;
  private final int[] outputOfLink; // its place among those that leave its router
  private final RouterInput[] buffers; // by channel, at its end
  private final RouterInput[] sources; // by link

  // by channel
  private final int[] credits;
  private final boolean[] given;
  private final long[] reusable; // cycle from which

  // by link
  private final long[] freePs;
  private final long[] busyPs;
  private final long[] bytesOn;
  private final long[] lastWho;

  private final FlitTraffic traffic;
  private @Nullable TransferLog log;

  /** The links of a machine that describes its routers. */
  static RouterFabric of(Simulation sim, Machine machine) {
    int n = machine.linkCount();
    Rate[] rates = new Rate[n];
    long[] latencies = new long[n];
    int[] starts = new int[n];
    int[] ends = new int[n];
    for (int i = 0; i < n; i++) {
      LinkSpec link = machine.specOf(i);
      rates[i] = link.rate();
      latencies[i] = link.latencyPs();
      starts[i] = machine.linkFrom(i);
      // what comes out of a memory comes to its controller
      ends[i] = machine.linkKind(i).isMemoryPort() ? starts[i] : machine.linkTo(i);
    }
    boolean[] isRouter = new boolean[machine.nodeCount()];
    for (int i = 0; i < isRouter.length; i++) {
      NodeKind kind = machine.node(i).kind();
      isRouter[i] = kind == NodeKind.ROUTER || kind == NodeKind.SWITCH || kind == NodeKind.IO;
    }
    Joints joints = new Joints(starts, ends, isRouter);
    return new RouterFabric(sim, machine.fabric(), rates, latencies, joints, machine);
  }

  /** Links given as a table; packets may have any channel. */
  RouterFabric(Simulation sim, FabricSpec fabric, Rate[] rates, long[] latenciesPs, Joints joints) {
    this(sim, fabric, rates, latenciesPs, joints, null);
  }

  private RouterFabric(
      Simulation sim,
      FabricSpec fabric,
      Rate[] rates,
      long[] latenciesPs,
      Joints joints,
      @Nullable Machine machine) {
    this.sim = sim;
    this.handler = sim.register(this);
    this.machine = machine;
    this.traffic = new FlitTraffic(fabric);
    this.flitBytes = fabric.flitBytes();
    this.vcs = fabric.virtualChannels();
    this.classes = machine == null ? 1 : Math.max(1, Math.min(vcs, machine.phaseCount()));
    this.spec = fabric.router().orElseThrow();
    this.clock = new RouterClock(spec.clockHz());
    this.rates = rates.clone();
    this.latenciesPs = latenciesPs.clone();
    this.joints = joints;
    this.ties = machine == null ? Ties.ofOnePackage() : Ties.of(machine);
    int n = rates.length;
    this.credits = new int[n * vcs];
    Arrays.fill(credits, Math.toIntExact(Math.min(1 << 30, fabric.bufferBytes() / flitBytes)));
    this.given = new boolean[n * vcs];
    this.reusable = new long[n * vcs];
    this.freePs = new long[n];
    this.busyPs = new long[n];
    this.bytesOn = new long[n];
    this.lastWho = new long[n];
    this.outputOfLink = new int[n];
    this.buffers = new RouterInput[n * vcs];
    this.sources = new RouterInput[n];
    this.routers = new Router[joints.isRouter.length];
    build();
  }

  private void build() {
    TreeMap<Integer, List<Integer>> leaving = new TreeMap<>();
    for (int link = 0; link < rates.length; link++) {
      List<Integer> known =
          leaving.computeIfAbsent(joints.startOfLink[link], r -> new ArrayList<>());
      outputOfLink[link] = known.size();
      known.add(link);
    }
    leaving.forEach((r, links) -> {
      int[] outputs = links.stream().mapToInt(i -> i).toArray();
      routers[r] = new Router(this, spec, vcs, outputs, joints.isRouter[r]);
    });
    for (int link = 0; link < rates.length; link++) {
      Router router = routers[joints.endOfLink[link]];
      if (router != null) {
        List<RouterInput> port = router.addPort(link * vcs);
        for (int vc = 0; vc < vcs; vc++) {
          buffers[link * vcs + vc] = port.get(vc);
        }
      }
    }
    for (int link = 0; link < rates.length; link++) {
      sources[link] = router(link).addSource();
    }
  }

  /** The router that a link leaves. */
  private Router router(int link) {
    return routers[joints.startOfLink[link]];
  }

  @Override
  public void recordIn(TransferLog newLog) {
    log = newLog;
  }

  @Override
  public int begin(
      long id,
      FabricRoute route,
      long bytes,
      long timePs,
      Sink sink,
      int sinkArg,
      boolean tellInjected,
      @Nullable MemorySpan span) {
    BufferedTransfer t =
        traffic.begin(id, route, classesOf(route), bytes, timePs, sink, sinkArg, tellInjected);
    t.earliestPs += stagesPs(route);
    schedule(t, 0, timePs);
    return t.index;
  }

  private int[] classesOf(FabricRoute route) {
    if (route.channels.length == 0) {
      route.channels =
          machine == null ? new int[route.links.length] : machine.virtualChannels(route.links);
    }
    return route.channels;
  }

  /** What the routers on a route take, with nobody in the way. */
  private long stagesPs(FabricRoute route) {
    int count = 0;
    for (int i = 1; i < route.links.length; i++) {
      count += router(route.links[i]).isPipelined ? 1 : 0;
    }
    return clock.ps((long) count * spec.pipelineCycles());
  }

  @Override
  public long serialPs(FabricRoute route, long bytes) {
    return traffic.serialPs(route, bytes);
  }

  private void schedule(BufferedTransfer t, long number, long timePs) {
    sim.schedule(timePs, handler, OFFER, traffic.packet(t, number).index);
  }

  @Override
  public void onEvent(int kind, int arg) {
    switch (kind) {
      case OFFER -> offer(traffic.packet(arg));
      case ARRIVAL -> arrive(buffers[arg], routers[joints.endOfLink[arg / vcs]]);
      case CREDIT -> {
        credits[arg]++;
        wake(router(arg / vcs), clock.cycle(sim.nowPs()));
      }
      case SERVE -> serve(routers[arg]);
      default -> throw new IllegalStateException("fabric event " + kind);
    }
  }

  private void offer(BufferedPacket p) {
    int link = p.transfer.route[0];
    p.headPs[0] = sim.nowPs();
    sources[link].push(p, 0, 0);
    arrive(sources[link], router(link));
  }

  private void arrive(RouterInput in, Router router) {
    long cycle = clock.cycle(sim.nowPs());
    if (in.arrive() && in.given == RouterInput.NONE) {
      comesToTheFront(in, router, Math.max(cycle, in.freeCycle));
    }
    wake(router, cycle);
  }

  private void comesToTheFront(RouterInput in, Router router, long cycle) {
    boolean staged = router.isPipelined && !in.isSource();
    in.readyCycle = cycle + (staged ? spec.routeComputation() : 0);
    if (!in.isSource()) {
      in.packet().headPs[in.hop()] = clock.ps(cycle);
    }
  }

  private void wake(Router router, long cycle) {
    long when = cycle == router.servedCycle ? cycle + 1 : cycle;
    if (when < router.plannedCycle) {
      router.plannedCycle = when;
      int first = router.firstLink();
      sim.scheduleLast(clock.ps(when), handler, SERVE, joints.startOfLink[first]);
    }
  }

  private void serve(Router router) {
    long cycle = clock.cycle(sim.nowPs());
    if (router.plannedCycle != cycle) {
      return; // it has been served since, or will be
    }
    router.plannedCycle = Router.NEVER;
    router.servedCycle = cycle;
    long next = router.serve(cycle);
    if (next != Router.NEVER) {
      wake(router, next);
    }
  }

  // ---- what routers ask ----

  @Override
  public int outputOf(BufferedPacket packet, int hop) {
    return outputOfLink[packet.transfer.route[hop]];
  }

  @Override
  public int firstChannel(BufferedPacket packet, int hop) {
    return packet.transfer.channels[hop] * vcs / classes;
  }

  @Override
  public int channelCount(BufferedPacket packet, int hop) {
    return (packet.transfer.channels[hop] + 1) * vcs / classes - firstChannel(packet, hop);
  }

  @Override
  public long freeCycle(int channel) {
    return given[channel] ? Router.NEVER : reusable[channel];
  }

  @Override
  public void give(int channel, RouterInput input) {
    given[channel] = true;
  }

  @Override
  public boolean hasRoom(RouterInput input) {
    return input.hop() == input.packet().transfer.hops - 1 || credits[input.given] > 0;
  }

  @Override
  public long freeCycle(int link, long cycle, boolean fromSource) {
    int stages = stagesAfterTheSwitch(router(link), fromSource);
    boolean queues = router(link).isPipelined && spec.speedUp() > 1;
    if (queues || freePs[link] <= clock.ps(cycle + stages)) {
      return cycle;
    }
    return clock.cycle(freePs[link]) - stages;
  }

  private int stagesAfterTheSwitch(Router router, boolean fromSource) {
    boolean staged = router.isPipelined && !fromSource;
    return staged ? spec.switchAllocation() + spec.traversal() : 0;
  }

  @Override
  public void send(RouterInput in, long cycle) {
    final BufferedPacket p = in.packet();
    final BufferedTransfer t = p.transfer;
    final int hop = in.hop();
    final int channel = in.given;
    final int link = channel / vcs;
    final Router router = router(link);
    final boolean tail = p.sent[hop] == p.flits - 1;
    final long bytes = tail ? p.bytes - (p.flits - 1) * flitBytes : flitBytes;
    final int stages = stagesAfterTheSwitch(router, in.isSource());
    final long leavesCycle = cycle + (stages == 0 ? 0 : spec.switchAllocation());
    final long startPs = Math.max(clock.ps(cycle + stages), freePs[link]);
    long enteredPs = startPs + rates[link].durationPs(bytes);
    if (!in.isSource()) {
      enteredPs = Math.max(enteredPs, in.tailPs());
      int from = in.channel;
      long backPs = clock.ps(leavesCycle) + latenciesPs[from / vcs];
      long back = clock.cycle(backPs) + spec.creditDelay();
      sim.schedule(clock.ps(back), handler, CREDIT, from);
    }
    p.sent[hop]++;
    if (!in.isSource() || tail) {
      in.pop();
    }
    freePs[link] = enteredPs;
    busyPs[link] += enteredPs - startPs;
    bytesOn[link] += bytes;
    note(p, hop, link, startPs);
    if (hop < t.hops - 1) {
      credits[channel]--;
      buffers[channel].push(p, hop + 1, enteredPs + latenciesPs[link]);
      long arrives = clock.cycle(startPs + latenciesPs[link]);
      sim.schedule(clock.ps(arrives), handler, ARRIVAL, channel);
    }
    if (tail) {
      in.given = RouterInput.NONE;
      in.freeCycle = leavesCycle;
      given[channel] = false;
      reusable[channel] = leavesCycle + spec.channelReuse();
      if (in.hasArrived()) {
        comesToTheFront(in, router, leavesCycle);
      }
      sent(p, hop, enteredPs);
    }
  }

  /** Where the first chunk of a transfer has waited longest. */
  private void note(BufferedPacket p, int hop, int link, long startPs) {
    final BufferedTransfer t = p.transfer;
    final long who = ties.who(t.way[t.route.length + hop], t.id);
    if (p.number == 0 && p.sent[hop] == 1) {
      p.startPs[hop] = startPs;
      if (startPs - p.headPs[hop] > t.worstWaitPs && lastWho[link] != who) {
        t.worstWaitPs = startPs - p.headPs[hop];
        t.worstLink = link;
      }
    } else if (p.sent[hop] == 1) {
      p.startPs[hop] = startPs;
    }
    lastWho[link] = who;
  }

  /** The tail of a packet enters a link. */
  private void sent(BufferedPacket p, int hop, long tailPs) {
    final BufferedTransfer t = p.transfer;
    final int link = t.route[hop];
    if (log != null) {
      boolean first = hop == 0;
      log.served(t.index, p.index, link, p.bytes, first, p.headPs[hop], p.startPs[hop], tailPs);
    }
    final boolean last = !traffic.hasPacket(t, p.number + 1);
    if (hop == 0) {
      if (!last) {
        schedule(t, p.number + 1, tailPs);
      } else if (t.tellInjected) {
        t.sink().onInjected(t.sinkArg, tailPs);
      }
    }
    if (hop == t.hops - 1) {
      traffic.ended(p, tailPs + latenciesPs[link]);
    }
  }

  /** How long a link has been taken, in picoseconds, up to the last reservation. */
  long busyPs(int link) {
    return busyPs[link];
  }

  /** Bytes that have entered a link. */
  long bytesOn(int link) {
    return bytesOn[link];
  }
}
