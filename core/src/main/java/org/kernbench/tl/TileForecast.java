package org.kernbench.tl;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.log.StreamCosts;

/**
 * What a {@link TileStream} takes on a PE with nobody in its way: the scheduler, the DMA queues,
 * the memory and the array, from event to event. What a closed form leaves out is here: loads under
 * way at once take turns at the memory, so they all end late; the pipeline fills and drains; tiles
 * at the edges are small; the scheduler stops where a buffer, a set of sums or its window of
 * commands is not free.
 *
 * <p>Its own simplifications: transfers share the memory as a fluid, all of a load's latency comes
 * before its bytes, and an epilogue is so many passes over the sums. Of long products the beginning
 * is followed and the rest goes on at its pace. A batch on multiprocessors is followed as one long
 * product, whose outputs wait for sums across the border of two products, too.
 */
final class TileForecast {
  /** Steps that are followed of a product. */
  private static final int FOLLOWED = 256;

  /** Instead of its number: the kernel's own. */
  private static final int NO_COMMAND = -1;

  private static final double NEVER = Double.POSITIVE_INFINITY;

  /** A load or store: of which step or output, and its number among the commands. */
  private record Transfer(boolean isLoad, int owner, double bytes, double fromPs, int number) {}

  /** A product that the scheduler has issued. */
  private record Product(int step, double issuedPs, int number) {}

  /** What the scheduler issues. */
  private enum Command {
    AWAIT_SUMS,
    PRODUCT,
    PASS,
    STORE,
    AWAIT_BUFFER,
    LOAD_A,
    LOAD_B
  }

  private final StreamCosts costs;
  private final CompositeGemm gemm;
  private final TileShape tile;
  private final int buffers;
  private final int sets;
  private final long passes;
  private final int columns;
  private final int stepsOfOutput;
  private final int rowsOfTiles;
  private final int outputs;
  private final int followedOutputs;
  private final int steps;
  private final int loadsOfStep;

  // the scheduler
  private int step;
  private double issuePs;
  private final ArrayDeque<Command> planned = new ArrayDeque<>();

  // its window: when each command so far ended, and how many have left
  private double[] ends = new double[64];
  private int commands;
  private int left;
  private int taken;
  private final int window;

  // transfers: waiting for a queue, on their way, at the memory
  private final ArrayDeque<Transfer> loads = new ArrayDeque<>();
  private final ArrayDeque<Transfer> stores = new ArrayDeque<>();
  private final ArrayDeque<Transfer> arriving = new ArrayDeque<>();
  private final @Nullable Transfer[] active;
  private final double[] leftBytes;
  private int activeCount;
  private int freeReads;
  private int freeWrites;
  private double nowPs;

  // products
  private final ArrayDeque<Product> products = new ArrayDeque<>();
  private final int[] missing;
  private final double[] used;
  private final double[] stored;
  private double enginePs;
  private int multiplied;
  private final double[] summed;
  private final @Nullable Transfer[] issuedStores;

  /**
   * A product.
   *
   * @param window commands in flight at once, at least 2
   */
  TileForecast(StreamCosts costs, CompositeGemm gemm, TileShape tile, int buffers, int window) {
    this.window = window;
    this.costs = costs;
    this.gemm = gemm;
    this.tile = tile;
    this.buffers = buffers;
    this.sets = TileSearch.setsOfSums(costs, gemm, buffers);
    this.passes = TileSearch.passes(gemm);
    this.columns = Math.ceilDiv(gemm.n(), tile.n());
    this.stepsOfOutput = Math.max(1, Math.ceilDiv(gemm.k(), tile.k()));
    this.rowsOfTiles = Math.ceilDiv(gemm.m(), tile.m());
    this.outputs =
        (int)
            Math.min(
                (long) rowsOfTiles * columns * TileSearch.followed(costs, gemm), Integer.MAX_VALUE);
    this.followedOutputs = Math.min(outputs, Math.max(4, Math.ceilDiv(FOLLOWED, stepsOfOutput)));
    this.steps = followedOutputs * stepsOfOutput;
    this.loadsOfStep = (gemm.a.isInTcm() ? 0 : 1) + (gemm.b.isInTcm() ? 0 : 1);
    this.freeReads = costs.readQueues();
    this.freeWrites = costs.writeQueues();
    this.active = new Transfer[freeReads + freeWrites];
    this.leftBytes = new double[active.length];
    this.taken = window;
    this.missing = new int[steps];
    this.used = new double[steps];
    this.stored = new double[followedOutputs];
    this.summed = new double[followedOutputs];
    this.issuedStores = new Transfer[followedOutputs];
    Arrays.fill(summed, NEVER);
    Arrays.fill(missing, loadsOfStep);
    Arrays.fill(used, NEVER);
    Arrays.fill(stored, NEVER);
  }

