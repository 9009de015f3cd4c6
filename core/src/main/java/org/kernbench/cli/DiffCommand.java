package org.kernbench.cli;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.kernbench.cli.text.ResultText;
import org.kernbench.config.UsageException;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.report.Recording;
import org.kernbench.eval.report.RunDiff;
import org.kernbench.eval.report.RunFolder;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code kernbench diff}: what changed between two runs and which resource did it. */
@Command(
    name = "diff",
    customSynopsis = "kernbench diff RUN_A RUN_B [OPTIONS]",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    description = {
      "Says what differs between two runs and which resource made the difference of their times.",
      """
      It is split by resource, cause and place; the parts sum to it exactly. Runs are folders \
      that\
      """,
      "`run --out` wrote."
    },
    optionListHeading = "%nOptions%n",
    sortOptions = false,
    footerHeading = "%nExample%n",
    footer = {
      "  kernbench run ccl-allreduce --out a",
      "  kernbench run ccl-allreduce --set ipcq.slots=2 --out b",
      "  kernbench diff a b"
    })
final class DiffCommand implements Callable<Integer> {
  private final Terminal terminal;

  @Parameters(index = "0", arity = "0..1", paramLabel = "RUN_A", description = "The first run.")
  private @Nullable String first;

  @Parameters(index = "1", arity = "0..1", paramLabel = "RUN_B", description = "The second run.")
  private @Nullable String second;

  @Option(
      names = "--rows",
      paramLabel = "N",
      description = "Rows of each table (default: ${DEFAULT-VALUE}; 0: all).")
  private int rows = 12;

  @Mixin private TextOrJson format = new TextOrJson();

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  private final StringBuilder out = new StringBuilder();

  DiffCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() {
    Words.checkRows(rows);
    Recording a = run(first);
    Recording b = run(second);
    RunDiff diff = a.from(first, one -> b.from(second, other -> RunDiff.of(one, other)));
    if (format.isJson()) {
      terminal.out().print(diff.toJson());
    } else {
      text(diff);
      terminal.out().print(out);
    }
    return 0;
  }

  private static Recording run(@Nullable String folder) {
    if (folder == null || folder.isBlank()) {
      throw new UsageException(
          "diff compares two runs; expected the folders of both (see kernbench run --out)");
    }
    if (!RunFolder.isFolder(folder)) {
      throw new UsageException(
          folder + ": is no folder; expected one that kernbench run --out wrote");
    }
    return RunFolder.read(folder);
  }

  // ---- text ----

  private void text(RunDiff d) {
    side("A", d.a());
    side("B", d.b());
    long a = d.a().path().map(p -> p.totalPs()).orElse(0L);
    out.append(
        String.format(
            Locale.ROOT,
            "B - A       %s, %+.2f %%%n",
            signed(d.differencePs()),
            a == 0 ? 0.0 : 100.0 * d.differencePs() / a));
    conditions(d);
    parts("by resource and cause", "resource", d.resources(), d);
    parts("by place and cause", "place", d.places(), d);
  }

  private void side(String name, RunResult r) {
    out.append(
        String.format(
            Locale.ROOT,
            "%-12s%s on %s: %s%n",
            name,
            r.bench(),
            r.machineName(),
            ns(r.path().map(p -> p.totalPs()).orElse(0L))));
  }

  private void conditions(RunDiff d) {
    if (d.conditions().isEmpty()) {
      out.append("\nno condition differs\n");
      return;
    }
    List<List<String>> table = new ArrayList<>();
    table.add(List.of("condition", "A", "B"));
    d.conditions().stream()
        .limit(limit())
        .forEach(c -> table.add(List.of(c.name(), shown(c.a()), shown(c.b()))));
    out.append("\nconditions that differ\n");
    ResultText.table(out, table, 2);
    more(d.conditions().size(), "conditions");
  }

  private static String shown(String value) {
    return value.isEmpty() ? "-" : value;
  }

  private void parts(String heading, String what, List<RunDiff.Part> parts, RunDiff d) {
    List<List<String>> table = new ArrayList<>();
    table.add(List.of("B - A", "A", "B", "cause", what));
    List<RunDiff.Part> changed = parts.stream().filter(p -> p.differencePs() != 0).toList();
    List<RunDiff.Part> shown = (rows == 0 ? parts : changed).stream().limit(limit()).toList();
    for (RunDiff.Part p : shown) {
      table.add(List.of(signed(p.differencePs()), ns(p.aPs()), ns(p.bPs()), p.cause(), p.what()));
    }
    List<RunDiff.Part> rest = parts.stream().skip(shown.size()).toList();
    if (!rest.isEmpty()) {
      String word = shown.size() == changed.size() ? " unchanged)" : " more)";
      table.add(sum(rest, "(" + rest.size() + word));
    }
    table.add(sum(parts, "sum"));
    out.append('\n').append(heading).append('\n');
    ResultText.table(out, table, 2);
    long total = parts.stream().mapToLong(RunDiff.Part::differencePs).sum();
    if (total != d.differencePs()) {
      throw new IllegalStateException("bug: the parts of a difference do not sum to it");
    }
  }

  private static List<String> sum(List<RunDiff.Part> parts, String name) {
    return List.of(
        signed(parts.stream().mapToLong(RunDiff.Part::differencePs).sum()),
        ns(parts.stream().mapToLong(RunDiff.Part::aPs).sum()),
        ns(parts.stream().mapToLong(RunDiff.Part::bPs).sum()),
        name,
        "");
  }

  private long limit() {
    return rows == 0 ? Long.MAX_VALUE : rows;
  }

  private void more(int all, String what) {
    if (all > limit()) {
      out.append("  … and ").append(all - limit()).append(' ').append(what).append(" (--rows 0)\n");
    }
  }

  private static String ns(long ps) {
    return String.format(Locale.ROOT, "%,.3f ns", BigDecimal.valueOf(ps, 3));
  }

  private static String signed(long ps) {
    return String.format(Locale.ROOT, "%+,.3f ns", BigDecimal.valueOf(ps, 3));
  }
}
