package org.kernbench.bench;

import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.kernbench.sim.EventQueue;
import org.kernbench.sim.HeapEventQueue;
import org.kernbench.sim.WheelEventQueue;
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
 * The hold model on {@link EventMix}: pop an event, push one a delay later, with a constant number
 * pending. Nanoseconds per pop and push.
 *
 * <p>{@code scripts/bench EventQueue}; with {@code -p grid=PICOSECOND} on times that hardly
 * coincide.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 10, time = 300, timeUnit = TimeUnit.MILLISECONDS)
@Fork(value = 2, jvmArgsAppend = "-XX:+UseSerialGC")
public class EventQueueBenchmark {
  private static final int EVENTS = 1_024;

  /** The candidates. */
  public enum Candidate {
    WHEEL(WheelEventQueue::new),
    HEAP(HeapEventQueue::new),
    PRIORITY_QUEUE(ObjectQueue::new);

    private final Supplier<EventQueue> maker;

    Candidate(Supplier<EventQueue> maker) {
      this.maker = maker;
    }
  }

  @Param Candidate queue;

  @Param({"1000", "10000", "100000"})
  int pending;

  @Param("NANOSECOND")
  EventMix.Grid grid;

  private EventQueue events;
  private EventMix mix;
  private long sequence;

  @Setup
  public void fill() {
    mix = new EventMix(grid);
    events = queue.maker.get();
    for (int i = 0; i < pending; i++) {
      events.push(mix.nextDelayPs(), sequence++, i);
    }
    for (int i = 0; i < 5 * pending; i++) {
      hold();
    }
  }

  @Benchmark
  @OperationsPerInvocation(EVENTS)
  public long popAndPush() {
    for (int i = 0; i < EVENTS; i++) {
      hold();
    }
    return events.timePs();
  }

  private void hold() {
    events.pop();
    events.push(events.timePs() + mix.nextDelayPs(), sequence++, events.payload());
  }

  /** What one would write first: a {@code java.util.PriorityQueue} of records. */
  private static final class ObjectQueue implements EventQueue {
    private record Event(long timePs, long order, long payload) {}

    private final PriorityQueue<Event> queue =
        new PriorityQueue<>(
            Comparator.comparingLong(Event::timePs).thenComparingLong(Event::order));
    private Event last = new Event(0, 0, 0);

    @Override
    public void push(long timePs, long order, long payload) {
      queue.add(new Event(timePs, order, payload));
    }

    @Override
    public boolean isEmpty() {
      return queue.isEmpty();
    }

    @Override
    public boolean isNextAt(long timePs) {
      return !queue.isEmpty() && queue.element().timePs == timePs;
    }

    @Override
    public int size() {
      return queue.size();
    }

    @Override
    public void pop() {
      last = queue.remove();
    }

    @Override
    public long timePs() {
      return last.timePs;
    }

    @Override
    public long order() {
      return last.order;
    }

    @Override
    public long payload() {
      return last.payload;
    }
  }
}
