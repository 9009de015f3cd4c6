package org.kernbench.eval.benches;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.kernbench.config.UsageException;
import org.kernbench.device.Launch;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.Mode;
import org.kernbench.device.PePort;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.QueueSet;
import org.kernbench.device.Register;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.memory.Region;
import org.kernbench.device.simulator.Simulator;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.eval.output.Digest;
import org.kernbench.eval.output.Numbers;
import org.kernbench.eval.probe.ProbePaths;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.Route;

/**
 * {@code pe2pe}: bytes from the HBM of one PE into that of another, over a message queue and by raw
 * DMA, by distance and size.
 *
 * <p>Both do the same work. Queue: the sender loads and sends, the receiver takes the message and
 * stores it into its own slice. Raw DMA: the sender loads and stores into the receiver's slice. The
 * time is that of the slower of the two PEs. The bound is the shorter way of the two, for one
 * chunk: a load from the own slice, and its bytes to the other PE.
 */
final class PeToPeBench implements Bench {
  private static final Param<Long> MOST =
      Param.size("most", "64 KiB", 128, 1 << 20, "the largest size; the least is 128 B");

  /** Two PEs and how far they are from each other. */
  private record Pair(String name, Pe to) {}

  /** A run: its time, and whether the bytes arrived. */
  private record Timed(Launch launch, boolean correct, long events, OpLog log) {
    long ps() {
      return launch.criticalPs();
    }
  }

  @Override
  public String name() {
    return "pe2pe";
  }

  @Override
  public String description() {
    return "message queue against raw DMA between two PEs, by distance and size";
  }

  @Override
  public List<Param<?>> params() {
    return List.of(MOST);
  }

  @Override
  public Outcome run(BenchContext context) {
    if (context.mode() == Mode.VALUES) {
      throw new UsageException("pe2pe measures time; expected --mode full or time");
    }
    Machine machine = context.machine();
    Pe from = new Pe(0, 0, 0);
    List<Pair> pairs = new ArrayList<>();
    new ProbePaths(machine)
        .places(from)
        .forEach(p -> {
          if (!p.name().equals("own slice")) {
            pairs.add(new Pair(p.name(), peOf(machine, p.node())));
          }
        });
    if (pairs.isEmpty()) {
      throw new UsageException("pe2pe: the machine has one PE; expected two");
    }
    Outcome outcome = Outcome.on(machine);
    Sum sum = new Sum(context, outcome);
    for (Pair pair : pairs) {
      for (long bytes = 128; bytes <= context.param(MOST); bytes *= 2) {
        long boundPs = boundPs(machine, from, pair.to, bytes);
        Optional<Timed> queue = Optional.empty();
        Optional<Timed> dma = Optional.empty();
        if (context.runs(pair.name + ", " + bytes + " B, queue")) {
          queue = Optional.of(run(context, machine, from, pair.to, (int) bytes, true));
          sum.add(pair.name + ", " + bytes + " B, queue", queue.get(), boundPs);
        }
        if (context.runs(pair.name + ", " + bytes + " B, dma")) {
          dma = Optional.of(run(context, machine, from, pair.to, (int) bytes, false));
          sum.add(pair.name + ", " + bytes + " B, dma", dma.get(), boundPs);
        }
        if (queue.isPresent() && dma.isPresent()) {
          outcome.row(row(pair, bytes, queue.get().ps(), dma.get().ps()));
        }
      }
    }
    return sum.outcome();
  }

  /** The slowest of all ways, pairs and sizes, or the one that was chosen. */
  private static final class Sum {
    private final BenchContext context;
    private final Outcome outcome;
    private final Digest logs = new Digest();
    private long events;
    private long critPs;
    private long boundPs;
    private long wayPs;
    private boolean correct = true;

    Sum(BenchContext context, Outcome outcome) {
      this.context = context;
      this.outcome = outcome.noBreakdown(PointSum.OF_POINTS);
    }

