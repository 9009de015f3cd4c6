package org.kernbench.eval.report;

import java.nio.file.Path;
import java.util.Locale;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.output.OutputException;
import org.kernbench.eval.output.WholeFile;

/**
 * A {@code Trace} in a file that Perfetto (ui.perfetto.dev, offline too) and Chrome's trace viewer
 * open: Perfetto's protobuf, or Chrome's JSON if the name ends in {@code .json}.
 *
 * <p>Viewers count whole nanoseconds, and a link may take half of one for a chunk. So one
 * nanosecond of the file is one picosecond of the run: what the viewer calls 1 µs is 1 ns. The
 * first group of tracks says so.
 */
public final class TraceFile {
  private static final String SCALE = " (1 us here is 1 ns simulated)";

  private TraceFile() {}

  /**
   * What was written.
   *
   * @param slices of all tracks
   * @param flows messages
   * @param samples values of counters
   * @param tracks engines, queues and links
   * @param bytes size of the file
   */
  public record Size(long slices, long flows, long samples, int tracks, long bytes) {}

  /**
   * Writes the trace of a run.
   *
   * @throws OutputException if the run kept no operations or not all, or the file cannot be
   *     written; what was there before is unchanged
   */
  public static Size write(RunResult result, Path file) {
    if (result.log().isEmpty() || result.machine().isEmpty()) {
      throw new OutputException(
          """
          --trace: bench %s keeps no operations%s; trace a bench of a single run, such as \
          ccl-allreduce, in mode full or time\
          """
              .formatted(result.bench(), result.mode().equals("values") ? " in mode values" : ""));
    }
    Trace trace = Trace.of(result.machine().get(), result.log().get());
    long bytes =
        WholeFile.write(
            file,
            out -> {
              if (file.toString().toLowerCase(Locale.ROOT).endsWith(".json")) {
                new ChromeTrace(trace, result, out).write();
              } else {
                new PerfettoTrace(trace, result, out).write();
              }
            });
    return new Size(trace.slices(), trace.flows(), trace.samples(), trace.tracks().size(), bytes);
  }

  /** The name of a group of tracks. */
  static String group(Trace.Group group, int sip) {
    return switch (group) {
      case RANKS -> "ranks";
      case ENGINES -> "sip" + sip;
      case QUEUES -> "queues";
      case LINKS -> "links";
    };
  }

  /** What stands over the whole trace. */
  static String title(RunResult r) {
    return "kernbench " + r.bench() + " on " + r.machineName() + SCALE;
  }
}
