package org.kernbench.cli;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.kernbench.ccl.library.CollectiveLibrary;
import org.kernbench.config.Suggest;
import org.kernbench.eval.Bench;
import org.kernbench.eval.Param;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.output.Json;
import org.kernbench.machine.Machines;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code kernbench list}: what can be named on the command line. */
@Command(
    name = "list",
    customSynopsis = "kernbench list [BENCH] [--format FORMAT] [--class-path PATH]",
    synopsisHeading = "Usage: ",
    descriptionHeading = "%n",
    description = {
      "Lists benches with their parameters, machine presets and collective algorithms.",
      "With BENCH: the parameters of that bench alone, with what each takes."
    },
    optionListHeading = "%n",
    footerHeading = "%nExamples%n",
    footer = {
      "  kernbench list ccl-allreduce",
      "  kernbench list --format json",
    })
final class ListCommand implements Callable<Integer> {
  private static final int SCHEMA = 1;

  private final Terminal terminal;
  private final BenchRegistry benches;

  @Parameters(
      index = "0",
      arity = "0..1",
      paramLabel = "BENCH",
      completionCandidates = Words.Benches.class,
      description = "A bench by name, or a .java file with one.")
  private @Nullable String bench;

  @Mixin private TextOrJson format = new TextOrJson();

  @Mixin private ClassPath classPath = new ClassPath();

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  ListCommand(Terminal terminal, BenchRegistry benches) {
    this.terminal = terminal;
    this.benches = benches;
  }

  @Override
  public Integer call() {
    BenchOptions.checkNotBlank("BENCH", bench);
    if (bench != null) {
      Bench one = classPath.bench(bench, benches);
      if (format.isJson()) {
        terminal.out().print(Json.write(json(List.of(one))));
      } else {
        show(one);
      }
    } else if (format.isJson()) {
      Map<String, Object> all = json(benches.all());
      all.put("machines", named(Machines.presets()));
      all.put("algorithms", named(CollectiveLibrary.descriptions()));
      terminal.out().print(Json.write(all));
    } else {
      showAll();
    }
    return 0;
  }

  // ---- for people ----

  private void showAll() {
    heading("Benches (kernbench run --bench NAME --param name=value; more: kernbench list NAME)");
    for (Bench bench : benches.all()) {
      line("  " + bench.name() + "  ", 22, bench.description());
      for (Param<?> p : bench.params()) {
        line("    " + p.name() + "  ", 22, p.description());
        line("", 22, "  " + p.range() + "; default " + p.defaultText());
      }
    }
    heading("\nMachine presets (--topology NAME)");
    for (Map.Entry<String, String> preset : Machines.presets().entrySet()) {
      line("  " + preset.getKey() + "  ", 22, preset.getValue());
    }
    heading("\nCollective algorithms (--param algorithm=NAME)");
    CollectiveLibrary.descriptions().forEach((name, what) -> line("  " + name + "  ", 25, what));
  }

  private void show(Bench one) {
    heading(one.name() + ": " + one.description());
    if (one.params().isEmpty()) {
      heading("\nIt has no parameters.");
      return;
    }
    heading("");
    int width = one.params().stream().mapToInt(p -> p.name().length()).max().orElse(0) + 4;
    for (Param<?> p : one.params()) {
      line("  " + p.name(), width, p.description());
      line("", width, "  " + kind(p) + "; default " + p.defaultText());
    }
    StringBuilder example = new StringBuilder("\nkernbench run ").append(one.name());
    one.params().stream()
        .filter(p -> !comesFromElsewhere(p))
        .findFirst()
        .ifPresent(p -> example.append(" --param ").append(quoted(p)));
    heading(example.toString());
  }

  private static String quoted(Param<?> p) {
    String given = p.name() + "=" + p.defaultText();
    return given.contains(" ") ? '"' + given + '"' : given;
  }

  private static String kind(Param<?> p) {
    String text = p.range();
    return switch (p.allowed().kind()) {
      case COUNT -> "a whole number, " + text;
      case SIZE -> "a size with its unit, " + text;
      case CHOICE -> "one of " + text;
      case SWITCH -> text.replace(", ", " or ");
      case PE, NAME -> text;
      case PACKAGE -> "a package, " + text;
    };
  }

  private void heading(String text) {
    terminal.out().println(text);
  }

  private void line(String name, int width, String text) {
    terminal.out().println(name + " ".repeat(Math.max(0, width - name.length())) + text);
  }

  // ---- for programs ----

  private static Map<String, Object> json(List<Bench> benches) {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("schema", SCHEMA);
    json.put("kernbench", Main.versionText());
    List<Object> list = new ArrayList<>();
    for (Bench b : benches) {
      Map<String, Object> one = new LinkedHashMap<>();
      one.put("name", b.name());
      one.put("description", b.description());
      one.put("params", b.params().stream().map(ListCommand::json).toList());
      list.add(one);
    }
    json.put("benches", list);
    return json;
  }

  private static Map<String, Object> json(Param<?> p) {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("name", p.name());
    json.put("kind", Suggest.fold(p.allowed().kind().name()));
    json.put("description", p.description());
    json.put("default", comesFromElsewhere(p) ? Json.NULL : p.defaultText());
    if (comesFromElsewhere(p)) {
      json.put("default_from", p.defaultText().substring("from ".length()));
    }
    p.allowed().least().ifPresent(least -> json.put("least", least));
    p.allowed().most().ifPresent(most -> json.put("most", most));
    if (!p.allowed().choices().isEmpty()) {
      json.put("choices", p.allowed().choices());
    }
    json.put("allowed", p.range());
    return json;
  }

  private static boolean comesFromElsewhere(Param<?> p) {
    return p.defaultText().startsWith("from ");
  }

  private static List<Object> named(Map<String, String> descriptions) {
    List<Object> list = new ArrayList<>();
    descriptions.forEach((name, what) -> {
      Map<String, Object> one = new LinkedHashMap<>();
      one.put("name", name);
      one.put("description", what);
      list.add(one);
    });
    return list;
  }
}
