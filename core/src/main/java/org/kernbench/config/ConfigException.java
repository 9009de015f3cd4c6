package org.kernbench.config;

import java.util.List;

/** A configuration that cannot be used, with all of its problems. A user error: exit code 2. */
public final class ConfigException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final transient List<Problem> problems;

  /** An exception whose message is one line per problem. */
  public ConfigException(List<Problem> problems) {
    super(join(problems));
    this.problems = List.copyOf(problems);
  }

  /** All problems, by file and position. */
  public List<Problem> problems() {
    return problems;
  }

  private static String join(List<Problem> problems) {
    StringBuilder text = new StringBuilder();
    for (Problem problem : problems) {
      if (!text.isEmpty()) {
        text.append('\n');
      }
      text.append(problem);
    }
    return text.toString();
  }
}
