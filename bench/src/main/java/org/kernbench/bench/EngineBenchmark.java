package org.kernbench.bench;

import java.util.concurrent.TimeUnit;
import org.kernbench.sim.EventHandler;
import org.kernbench.sim.Simulation;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * The engine: pop an event, dispatch it to one of two small handlers, which schedules the next.
 * Nanoseconds per event on {@link EventMix}; half of the events are keyed. The target is 30 ns with
 * 10,000 pending.
 *
 * <p>{@code scripts/bench Engine}; with {@code -prof gc} it shows that an event allocates nothing.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 10, time = 300, timeUnit = TimeUnit.MILLISECONDS)
@Fork(value = 2, jvmArgsAppend = "-XX:+UseSerialGC")
public class EngineBenchmark {
  private static final int EVENTS = 1_024;

  @Param({"1000", "10000", "100000"})
  int pending;

  @Param("NANOSECOND")
  EventMix.Grid grid;

  private Simulation sim;
  private EventMix mix;
  private long[] counts;
  private long key;
  private int plain;
  private int keyed;

  @Setup
  public void fill() {
    mix = new EventMix(grid);
    sim = new Simulation();
    counts = new long[2];
    EventHandler schedulesPlainly =
        (kind, arg) -> {
          counts[kind]++;
          sim.schedule(sim.nowPs() + mix.nextDelayPs(), keyed(), kind ^ 1, arg);
        };
    EventHandler schedulesKeyed =
        (kind, arg) -> {
          counts[kind]++;
          sim.scheduleKeyed(sim.nowPs() + mix.nextDelayPs(), key++, plain(), kind ^ 1, arg);
        };
    plain = sim.register(schedulesPlainly);
    keyed = sim.register(schedulesKeyed);
    for (int i = 0; i < pending; i++) {
      sim.schedule(mix.nextDelayPs(), i % 2 == 0 ? plain : keyed, 0, i);
    }
    for (int i = 0; i < 5 * pending; i++) {
      sim.step();
    }
  }

  private int plain() {
    return plain;
  }

  private int keyed() {
    return keyed;
  }

  @Benchmark
  @OperationsPerInvocation(EVENTS)
  public long event() {
    for (int i = 0; i < EVENTS; i++) {
      sim.step();
    }
    return sim.nowPs();
  }
}
