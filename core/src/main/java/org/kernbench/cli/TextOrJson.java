package org.kernbench.cli;

import picocli.CommandLine.Option;

/** The option {@code --format} of every command whose output is no table. */
final class TextOrJson {
  /** What can be asked for. */
  enum Output {
    TEXT,
    JSON
  }

  @Option(
      names = "--format",
      paramLabel = "FORMAT",
      converter = Words.OutputWord.class,
      completionCandidates = Words.OutputWord.class,
      description = "text (default) or json, on standard output.")
  private Output format = Output.TEXT;

  /** Whether programs are to read it, not people. */
  boolean isJson() {
    return format == Output.JSON;
  }
}
