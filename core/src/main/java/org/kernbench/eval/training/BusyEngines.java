package org.kernbench.eval.training;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Predicate;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.machine.Pe;

/**
 * How long the GEMM and MATH engines of the busiest PE were busy in each launch: no launch can take
 * less with the commands that it has. Both count together, for one waits for the other where they
 * share a slot ({@code pe.accel_slot}); where they do not, this is when either was busy.
 */
final class BusyEngines {
  private static final int FIRST = 64;

  /** Where and in which launch. */
  private record Place(int launch, Pe pe) {}

  /** When commands ran, as starts and ends in turn. */
  private static final class Spans {
    private long[] times = new long[FIRST];
    private int size;

    void add(long from, long to) {
      if (size == times.length) {
        times = Arrays.copyOf(times, 2 * size);
      }
      times[size++] = from;
      times[size++] = to;
    }

    /** The length of their union. */
    long length() {
      long[][] spans = new long[size / 2][];
      for (int i = 0; i < spans.length; i++) {
        spans[i] = new long[] {times[2 * i], times[2 * i + 1]};
      }
      Arrays.sort(spans, (a, b) -> Long.compare(a[0], b[0]));
      long length = 0;
      long end = Long.MIN_VALUE;
      for (long[] span : spans) {
        length += Math.max(0, span[1] - Math.max(span[0], end));
        end = Math.max(end, span[1]);
      }
      return length;
    }
  }

  private final Map<Integer, Long> most = new HashMap<>();

  /**
   * In a run.
   *
   * @param counts which PEs do
   */
  BusyEngines(OpLog log, Predicate<Pe> counts) {
    Map<Place, Spans> spans = new HashMap<>();
    for (int id = 0; id < log.size(); id++) {
      if (log.has(id) && computes(log.kind(id)) && counts.test(log.pe(id))) {
        spans
            .computeIfAbsent(new Place(log.launch(id), log.pe(id)), p -> new Spans())
            .add(log.startPs(id), log.endPs(id));
      }
    }
    spans.forEach((place, all) -> most.merge(place.launch, all.length(), Math::max));
  }

  private static boolean computes(OpKind kind) {
    return switch (kind) {
      case GEMM, MATH -> true;
      case LOAD, STORE, SEND, RECV -> false;
    };
  }

  /** In a launch; 0 if it has no such command. */
  long ps(int launch) {
    return most.getOrDefault(launch, 0L);
  }
}