    void add(String point, Timed timed, long bound) {
      context.took(point, timed.ps());
      correct &= timed.correct;
      if (timed.ps() > critPs) {
        critPs = timed.ps();
        boundPs = bound;
        wayPs = timed.launch.startPs() - timed.launch.enqueuedPs();
      }
      events += timed.events;
      logs.add(timed.log.hash());
      if (context.choosesPoint()) {
        outcome.explained(timed.log, timed.launch, outcome.machine().ipcq());
      }
    }

    Outcome outcome() {
      if (!correct) {
        outcome.problem("pe2pe: bytes did not arrive as they were sent");
      }
      return outcome.time(critPs, boundPs, "way").launchWay(wayPs).simulated(events, logs.text());
    }
  }

  private static Pe peOf(Machine machine, int hbmNode) {
    for (int i = 0; i < machine.peCount(); i++) {
      if (machine.hbmNode(machine.peAt(i)) == hbmNode) {
        return machine.peAt(i);
      }
    }
    throw new IllegalStateException("bug: node " + hbmNode + " is no slice");
  }

  /**
   * The request and data of a load from the own slice, and the way of the bytes to the other PE.
   */
  private static long boundPs(Machine machine, Pe from, Pe to, long bytes) {
    Route back = machine.route(machine.hbmNode(from), machine.peNode(from));
    Route way = machine.route(from, to);
    return back.latencyPs() + way.latencyPs() / 2 + way.narrowest().durationPs(bytes);
  }

  private static Map<String, Object> row(Pair pair, long bytes, long queuePs, long dmaPs) {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("to", pair.name);
    row.put("pe", pair.to.toString());
    row.put("bytes", bytes);
    row.put("queue_ns", Numbers.ns(queuePs));
    row.put("dma_ns", Numbers.ns(dmaPs));
    row.put("queue_over_dma", Numbers.ratio(queuePs, dmaPs));
    row.put("queue_gigabytes_per_s", Numbers.rounded(bytes * 1e3 / queuePs));
    row.put("dma_gigabytes_per_s", Numbers.rounded(bytes * 1e3 / dmaPs));
    return row;
  }

  private static Timed run(
      BenchContext context, Machine machine, Pe from, Pe to, int bytes, boolean queue) {
    Mode mode = context.mode();
    Region source = Region.of(machine.addresses().hbm(from, 0), bytes);
    Region target = Region.of(machine.addresses().hbm(to, 1 << 20), bytes);
    try (Simulator sim = Simulator.open(machine, mode, context.recording())) {
      byte[] data = mode == Mode.TIME ? new byte[0] : pattern(bytes);
      sim.write(source.address(), data, 0, data.length);
      QueueSet queues =
          sim.install(
              new QueuePlan(
                  machine.ipcq(), List.of(new QueuePlan.Connection(from, "out", to, "in"))));
      Launch launch =
          sim.launch(
              LaunchRequest.of("pe2pe", List.of(from, to)).with(queues),
              port -> () -> program(port, from, source, target, queue));
      sim.drive(launch);
      boolean correct = true;
      if (mode != Mode.TIME) {
        byte[] got = new byte[bytes];
        sim.read(target.address(), got, 0, bytes);
        correct = Arrays.equals(data, got);
      }
      return new Timed(launch, correct, sim.eventCount(), sim.opLog());
    }
  }

  private static byte[] pattern(int bytes) {
    byte[] data = new byte[bytes];
    for (int i = 0; i < bytes; i++) {
      data[i] = (byte) (i * 31 + i / 251);
    }
    return data;
  }

  private static void program(PePort port, Pe from, Region source, Region target, boolean queue) {
    boolean sends = port.pe().equals(from);
    if (sends) {
      Register value = port.load(source);
      if (queue) {
        port.send(port.queue("out"), value, 0, source.bytes());
      } else {
        port.store(value, 0, target);
      }
    } else if (queue) {
      port.store(port.receive(port.queue("in"), target.bytes(), false, false), 0, target);
    }
  }
}
