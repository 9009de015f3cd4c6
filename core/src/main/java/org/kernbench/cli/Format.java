package org.kernbench.cli;

/** How a result is shown. */
enum Format {
  /** For people. */
  TEXT,
  /** For programs; schema in {@link org.kernbench.eval.report.ResultJson}. */
  JSON,
  /** For tables. */
  CSV
}