  /** The time until the last store has ended, in picoseconds. */
  double ps() {
    if (gemm.residentBytes() > 0) { // operands that the kernel loads before
      missing[0]++;
      loads.add(new Transfer(true, 0, gemm.residentBytes(), 0, NO_COMMAND));
    }
    issue();
    while (stored[followedOutputs - 1] == NEVER) {
      next();
    }
    double end = stored[followedOutputs - 1];
    int half = followedOutputs / 2;
    return followedOutputs == outputs
        ? end
        : end + (end - stored[half]) / (followedOutputs - 1 - half) * (outputs - followedOutputs);
  }

  /** Whether a window of so many commands would never have been full. */
  boolean fits(int commandsInFlight) {
    return commands <= commandsInFlight;
  }

  // ---- events ----

  private void next() {
    double start = Math.min(startPs(loads, freeReads), startPs(stores, freeWrites));
    double arrival = arriving.isEmpty() ? NEVER : arriving.getFirst().fromPs;
    int shortest = shortest();
    double each = costs.bytesPerPs() / Math.max(1, activeCount);
    double end = shortest < 0 ? NEVER : nowPs + leftBytes[shortest] / each;
    double at = Math.max(nowPs, Math.min(start, Math.min(arrival, end)));
    for (int i = 0; i < activeCount; i++) {
      leftBytes[i] -= (at - nowPs) * each;
    }
    nowPs = at;
    if (end <= at) {
      complete(shortest);
    } else if (arrival <= at) {
      arrive(arriving.remove());
    } else if (startPs(stores, freeWrites) <= at) {
      freeWrites--;
      send(stores.remove());
    } else {
      freeReads--;
      send(loads.remove());
    }
  }

  private double startPs(ArrayDeque<Transfer> waiting, int free) {
    return waiting.isEmpty() || free == 0 ? NEVER : Math.max(nowPs, waiting.getFirst().fromPs);
  }

  private int shortest() {
    int least = -1;
    for (int i = 0; i < activeCount; i++) {
      least = least < 0 || leftBytes[i] < leftBytes[least] ? i : least;
    }
    return least;
  }

  private void send(Transfer t) {
    arriving.add(new Transfer(t.isLoad, t.owner, t.bytes, nowPs + costs.latencyPs(), t.number));
  }

  private void arrive(Transfer t) {
    active[activeCount] = t;
    leftBytes[activeCount++] = t.bytes;
  }

  private void complete(int which) {
    Transfer t = Objects.requireNonNull(active[which]);
    active[which] = active[--activeCount];
    leftBytes[which] = leftBytes[activeCount];
    if (t.isLoad) {
      freeReads++;
      missing[t.owner]--;
    } else {
      freeWrites++;
      stored[t.owner] = nowPs;
    }
    if (t.number != NO_COMMAND) {
      ends[t.number] = nowPs;
    }
    multiply();
    issue();
  }

  // ---- the scheduler ----

  /** Issues what it can, in the order of {@link TileStream#run}. */
  private void issue() {
    while (step <= steps) {
      if (planned.isEmpty()) {
        plan();
      }
      while (!planned.isEmpty()) {
        if (!mayEnter() || !issue(planned.getFirst())) {
          return;
        }
        planned.remove();
      }
      step++;
    }
  }

  /** The commands of a step: the product of the one before, then its own loads. */
  private void plan() {
    int before = step - 1;
    if (before >= 0) {
      boolean first = before % stepsOfOutput == 0;
      if (first && before / stepsOfOutput >= sets) {
        planned.add(Command.AWAIT_SUMS);
      }
      planned.add(Command.PRODUCT);
      if (isLast(before)) {
        for (int i = 0; i < passes; i++) {
          planned.add(Command.PASS);
        }
        planned.add(Command.STORE);
      }
    }
    if (step < steps) {
      for (int i = 0; i < loadsOfStep && step >= buffers; i++) {
        planned.add(Command.AWAIT_BUFFER);
      }
      if (!gemm.a.isInTcm()) {
        planned.add(Command.LOAD_A);
      }
      if (!gemm.b.isInTcm()) {
        planned.add(Command.LOAD_B);
      }
    }
  }

