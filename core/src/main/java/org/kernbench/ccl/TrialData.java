package org.kernbench.ccl;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.kernbench.ccl.CollectiveTrial.Question;
import org.kernbench.device.simulator.Simulator;
import org.kernbench.machine.Machine;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Shard;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.Part;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.collective.Splits;

/**
 * What the ranks of a trial hold: where the vectors lie, the call that names them, and samples that
 * tell every place of every rank from the others. Behind each result lie bytes that nobody may
 * write.
 */
final class TrialData {
  static final int GUARD_BYTES = 64;
  static final byte GUARD = 0x5a;
  static final long FIRST_BYTE = 4096;

  /** Sums of whole numbers stay below this. */
  private static final double MOST_EXACT = 1 << 20;

  private final Machine machine;
  private final Group group;
  final Question q;
  final List<Part> parts;
  final Splits splits;
  final CollectiveCall call;
  private final double[][] held;

  TrialData(Machine machine, Group group, Question q) {
    this.machine = machine;
    this.group = group;
    this.q = q;
    this.held = new double[group.size()][0];
    this.parts = parts(q, group.size());
    int p = group.size();
    boolean exchange = q.op() == CollectiveOp.ALL_TO_ALL;
    this.splits = exchange ? Splits.even(p, q.elements() / p) : Splits.NONE;
    List<Optional<Shard>> inputs = new ArrayList<>();
    List<Optional<Shard>> outputs = new ArrayList<>();
    long in = FIRST_BYTE;
    long most = Math.max(q.elements(), 1) * q.dtype().sizeBytes();
    long out = in + Math.ceilDiv(most + GUARD_BYTES, 4096L) * 4096;
    boolean inPlace = q.op() == CollectiveOp.ALL_REDUCE || q.op() == CollectiveOp.BROADCAST;
    for (int rank = 0; rank < p; rank++) {
      inputs.add(gives(rank) ? Optional.of(shard(rank, in, inCount(rank))) : Optional.empty());
      outputs.add(
          gets(rank)
              ? Optional.of(shard(rank, inPlace ? in : out, outCount(rank)))
              : Optional.empty());
    }
    long elements = exchange ? (long) p * (q.elements() / p) * p : q.elements();
    this.call =
        new CollectiveCall(
            q.op(),
            q.reduce(),
            q.dtype(),
            q.op().hasRoot() ? q.root() : -1,
            q.op() == CollectiveOp.BARRIER ? 0 : elements,
            parts,
            splits,
            List.of(),
            inputs,
            outputs);
  }

  /** What each of so many ranks owns of the whole vector. */
  static List<Part> parts(Question q, int p) {
    List<Part> parts = new ArrayList<>();
    long start = 0;
    for (int rank = 0; rank < p; rank++) {
      long count =
          q.op().hasParts() ? q.elements() / p + (rank < q.elements() % p ? 1 : 0) : q.elements();
      parts.add(new Part(q.op().hasParts() ? start : 0, count));
      start += count;
    }
    return parts;
  }

  Shard shard(int rank, long at, long count) {
    return new Shard(
        "x",
        machine.addresses().hbm(group.lead(rank), at),
        Shape.of(Math.toIntExact(count)),
        q.dtype());
  }

  boolean gives(int rank) {
    return switch (q.op()) {
      case BROADCAST, SCATTER -> rank == q.root();
      case BARRIER, POINT_TO_POINT -> false;
      case ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, REDUCE, GATHER, ALL_TO_ALL -> true;
    };
  }

  boolean gets(int rank) {
    return switch (q.op()) {
      case REDUCE, GATHER -> rank == q.root();
      case BARRIER, POINT_TO_POINT -> false;
      case ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, BROADCAST, SCATTER, ALL_TO_ALL -> true;
    };
  }

  long inCount(int rank) {
    return switch (q.op()) {
      case ALL_GATHER, GATHER -> parts.get(rank).count();
      case ALL_TO_ALL -> splits.sent(rank);
      case ALL_REDUCE, REDUCE_SCATTER, BROADCAST, REDUCE, SCATTER, POINT_TO_POINT, BARRIER ->
          q.elements();
    };
  }

