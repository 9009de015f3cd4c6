package org.kernbench.cli;

import picocli.CommandLine.Option;

/** The option {@code --format} of every command whose output is no table. */
final class TextOrJson {
  @Option(
      names = "--format",
      paramLabel = "FORMAT",
      arity = "1",
      converter = Words.TextOrJsonWord.class,
      completionCandidates = Words.TextOrJsonWord.class,
      description = "text (default) or json, on standard output.")
  private boolean json;

  /** Whether programs are to read it, not people. */
  boolean isJson() {
    return json;
  }
}
