package org.kernbench.device.fabric;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.kernbench.device.simulator.FabricTwin;
import org.kernbench.sim.EventQueue;
import org.kernbench.sim.HeapEventQueue;
import org.kernbench.sim.Rate;
import org.kernbench.sim.Simulation;
import org.kernbench.sim.WheelEventQueue;

/**
 * A table of links and a list of transfers, and what {@link Fabric} makes of them. The tests state
 * closed forms about it; {@link FabricTwin} works out the same independently.
 */
public record FabricRig(
    long chunkBytes, long[] bytesPerSecond, long[] latencyPs, List<Transfer> transfers) {

  /**
   * {@code bytes} over {@code route}, offered at {@code timePs}. The id of a transfer is its place
   * in the list.
   */
  public record Transfer(int[] route, long bytes, long timePs) {}

  /** A head reaching a link: when, and which chunk of which transfer. */
  public record Head(long timePs, int transfer, int chunk) {}

  /**
   * What happened. All lists by transfer or by link, except the heads, which stand in the order of
   * handling.
   */
  record Outcome(
      List<Long> deliveredPs,
      List<Long> injectedPs,
      List<Long> waitPs,
      List<Head> heads,
      List<Long> busyPs,
      List<Long> bytesOn,
      long endPs) {}

  /**
   * What the formula of {@code docs/spec/machine-and-timing.md} 3 says for a transfer that meets
   * nobody, rounded up once.
   */
  long boundPs(Transfer t) {
    return latencyPs(t) + serialPs(t.bytes, narrowest(t));
  }

  long latencyPs(Transfer t) {
    return Arrays.stream(t.route).mapToLong(link -> latencyPs[link]).sum();
  }

  long narrowest(Transfer t) {
    return Arrays.stream(t.route).mapToLong(link -> bytesPerSecond[link]).min().orElseThrow();
  }

  /** Without {@link Rate}: the tests must not share its mistakes. */
  public static long serialPs(long bytes, long bytesPerSecond) {
    return Math.ceilDiv(Math.multiplyExact(bytes, 1_000_000_000_000L), bytesPerSecond);
  }

  public int chunks(Transfer t) {
    return Math.max(1, Math.toIntExact(Math.ceilDiv(t.bytes, chunkBytes)));
  }

  public long chunkSize(Transfer t, int chunk) {
    return Math.min(chunkBytes, t.bytes - chunk * chunkBytes);
  }

  Rate[] rates() {
    return Arrays.stream(bytesPerSecond).mapToObj(Rate::ofBytesPerSecond).toArray(Rate[]::new);
  }

  /** A route over links that are given as a table: rate and latency by link id. */
  static FabricRoute route(int[] links, Rate[] rates, long[] latenciesPs) {
    long latency = 0;
    int narrowest = links[0];
    for (int id : links) {
      latency += latenciesPs[id];
      if (rates[id].bytesPerSecond() < rates[narrowest].bytesPerSecond()) {
        narrowest = id;
      }
    }
    return new FabricRoute(links, latency, rates[narrowest], narrowest, 0, -1);
  }

  Outcome run() {
    return run(new WheelEventQueue(), noFeeders());
  }

  Outcome runOnHeap() {
    return run(new HeapEventQueue(), noFeeders());
  }

  /** With the fabric told which links have a sole feeder among these transfers' routes. */
  Outcome runWithFeeders() {
    return run(new WheelEventQueue(), soleFeeders());
  }

  private int[] noFeeders() {
    int[] none = new int[latencyPs.length];
    Arrays.fill(none, -1);
    return none;
  }

  int[] soleFeeders() {
    int[] feeders = new int[latencyPs.length];
    for (int link = 0; link < feeders.length; link++) {
      int id = link;
      int[] before =
          transfers.stream()
              .map(Transfer::route)
              .filter(route -> Arrays.stream(route).anyMatch(l -> l == id))
              .mapToInt(route -> linkBefore(route, id))
              .distinct()
              .toArray();
      feeders[link] = before.length == 1 ? before[0] : -1;
    }
    return feeders;
  }

  private static int linkBefore(int[] route, int link) {
    int before = -1;
    for (int at : route) {
      if (at == link) {
        return before;
      }
      before = at;
    }
    throw new AssertionError();
  }

  /** Links each of which may be entered from any other. */
  static Wires wires(long chunkBytes, Rate[] rates, long[] latenciesPs) {
    int[] feeders = new int[rates.length];
    Arrays.fill(feeders, -1);
    return new Wires(chunkBytes, rates, latenciesPs, feeders);
  }

  private Outcome run(EventQueue queue, int[] feeders) {
    List<Head> heads = new ArrayList<>();
    Simulation sim = new Simulation(new HeadRecorder(queue, heads));
    Rate[] rates = rates();
    Fabric fabric = new Fabric(sim, new Wires(chunkBytes, rates, latencyPs, feeders));
    Long[] delivered = new Long[transfers.size()];
    Long[] injected = new Long[transfers.size()];
    Long[] wait = new Long[transfers.size()];
    Fabric.Sink sink =
        new Fabric.Sink() {
          @Override
          public void onInjected(int arg, long timePs) {
            once(injected, arg);
            injected[arg] = timePs;
          }

          @Override
          public void onDelivered(int arg, long timePs, long waitPs, int worstLink) {
            once(delivered, arg);
            delivered[arg] = timePs;
            wait[arg] = waitPs;
          }
        };
    for (int i = 0; i < transfers.size(); i++) {
      Transfer t = transfers.get(i);
      fabric.begin(i, route(t.route, rates, latencyPs), t.bytes, t.timePs, sink, i, true);
    }
    sim.run();
    long endPs = Stream.of(delivered).mapToLong(Long::longValue).max().orElse(0);
    List<Long> busy = new ArrayList<>();
    List<Long> bytes = new ArrayList<>();
    for (int link = 0; link < rates.length; link++) {
      busy.add(fabric.busyPs(link));
      bytes.add(fabric.bytesOn(link));
    }
    return new Outcome(
        List.of(delivered), List.of(injected), List.of(wait), heads, busy, bytes, endPs);
  }

  private static void once(Long[] times, int arg) {
    if (times[arg] != null) {
      throw new AssertionError("transfer " + arg + " told twice");
    }
  }

  /** A random small network in which routes cross, with equal times in half of the cases. */
  static FabricRig random(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    boolean round = random.nextBoolean();
    int links = 1 + random.nextInt(9);
    long[] rates = new long[links];
    long[] latencies = new long[links];
    for (int i = 0; i < links; i++) {
      rates[i] = round ? 64_000_000_000L << random.nextInt(3) : awkwardRate(random);
      latencies[i] = round ? 1_000L * (1 + random.nextInt(4)) : 1 + random.nextInt(20_000);
    }
    long chunk = 1L << (round ? 6 + random.nextInt(3) : random.nextInt(12));
    List<Transfer> transfers = new ArrayList<>();
    int count = 1 + random.nextInt(12);
    for (int i = 0; i < count; i++) {
      int[] route = randomRoute(random, links);
      long bytes = round ? chunk * (1 + random.nextInt(8)) : random.nextLong(1, 12 * chunk);
      long time = round ? 1_000L * random.nextInt(4) : random.nextInt(50_000);
      transfers.add(new Transfer(route, bytes, time));
    }
    return new FabricRig(chunk, rates, latencies, transfers);
  }

  /** Between 1 MB/s and 10 TB/s, logarithmically, and rarely a round number. */
  static long awkwardRate(SplittableRandom random) {
    return (long) (1e6 * Math.pow(10, 7 * random.nextDouble())) + random.nextInt(1000);
  }

  private static int[] randomRoute(SplittableRandom random, int links) {
    int[] all = new int[links];
    for (int i = 0; i < links; i++) {
      int j = random.nextInt(i + 1);
      all[i] = all[j];
      all[j] = i;
    }
    return Arrays.copyOf(all, 1 + random.nextInt(links));
  }

  /** Passes everything on and notes the keyed events, which are the fabric's heads. */
  private record HeadRecorder(EventQueue queue, List<Head> heads) implements EventQueue {
    private static final int CHUNK_BITS = 22;

    @Override
    public void push(long timePs, long order, long payload) {
      queue.push(timePs, order, payload);
    }

    @Override
    public boolean isEmpty() {
      return queue.isEmpty();
    }

    @Override
    public boolean isNextAt(long timePs) {
      return queue.isNextAt(timePs);
    }

    @Override
    public int size() {
      return queue.size();
    }

    @Override
    public void pop() {
      queue.pop();
      long order = queue.order();
      if (order < 1L << 62) {
        int chunk = (int) (order & (1 << CHUNK_BITS) - 1);
        heads.add(new Head(queue.timePs(), (int) (order >> CHUNK_BITS + 1), chunk));
      }
    }

    @Override
    public long timePs() {
      return queue.timePs();
    }

    @Override
    public long order() {
      return queue.order();
    }

    @Override
    public long payload() {
      return queue.payload();
    }
  }
}