  long outCount(int rank) {
    return switch (q.op()) {
      case REDUCE_SCATTER, SCATTER -> parts.get(rank).count();
      case ALL_TO_ALL -> splits.received(rank);
      case ALL_REDUCE, ALL_GATHER, BROADCAST, REDUCE, GATHER, POINT_TO_POINT, BARRIER ->
          q.elements();
    };
  }

  /** Element of the whole vector that a rank's input begins with. */
  long inStart(int rank) {
    return q.op() == CollectiveOp.ALL_GATHER || q.op() == CollectiveOp.GATHER
        ? parts.get(rank).start()
        : 0;
  }

  long outStart(int rank) {
    return q.op() == CollectiveOp.REDUCE_SCATTER || q.op() == CollectiveOp.SCATTER
        ? parts.get(rank).start()
        : 0;
  }

  void write(Simulator simulator) {
    for (int rank = 0; rank < group.size(); rank++) {
      if (gets(rank)) {
        Shard out = call.output(rank);
        simulator.write(out.address(), guarded(out), 0, bytes(out) + GUARD_BYTES);
      }
      if (gives(rank)) {
        Shard in = call.input(rank);
        byte[] data = new byte[bytes(in)];
        for (int i = 0; i < in.shape().elements(); i++) {
          put(data, i, sample(rank, inStart(rank) + i));
        }
        simulator.write(in.address(), data, 0, data.length);
      }
    }
  }

  private byte[] guarded(Shard shard) {
    byte[] data = new byte[bytes(shard) + GUARD_BYTES];
    Arrays.fill(data, GUARD);
    return data;
  }

  int bytes(Shard shard) {
    return Math.toIntExact(shard.shape().elements() * q.dtype().sizeBytes());
  }

  private void put(byte[] data, int i, double value) {
    q.dtype().putDouble(data, i * q.dtype().sizeBytes(), value);
  }

  /**
   * Whether sums of the ranks' values at a place are exact in any order: so are those of every
   * second one of floating-point numbers. Of these a rank that is left out is missed whatever
   * rounding may do to the others, and others show whether ranks add up in different orders.
   */
  boolean isExact(long i) {
    boolean sums = q.reduce() == ReduceKind.SUM || q.reduce() == ReduceKind.AVG;
    return q.op().reduces() && sums && q.dtype().isFloatingPoint() && i % 2 == 0;
  }

  /** Whole numbers; where the type has few, of few ranks in turn. */
  private double exact(int rank, long i, int hash) {
    long room = (long) Math.min(1 / q.dtype().unitRoundoff(), MOST_EXACT);
    long most = room / group.size();
    if (most > 0) {
      return hash % (2 * most + 1) - most;
    }
    long turns = Math.ceilDiv(group.size(), room);
    return (rank + i / 2) % turns == 0 ? 1 - hash % 2 * 2 : 0;
  }

  /** What a rank holds at a place of the whole vector, before rounding to the type. */
  double sample(int rank, long i) {
    int hash = (int) ((rank * 2654435761L + i * 40503L + (i >> 7) * 97L) >>> 3) & 0x7fff_ffff;
    boolean integer = q.dtype().isInteger();
    if (isExact(i)) {
      return exact(rank, i, hash);
    }
    if (q.op().reduces() && q.reduce() == ReduceKind.PRODUCT) {
      int sign = hash % 2 == 0 ? 1 : -1;
      int factor = q.dtype().sizeBytes() > 1 && hash % 3 == 0 ? 2 : 1; // else it would overflow
      return integer ? sign * factor : 1 + (hash % 101 - 50) / 400.0;
    }
    if (integer) {
      return hash % (q.dtype().sizeBytes() == 1 ? 13 : 2001)
          - (q.dtype().sizeBytes() == 1 ? 6 : 1000);
    }
    return (hash % 2001 - 1000) / 1000.0;
  }

  /** The sample as it is stored. */
  double held(int rank, long i) {
    if (held[rank].length == 0) {
      double[] all = new double[Math.toIntExact(q.elements())];
      for (int at = 0; at < all.length; at++) {
        all[at] = q.dtype().round(sample(rank, at));
      }
      held[rank] = all;
    }
    return held[rank][(int) i];
  }
}
