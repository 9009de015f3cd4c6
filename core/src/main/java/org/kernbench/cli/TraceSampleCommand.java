package org.kernbench.cli;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.kernbench.chakra.TraceMistake;
import org.kernbench.chakra.TraceNode;
import org.kernbench.chakra.TraceSamples;
import org.kernbench.chakra.TraceWriter;
import org.kernbench.config.UsageException;
import org.kernbench.eval.output.WholeFile;
import org.kernbench.eval.report.RunFolder;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code kernbench trace sample}: traces to try the others with. */
@Command(
    name = "sample",
    customSynopsis = "kernbench trace sample KIND --out DIR [OPTIONS]",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    parameterListHeading = "%n",
    description = "Writes the traces of a training step, one file per rank.",
    optionListHeading = "%n",
    footerHeading = "%nExamples%n",
    footer = {
      "  kernbench trace sample data-parallel --ranks 8 --bytes 4194304 --out traces",
      "  kernbench trace sample tensor-parallel --mistake missing_collective --out traces"
    })
final class TraceSampleCommand implements Callable<Integer> {
  private static final int MOST_RANKS = 4096;
  private static final int MOST_LAYERS = 1000;

  private final Terminal terminal;

  @Parameters(
      arity = "1",
      paramLabel = "KIND",
      converter = Words.SampleWord.class,
      completionCandidates = Words.SampleWord.class,
      description = "${COMPLETION-CANDIDATES}.")
  private TraceSamples.Kind kind = TraceSamples.Kind.DATA_PARALLEL;

  @Option(names = "--ranks", paramLabel = "N", description = "Ranks (default: 4).")
  private int ranks = 4;

  @Option(names = "--layers", paramLabel = "N", description = "Layers of each rank (default: 4).")
  private int layers = 4;

  @Option(
      names = "--bytes",
      paramLabel = "N",
      description = "Bytes of each collective or message (default: 1048576).")
  private long bytes = 1 << 20;

  @Option(
      names = "--mistake",
      paramLabel = "MISTAKE",
      converter = Words.MistakeWord.class,
      completionCandidates = Words.MistakeWord.class,
      description = "A mistake in them, for lint to find: ${COMPLETION-CANDIDATES}.")
  private @Nullable TraceMistake mistake;

  @Option(
      names = "--out",
      required = true,
      paramLabel = "DIR",
      description = "Where to write them.")
  private Path out = Path.of("");

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  TraceSampleCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() {
    check("--ranks", ranks, 1, MOST_RANKS);
    check("--layers", layers, 1, MOST_LAYERS);
    check("--bytes", bytes, 1, 1L << 30);
    TraceSamples samples = new TraceSamples(ranks, layers, bytes);
    String name = kind.name().toLowerCase(Locale.ROOT);
    Map<String, WholeFile.Content> files = new LinkedHashMap<>();
    for (int rank = 0; rank < ranks; rank++) {
      TraceMistake wrong = rank == ranks - 1 ? mistake : null;
      List<TraceNode> nodes = samples.nodes(kind, rank);
      files.put(
          name + "." + rank + ".et",
          wrong != null ? to -> wrong.write(nodes, to) : to -> TraceWriter.write(nodes, to));
    }
    RunFolder.create(out);
    WholeFile.writeAll(out, files);
    String last = ranks == 1 ? "" : " to ." + (ranks - 1) + ".et";
    terminal.out().println("wrote " + out.resolve(name) + ".0.et" + last);
    return 0;
  }

  private static void check(String option, long value, long least, long most) {
    if (value < least || value > most) {
      throw new UsageException(
          "%s: got %s; expected %s to %s".formatted(option, value, least, most));
    }
  }
}
