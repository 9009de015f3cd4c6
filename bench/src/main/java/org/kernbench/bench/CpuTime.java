package org.kernbench.bench;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.Collection;
import java.util.List;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;

/**
 * CPU time of the benchmark's own threads per operation, average and least of all iterations: for
 * machines that others use too, where elapsed time says more about them than about the code.
 * Collector and compiler threads are not counted.
 *
 * <p>{@code scripts/bench Engine -prof org.kernbench.bench.CpuTime -i 20}
 */
public final class CpuTime implements InternalProfiler {
  private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
  private long before;

  @Override
  public String getDescription() {
    return "CPU time of the benchmark's threads per operation, average and least of all iterations";
  }

  @Override
  public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
    before = workersCpuNs();
  }

  @Override
  public Collection<? extends Result<?>> afterIteration(
      BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
    double ns = workersCpuNs() - before;
    double perOperation = ns / result.getMetadata().getAllOps();
    return List.of(
        new ScalarResult("cpu.average", perOperation, "ns/op", AggregationPolicy.AVG),
        new ScalarResult("cpu.least", perOperation, "ns/op", AggregationPolicy.MIN));
  }

  private long workersCpuNs() {
    long sum = 0;
    for (ThreadInfo thread : threads.getThreadInfo(threads.getAllThreadIds())) {
      if (thread != null && thread.getThreadName().contains("jmh-worker")) {
        sum += Math.max(0, threads.getThreadCpuTime(thread.getThreadId()));
      }
    }
    return sum;
  }
}
