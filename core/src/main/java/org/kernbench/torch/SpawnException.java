package org.kernbench.torch;

import java.util.Collections;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.kernbench.config.ConfigException;
import org.kernbench.device.SimulationException;
import org.kernbench.machine.MachineException;
import org.kernbench.tensor.ShapeException;

/**
 * Ranks have failed. The message lists them; ranks that were only stopped because of them are not
 * among them. The cause is the failure of the lowest rank.
 */
public final class SpawnException extends SimulationException {
  private static final long serialVersionUID = 1L;
  private static final int TOLD = 8;

  private final transient SortedMap<Integer, Throwable> failures;

  SpawnException(SortedMap<Integer, Throwable> failures, int worldSize) {
    super(text(failures, worldSize));
    this.failures = Collections.unmodifiableSortedMap(new TreeMap<>(failures));
    initCause(failures.firstEntry().getValue());
  }

  /** What each failed rank threw, by rank. */
  public SortedMap<Integer, Throwable> failures() {
    return failures;
  }

  /** Whether every failure is a user's error, which needs no stack trace to be understood. */
  public boolean isUserError() {
    return failures.values().stream().allMatch(SpawnException::isUserError);
  }

  private static boolean isUserError(Throwable t) {
    return t instanceof SimulationException
        || t instanceof ConfigException
        || t instanceof MachineException
        || t instanceof ShapeException;
  }

  private static String text(SortedMap<Integer, Throwable> failures, int worldSize) {
    StringBuilder s = new StringBuilder();
    s.append(failures.size()).append(" of ").append(worldSize).append(" ranks failed");
    int told = 0;
    for (Map.Entry<Integer, Throwable> e : failures.entrySet()) {
      if (told++ == TOLD) {
        s.append("\n  … and ").append(failures.size() - TOLD).append(" more");
        break;
      }
      Throwable t = e.getValue();
      String what = isUserError(t) ? String.valueOf(t.getMessage()) : t.toString();
      s.append("\n  rank ").append(e.getKey()).append(": ").append(what.replace("\n", "\n    "));
    }
    return s.toString();
  }
}
