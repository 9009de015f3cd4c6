package org.kernbench.sim;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** What one exact division of bytes by a rate costs: the fabric does it once per chunk and link. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class RateBenchmark {
  private final Rate rate = Rate.ofBytesPerSecond(217_600_000_000L);
  private long bytes = 64;

  /** Sizes of 64 B to 64 KiB in turn. */
  @Benchmark
  public long durationPs() {
    bytes = ((bytes << 1) & 0xffff) | 64;
    return rate.durationPs(bytes);
  }
}
