package org.kernbench.config;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Collects the problems of a configuration so that a user sees all of them at once. */
public final class Problems {
  /** Nobody reads more of them, and a file that is no configuration has one in every line. */
  private static final int MOST = 100;

  private final List<Problem> found = new ArrayList<>();
  private int untold;

  /** Adds a problem of the key {@code path}, which stands at {@code at}. */
  public void add(Position at, String path, String message) {
    if (found.size() < MOST) {
      found.add(new Problem(at, path, message));
    } else {
      untold++;
    }
  }

  /** Whether what is found from now on is only counted. */
  boolean isFull() {
    return found.size() == MOST;
  }

  /** True while nothing is wrong. */
  public boolean isEmpty() {
    return found.isEmpty();
  }

  /**
   * True if no problem concerns any of these paths, a key inside them, or a section around them.
   * Cross-checks ask this first, so that one mistake is not reported twice.
   */
  public boolean isClean(String... paths) {
    for (Problem problem : found) {
      for (String path : paths) {
        if (contains(path, problem.path()) || contains(problem.path(), path)) {
          return false;
        }
      }
    }
    return true;
  }

  /** The problems by file (in order of first mention), line and column. */
  public List<Problem> sorted() {
    if (found.isEmpty()) {
      return List.of();
    }
    Map<String, Integer> files = new LinkedHashMap<>();
    for (Problem problem : found) {
      files.putIfAbsent(problem.file(), files.size());
    }
    List<Problem> result = new ArrayList<>(found);
    result.sort(
        Comparator.comparingInt((Problem p) -> files.get(p.file()))
            .thenComparingInt(Problem::line)
            .thenComparingInt(Problem::column));
    if (untold > 0) {
      Problem last = result.getLast();
      Position at = new Position(last.file(), last.line(), last.column());
      result.add(new Problem(at, "", "and " + untold + " more problems; mend those above first"));
    }
    return result;
  }

  /**
   * Ends the reading of a configuration.
   *
   * @throws ConfigException with all problems, if there are any
   */
  public void throwIfAny() {
    if (!found.isEmpty()) {
      throw new ConfigException(sorted());
    }
  }

  private static boolean contains(String outer, String inner) {
    return inner.startsWith(outer)
        && (inner.length() == outer.length()
            || inner.charAt(outer.length()) == '.'
            || inner.charAt(outer.length()) == '[');
  }
}
