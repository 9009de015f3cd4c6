package org.kernbench.eval.replay;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.device.log.ComputeOp;
import org.kernbench.device.log.LaunchLog;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;

/**
 * What the kernels of a run computed and moved, by launch and rank, summed over the rows of its op
 * log: floating-point operations, and bytes that were loaded from memory or stored to it.
 *
 * <p>A product of m x k and k x n has {@code 2 m n k} operations, an element-wise function or a
 * comparison one for each result, a multiply-add and a clamp two, a reduction or a running sum one
 * for each element, a softmax five (largest, difference, exponential, sum, quotient). What only
 * moves, converts or selects has none, nor have integers.
 */
final class KernelWork {
  private record Key(int launch, int rank) {}

  /** Sums of one launch on one rank. */
  record Sum(long operations, long memoryBytes) {
    static final Sum NONE = new Sum(0, 0);

    private Sum plus(long more, long bytes) {
      return new Sum(operations + more, memoryBytes + bytes);
    }
  }

  private final Map<Key, Sum> sums = new HashMap<>();
  private final boolean isComplete;

  /** Adds up what the log has; nothing if rows are missing. */
  KernelWork(OpLog log) {
    this.isComplete = log.size() >= log.completed();
    if (!isComplete) {
      return;
    }
    LaunchLog launches = log.launches();
    Map<Pe, Integer> ranks = ranks(launches);
    for (int id = 0; id < log.size(); id++) {
      int launch = log.has(id) ? log.launch(id) : LaunchLog.NONE;
      if (launch == LaunchLog.NONE) {
        continue;
      }
      OpKind kind = log.kind(id);
      long bytes = kind == OpKind.LOAD || kind == OpKind.STORE ? log.bytes(id) : 0;
      long operations = log.work(id).map(KernelWork::operations).orElse(0L);
      Key key = new Key(launch, ranks.getOrDefault(log.pe(id), 0));
      sums.put(key, sums.getOrDefault(key, Sum.NONE).plus(operations, bytes));
    }
  }

  private static Map<Pe, Integer> ranks(LaunchLog launches) {
    Map<Pe, Integer> ranks = new HashMap<>();
    for (int launch = 0; launches.ranks() > 0 && launch < launches.size(); launch++) {
      List<Pe> pes = launches.pes(launch);
      for (int i = 0; i < pes.size(); i++) {
        ranks.put(pes.get(i), launches.rank(launches.firstRow(launch) + i));
      }
    }
    return ranks;
  }

  /** Whether every operation of the run had a row to be counted from. */
  boolean isComplete() {
    return isComplete;
  }

  /** What a launch did on a rank. */
  Sum of(int launch, int rank) {
    return sums.getOrDefault(new Key(launch, rank), Sum.NONE);
  }

  /** Floating-point operations of a command. */
  private static long operations(ComputeOp op) {
    return switch (op) {
      case ComputeOp.Binary b -> each(b.type(), b.n());
      case ComputeOp.BinaryScalar b -> each(b.type(), b.n());
      case ComputeOp.ScalarBinary b -> each(b.type(), b.n());
      case ComputeOp.Unary u -> each(u.type(), u.n());
      case ComputeOp.Fma f -> each(f.type(), 2L * f.n());
      case ComputeOp.Clamp c -> each(c.type(), 2L * c.n());
      case ComputeOp.Compare c -> each(c.type(), c.n());
      case ComputeOp.CompareScalar c -> each(c.type(), c.n());
      case ComputeOp.Reduce r -> each(r.type(), (long) r.outer() * r.length() * r.inner());
      case ComputeOp.ArgReduce r -> each(r.type(), (long) r.outer() * r.length() * r.inner());
      case ComputeOp.CumulativeSum s -> each(s.type(), (long) s.outer() * s.length() * s.inner());
      case ComputeOp.Softmax s -> each(s.type(), 5L * s.outer() * s.length() * s.inner());
      case ComputeOp.Gemm g -> each(g.in(), 2L * g.m() * g.n() * g.k());
      case ComputeOp.Strided s -> operations(s.what());
      case ComputeOp.Where w -> 0;
      case ComputeOp.WhereScalar w -> 0;
      case ComputeOp.Cast c -> 0;
      case ComputeOp.Fill f -> 0;
      case ComputeOp.Arange a -> 0;
      case ComputeOp.Random r -> 0;
      case ComputeOp.Copy c -> 0;
      case ComputeOp.Concat c -> 0;
      case ComputeOp.Elapsed e -> 0;
    };
  }

  private static long each(DType type, long count) {
    return type.isFloatingPoint() ? count : 0;
  }
}
