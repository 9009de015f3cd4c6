package org.kernbench.ccl;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.kernbench.ccl.CollectiveTrial.Question;
import org.kernbench.device.simulator.Simulator;
import org.kernbench.tl.Shard;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;

/**
 * What is right and wrong in the memories after a trial: results against a reference in f64 with
 * the rounding that any order of sums may have, equal bits where ranks get the same, and guards.
 */
final class TrialJudgement {
  private final Question q;
  private final Group group;
  private final TrialData data;
  private final CollectiveCall call;
  private final double factor; // of the rounding of as many results as there are ranks
  private final List<String> problems = new ArrayList<>();
  private CollectiveTrial.Checked checked = CollectiveTrial.Checked.NONE;

  TrialJudgement(Group group, TrialData data) {
    this.q = data.q;
    this.group = group;
    this.data = data;
    this.call = data.call;
    double u = q.dtype().isInteger() ? 0 : q.dtype().unitRoundoff();
    this.factor = (StrictMath.pow(1 + u, group.size() + 1.0) - 1) * (1 + 1e-9);
  }

  /** Compares what the memories hold. */
  void values(Simulator simulator) {
    byte[] first = {};
    long wrongFirst = 0;
    boolean alike =
        q.op() == CollectiveOp.ALL_REDUCE
            || q.op() == CollectiveOp.ALL_GATHER
            || q.op() == CollectiveOp.BROADCAST;
    for (int rank = 0; rank < group.size(); rank++) {
      if (!data.gets(rank)) {
        continue;
      }
      Shard out = call.output(rank);
      byte[] got = new byte[data.bytes(out) + TrialData.GUARD_BYTES];
      simulator.read(out.address(), got, 0, got.length);
      byte[] result = Arrays.copyOf(got, data.bytes(out));
      boolean same = alike && rank > 0 && Arrays.equals(first, result);
      if (same) {
        checked = checked.plus(new CollectiveTrial.Checked(data.outCount(rank), wrongFirst, 0, 0));
      } else {
        long before = checked.wrong();
        compare(rank, got);
        wrongFirst = rank == 0 ? checked.wrong() - before : wrongFirst;
      }
      for (int i = data.bytes(out); i < got.length; i++) {
        if (got[i] != TrialData.GUARD) {
          problem("rank %d: wrote byte %d beyond its result", rank, i - data.bytes(out));
          break;
        }
      }
      if (!alike || rank == 0) {
        first = result;
      } else if (!same) {
        problem("ranks 0 and %d hold different bits", rank);
      }
    }
  }

  /** Nobody leaves before the late one came. */
  void barrier(int late, double[] times) {
    double came = times[group.size()];
    for (int rank = 0; rank < group.size(); rank++) {
      if (came > 0 && times[rank] <= came) {
        problem(
            "rank %d left the barrier at %.3f ns, before rank %d came at %.3f ns",
            rank, times[rank], late, came);
      }
    }
  }

  Question question() {
    return q;
  }

  CollectiveCall call() {
    return call;
  }

  /** What is wrong, in words; the first five count. */
  List<String> problems() {
    return problems;
  }

  /** How values compare with the reference; bits that equal those of rank 0 do as these do. */
  CollectiveTrial.Checked checked() {
    return checked;
  }

  void problem(String format, Object... arguments) {
    if (problems.size() < 5) {
      problems.add(String.format(Locale.ROOT, format, arguments));
    }
  }

  private void compare(int rank, byte[] got) {
    long n = data.outCount(rank);
    int size = q.dtype().sizeBytes();
    CollectiveTrial.Checked worst = CollectiveTrial.Checked.NONE;
    long wrong = 0;
    for (int i = 0; i < n; i++) {
      double value = q.dtype().getDouble(got, i * size);
      Expected expected = expected(rank, i);
      double error = Math.abs(value - expected.value);
      boolean isWrong = !(error <= expected.allowed);
      double off = Double.isNaN(error) ? Double.POSITIVE_INFINITY : error;
      if (isWrong && wrong++ == 0) {
        problem(
            "rank %d: element %d is %s; expected %s within %.3g",
            rank, data.outStart(rank) + i, value, expected.value, expected.allowed);
      }
      if (off >= worst.maxError()) {
        worst = worst.plus(new CollectiveTrial.Checked(1, 0, off, expected.allowed));
      }
    }
    checked =
        checked.plus(new CollectiveTrial.Checked(n, wrong, worst.maxError(), worst.allowed()));
  }

  private record Expected(double value, double allowed) {}

  private Expected expected(int rank, int i) {
    long at = data.outStart(rank) + i;
    return switch (q.op()) {
      case ALL_REDUCE, REDUCE, REDUCE_SCATTER -> reduced(at);
      case ALL_GATHER, GATHER -> new Expected(data.held(owner(at), at), 0);
      case BROADCAST, SCATTER -> new Expected(data.held(q.root(), at), 0);
      case ALL_TO_ALL -> {
        long block = q.elements() / group.size();
        int from = (int) (i / block);
        yield new Expected(data.held(from, rank * block + i % block), 0);
      }
      case BARRIER, POINT_TO_POINT -> new Expected(0, 0);
    };
  }

  private int owner(long at) {
    for (int rank = 0; rank < group.size(); rank++) {
      if (at >= data.parts.get(rank).start() && at < data.parts.get(rank).end()) {
        return rank;
      }
    }
    throw new IllegalStateException("bug: element " + at + " has no owner");
  }

  /**
   * Every partial result is rounded, in whatever order: (1 + u)^p - 1 of what they amount to, and
   * nothing where all of them are exact.
   */
  private Expected reduced(long at) {
    int p = group.size();
    double sum = 0;
    double absolute = 0;
    double product = 1;
    double least = Double.POSITIVE_INFINITY;
    double most = Double.NEGATIVE_INFINITY;
    for (int rank = 0; rank < p; rank++) {
      double x = data.held(rank, at);
      sum += x;
      absolute += Math.abs(x);
      product *= x;
      least = Math.min(least, x);
      most = Math.max(most, x);
    }
    double tiny = q.dtype().isInteger() ? 0 : p * q.dtype().minPositive() + absolute * 0x1p-50;
    if (data.isExact(at)) {
      double rounding = q.reduce() == ReduceKind.AVG ? 3 * q.dtype().unitRoundoff() : 0;
      double mean = q.reduce() == ReduceKind.AVG ? sum / p : sum;
      return new Expected(mean, Math.abs(mean) * rounding + (rounding == 0 ? 0 : tiny));
    }
    return switch (q.reduce()) {
      case SUM -> new Expected(sum, absolute * factor + tiny);
      case AVG ->
          q.dtype().isInteger()
              ? new Expected(sum < 0 ? Math.ceil(sum / p) : Math.floor(sum / p), 0)
              : new Expected(sum / p, absolute / p * factor + tiny);
      case PRODUCT ->
          new Expected(
              product,
              q.dtype().isInteger() ? 0 : Math.abs(product) * factor * (1 + 0x1p-40) + 2 * tiny);
      case MIN -> new Expected(least, 0);
      case MAX -> new Expected(most, 0);
    };
  }
}
