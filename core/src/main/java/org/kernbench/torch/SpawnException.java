package org.kernbench.torch;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.SortedMap;
import java.util.TreeMap;
import org.kernbench.config.ConfigException;
import org.kernbench.config.UsageException;
import org.kernbench.machine.MachineException;
import org.kernbench.machine.SimulationException;
import org.kernbench.tensor.ShapeException;

/**
 * Ranks have failed. The message lists them, those that failed alike together; ranks that were only
 * stopped because of them are not among them. The cause is the failure of the lowest rank.
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
        || t instanceof UsageException
        || t instanceof MachineException
        || t instanceof ShapeException;
  }

  private static String text(SortedMap<Integer, Throwable> failures, int worldSize) {
    StringBuilder s = new StringBuilder();
    s.append(failures.size()).append(" of ").append(worldSize).append(" ranks failed");
    SequencedMap<String, List<Integer>> ranks = new LinkedHashMap<>();
    failures.forEach((rank, t) -> {
      String what = isUserError(t) ? withLine(t) : place(t) + told(t);
      ranks.computeIfAbsent(what, w -> new ArrayList<>()).add(rank);
    });
    int left = failures.size();
    int told = 0;
    for (Map.Entry<String, List<Integer>> e : ranks.entrySet()) {
      if (told++ == TOLD) {
        s.append("\n  … and ").append(left).append(" more");
        break;
      }
      left -= e.getValue().size();
      s.append("\n  ").append(named(e.getValue())).append(": ");
      s.append(e.getKey().replace("\n", "\n    "));
    }
    return s.toString();
  }

  /** A message, with the line of the program that led to it if it does not name one. */
  private static String withLine(Throwable t) {
    String message = String.valueOf(t.getMessage());
    return CallSite.ofProgram(t.getStackTrace())
        .filter(line -> !message.contains(line))
        .map(line -> message + "; called at " + line)
        .orElse(message);
  }

  /** {@code File.java:12: } of the program's line that threw. */
  private static String place(Throwable t) {
    for (StackTraceElement frame : t.getStackTrace()) {
      String type = frame.getClassName();
      if (!type.startsWith("java.") && !type.startsWith("jdk.")) {
        return frame.getFileName() + ":" + frame.getLineNumber() + ": ";
      }
    }
    return "";
  }

  /** An exception of a program may fail in saying what it is. */
  private static String told(Throwable t) {
    try {
      return t.toString();
    } catch (RuntimeException | StackOverflowError e) {
      return t.getClass().getName();
    }
  }

  /** Such as {@code rank 3} or {@code ranks 0 to 2, 5}. */
  private static String named(List<Integer> ranks) {
    StringBuilder s = new StringBuilder(ranks.size() == 1 ? "rank " : "ranks ");
    int i = 0;
    while (i < ranks.size()) {
      int first = i;
      while (i + 1 < ranks.size() && ranks.get(i + 1) == ranks.get(i) + 1) {
        i++;
      }
      s.append(first == 0 ? "" : ", ").append(ranks.get(first));
      if (i > first) {
        s.append(i == first + 1 ? ", " : " to ").append(ranks.get(i));
      }
      i++;
    }
    return s.toString();
  }
}