  /**
   * Whether the next command is in the window: they are taken until it is full, then again when
   * half of it is free.
   */
  private boolean mayEnter() {
    int number = commands;
    while (left < number && ends[left] < NEVER) {
      double before = left == 0 ? 0 : ends[left - 1];
      ends[left] = Math.max(before, ends[left]);
      left++;
    }
    int half = window / 2;
    if (number < taken) {
      return true;
    }
    if (taken - left > half) {
      return false;
    }
    issuePs = Math.max(issuePs, ends[taken - half - 1]);
    taken = left + window;
    return true;
  }

  /** Its end, which may be known later. */
  private void add(double end) {
    if (commands == ends.length) {
      ends = Arrays.copyOf(ends, 2 * commands);
    }
    ends[commands++] = end;
  }

  private boolean issue(Command command) {
    int before = step - 1;
    switch (command) {
      case AWAIT_SUMS -> {
        return await(stored[before / stepsOfOutput - sets]);
      }
      case AWAIT_BUFFER -> {
        return await(used[step - buffers]);
      }
      case PRODUCT -> {
        products.add(new Product(before, issued(), commands));
        add(NEVER);
        multiply();
      }
      case PASS -> {
        issued();
        add(0); // ends before the store
      }
      case STORE -> store(before);
      case LOAD_A -> load((double) rows(step) * depth(step));
      case LOAD_B -> load((double) depth(step) * width(step));
    }
    return true;
  }

  private boolean await(double ps) {
    if (ps == NEVER) {
      return false;
    }
    issuePs = Math.max(issuePs, ps);
    add(ps);
    return true;
  }

  private void load(double elements) {
    double bytes = elements * gemm.dtype().sizeBytes();
    loads.add(new Transfer(true, step, bytes, issued(), commands));
    add(NEVER);
  }

  private double issued() {
    issuePs += costs.dispatchPs();
    return issuePs;
  }

  private boolean isLast(int s) {
    return s % stepsOfOutput == stepsOfOutput - 1;
  }

  private int rows(int s) {
    int row = s / stepsOfOutput / columns % rowsOfTiles;
    return Math.min(tile.m(), gemm.m() - row * tile.m());
  }

  private int width(int s) {
    return Math.min(tile.n(), gemm.n() - s / stepsOfOutput % columns * tile.n());
  }

  private int depth(int s) {
    return Math.min(tile.k(), gemm.k() - s % stepsOfOutput * tile.k());
  }

  // ---- the array ----

  /** Gives the array the products that have their tiles. */
  private void multiply() {
    while (!products.isEmpty() && missing[multiplied] == 0) {
      Product p = products.remove();
      multiplied++;
      var op =
          new ComputeOp.Gemm(
              gemm.dtype(),
              gemm.dtype().accumulator(),
              rows(p.step),
              width(p.step),
              depth(p.step),
              p.step % stepsOfOutput != 0,
              gemm.whole());
      double start = Math.max(Math.max(p.issuedPs, nowPs), enginePs);
      double end = start + costs.compute().durationPs(op);
      enginePs = start + costs.compute().occupancyPs(op);
      used[p.step] = enginePs;
      ends[p.number] = end;
      if (isLast(p.step)) {
        finish(p.step, end);
      }
    }
  }

  /** Epilogues wait for the sums and, where they share it, keep the engine. */
  private void finish(int s, double sumsPs) {
    double done = sumsPs;
    if (passes > 0) {
      done += passes * TileSearch.passPs(costs, gemm.dtype(), rows(s) * width(s));
      enginePs = done;
    }
    summed[s / stepsOfOutput] = done;
    release(s / stepsOfOutput);
  }

  private void store(int s) {
    int output = s / stepsOfOutput;
    double bytes = (double) rows(s) * width(s) * gemm.out().shard().dtype().sizeBytes();
    issuedStores[output] = new Transfer(false, output, bytes, issued(), commands);
    add(NEVER);
    release(output);
  }

  /** A store that is issued and has its sums waits for a queue. */
  private void release(int output) {
    Transfer t = issuedStores[output];
    if (t != null && summed[output] < NEVER) {
      double fromPs = Math.max(t.fromPs, summed[output]);
      stores.add(new Transfer(false, output, t.bytes, fromPs, t.number));
    }
  }
}
