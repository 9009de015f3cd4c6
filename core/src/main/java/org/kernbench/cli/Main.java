package org.kernbench.cli;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.config.ConfigException;
import org.kernbench.config.Problem;
import org.kernbench.config.Suggest;
import org.kernbench.config.UsageException;
import org.kernbench.eval.UserFault;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.eval.output.OutputException;
import org.kernbench.machine.MachineException;
import org.kernbench.machine.SimulationException;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.torch.SpawnException;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.UsageMessageSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/** The {@code kernbench} command: the only class that ends the process. */
@Command(
    name = "kernbench",
    synopsisHeading = "Usage: ",
    customSynopsis = "kernbench COMMAND [OPTIONS]",
    description = {
      """
      Runs distributed accelerator programs on machines that do not exist yet: exact values, the \
      time\
      """,
      "it would take, and why."
    },
    descriptionHeading = "%n",
    optionListHeading = "%nOptions%n",
    commandListHeading = "%nCommands%n",
    footerHeading = "%nExamples%n",
    footer = {
      "  kernbench run --bench ccl-allreduce",
      """
        kernbench run --bench ccl-allreduce --param n_elem=49152 --set \
      system.sips.topology=ring_1d\
      """,
      "  kernbench list",
      "",
      "Exit codes: 0 ok, 1 failed (wrong values, bound violated, deadlock, error in the simulated",
      "program, finding of --check), 2 usage or configuration."
    },
    versionProvider = Main.class)
public final class Main implements Runnable, IVersionProvider {
  private static final int OK = 0;
  private static final int FAILED = 1;
  static final int USAGE = 2;
  private static final Set<String> LOOKS_AT_ALL = Set.of("completion", "man", "trace");
  private static final int WIDTH = 100;
  private static final int LONGEST_OPTION = 24;

  @Spec private CommandSpec spec = CommandSpec.create();

  @Option(
      names = {"-h", "--help"},
      usageHelp = true,
      description = "Show this help.")
  boolean help;

  @Option(
      names = {"-V", "--version"},
      versionHelp = true,
      description = "Show the version.")
  boolean version;

  private Main() {}

  /**
   * Runs the command line and ends the process with its exit code (0 ok, 1 failed, 2 usage).
   *
   * @param args the arguments as the shell passed them
   */
  public static void main(String[] args) {
    System.exit(execute(Terminal.ofProcess(), BenchRegistry.standard(), args));
  }

  /** Runs a command line. */
  static int execute(Terminal terminal, BenchRegistry benches, String... args) {
    CommandLine line = new CommandLine(new Main());
    wanted(commands(terminal, benches), args)
        .forEach((name, command) -> line.addSubcommand(name, command.get()));
    line.registerConverter(int.class, Words.wholeNumber(Integer::valueOf));
    line.registerConverter(Integer.class, Words.wholeNumber(Integer::valueOf));
    line.registerConverter(long.class, Words.wholeNumber(Long::valueOf));
    line.setUsageHelpWidth(WIDTH);
    line.setUsageHelpLongOptionsMaxWidth(LONGEST_OPTION);
    line.setOut(terminal.out());
    line.setErr(terminal.err());
    line.setColorScheme(Help.defaultColorScheme(terminal.colour() ? Ansi.ON : Ansi.OFF));
    line.setParameterExceptionHandler((e, given) -> reportUsage(terminal, e));
    line.setExecutionExceptionHandler((e, command, result) -> report(terminal, e));
    int exitCode;
    try {
      exitCode = line.execute(args);
    } catch (OutOfMemoryError e) {
      exitCode = reportMemory(terminal);
    } catch (Error e) {
      exitCode = report(terminal, e);
    } finally {
      terminal.flush();
    }
    return reportLoss(terminal, exitCode);
  }

  /** All commands by name, in the order of the help. */
  private static Map<String, Supplier<Object>> commands(Terminal terminal, BenchRegistry benches) {
    Map<String, Supplier<Object>> all = new LinkedHashMap<>();
    all.put("run", () -> inGroups(new RunCommand(terminal, benches), RunCommand.groups()));
    all.put("sweep", () -> inGroups(new SweepCommand(terminal, benches), SweepCommand.groups()));
    all.put(
        "explain", () -> inGroups(new ExplainCommand(terminal, benches), ExplainCommand.groups()));
    all.put("diff", () -> new DiffCommand(terminal));
    all.put("probe", () -> new ProbeCommand(terminal));
    all.put("list", () -> new ListCommand(terminal, benches));
    all.put("report", () -> new ReportCommand(terminal));
    all.put("ui", () -> new UiCommand(terminal));
    all.put("machine", () -> new MachineCommand(terminal));
    all.put("layout", () -> LayoutCommand.with(terminal));
    all.put("conformance", () -> new ConformanceCommand(terminal));
    all.put("tune", () -> new TuneCommand(terminal));
    all.put("validate", () -> new ValidateCommand(terminal, benches));
    all.put("calibrate", () -> new CalibrateCommand(terminal, benches));
    all.put("trace", () -> TraceCommand.with(terminal));
    all.put("import", () -> ImportCommand.with(terminal));
    all.put("new", () -> new NewCommand(terminal));
    all.put("completion", () -> new CompletionCommand(terminal, benches));
    all.put("man", () -> new ManCommand(terminal));
    return all;
  }

  /**
   * A command that is named first and looks at itself only; else all of them. To read what one can
   * be asked takes about as long as the virtual machine takes to start.
   */
  private static Map<String, Supplier<Object>> wanted(
      Map<String, Supplier<Object>> all, String... args) {
    Supplier<Object> named = args.length == 0 ? null : all.get(args[0]);
    return named == null || LOOKS_AT_ALL.contains(args[0]) ? all : Map.of(args[0], named);
  }

  private static CommandLine inGroups(Object command, Map<String, List<String>> groups) {
    CommandLine line = new CommandLine(command);
    line.getHelpSectionMap()
        .put(UsageMessageSpec.SECTION_KEY_OPTION_LIST, help -> grouped(help, groups));
    return line;
  }

  /** A reader that has seen enough (as in {@code kernbench list | head}) is no failure. */
  private static int reportLoss(Terminal terminal, int exitCode) {
    Optional<String> loss = terminal.loss().get().filter(why -> !why.equals("Broken pipe"));
    if (loss.isEmpty()) {
      return exitCode;
    }
    terminal.say("cannot write standard output (" + loss.get() + "); what it shows is not whole");
    terminal.flush();
    return exitCode == OK ? FAILED : exitCode;
  }

  @Override
  public void run() {
    spec.commandLine().usage(spec.commandLine().getOut());
  }

  @Override
  public String[] getVersion() {
    return new String[] {"kernbench " + versionText()};
  }

  /** The version in the jar's manifest. */
  static String versionText() {
    String version = Main.class.getPackage().getImplementationVersion();
    return version == null ? "development" : version;
  }

  /** The list of options under headings. */
  private static String grouped(Help help, Map<String, List<String>> groups) {
    List<OptionSpec> all = help.commandSpec().options(); // one width of the first column for all
    StringBuilder text = new StringBuilder();
    groups.forEach((heading, names) -> {
      List<OptionSpec> options = names.stream().map(n -> help.commandSpec().findOption(n)).toList();
      Help.Layout layout = help.createDefaultLayout(all, List.of(), help.colorScheme());
      layout.addOptions(options, help.parameterLabelRenderer());
      text.append(text.isEmpty() ? "" : "%n".formatted()).append(heading).append("%n".formatted());
      text.append(layout);
    });
    return text.toString();
  }

  // ---- errors ----

  private static int reportUsage(Terminal terminal, ParameterException e) {
    CommandLine command = e.getCommandLine();
    terminal.say(
        e instanceof UnmatchedArgumentException unmatched
            ? unknown(unmatched)
            : decapitalised(message(e)));
    terminal.err().println("Try '" + command.getCommandSpec().qualifiedName() + " --help'.");
    return USAGE;
  }

  private static String unknown(UnmatchedArgumentException e) {
    CommandLine command = e.getCommandLine();
    String word = e.getUnmatched().getFirst();
    if (word.startsWith("-")) {
      int equals = word.indexOf('=');
      String option = equals < 0 ? word : word.substring(0, equals);
      List<String> known = new ArrayList<>();
      for (OptionSpec each : command.getCommandSpec().options()) {
        known.add(each.longestName());
      }
      return "unknown option " + option + Suggest.hint(option, known);
    }
    if (command.getSubcommands().isEmpty()) {
      return "unexpected argument \"" + word + "\"";
    }
    List<String> known = List.copyOf(command.getSubcommands().keySet());
    String hint = word.equals("help") ? "; did you mean --help?" : Suggest.hint(word, known);
    return "unknown command %s%s"
        .formatted(
            word.isBlank() ? "\"" + word + "\"" : word,
            hint.isEmpty() ? "; expected one of " + String.join(", ", known) : hint);
  }

  private static String message(Exception e) {
    return String.valueOf(e.getMessage());
  }

  private static String decapitalised(String message) {
    return message.substring(0, 1).toLowerCase(Locale.ROOT) + message.substring(1);
  }

  private static int reportMemory(Terminal terminal) {
    terminal.say(
        """
        out of memory: the heap is limited to %s MiB; use --mode time, fewer elements \
        or ranks, or more memory (KERNBENCH_JAVA_OPTS=-Xmx8g)\
        """
            .formatted(Runtime.getRuntime().maxMemory() >> 20));
    return FAILED;
  }

  private static boolean ranOutOfMemory(Throwable error) {
    return UserFault.chain(error).stream().anyMatch(OutOfMemoryError.class::isInstance);
  }

  static int report(Terminal terminal, Throwable error) {
    terminal.out().flush();
    if (ranOutOfMemory(error)) {
      return reportMemory(terminal);
    }
    switch (error) {
      case UsageException e -> {
        for (String line : String.valueOf(e.getMessage()).lines().toList()) {
          terminal.say(line);
        }
        return USAGE;
      }
      case ConfigException e -> {
        for (Problem problem : e.problems()) {
          terminal.say(problem.toString());
        }
        return USAGE;
      }
      case MachineException e -> {
        terminal.say(message(e));
        return USAGE;
      }
      case LayoutException e -> {
        terminal.say(message(e));
        return USAGE;
      }
      case CollectiveException e -> {
        terminal.say(message(e));
        return USAGE;
      }
      case OutputException e -> {
        terminal.say(message(e));
        return FAILED;
      }
      case SimulationException e when isProgramError(e) -> {
        terminal.say(message(e));
        return FAILED;
      }
      default -> {
        Optional<String> own = UserFault.message(error);
        terminal.say(
            own.orElse(
                """
                internal error: this is a bug in kernbench. Please report it with this command \
                and the lines below.\
                """));
        if (own.isEmpty()) {
          error.printStackTrace(terminal.err());
        }
        return FAILED;
      }
    }
  }

  /** Whether the message is all that a user needs, as when a device is out of memory. */
  private static boolean isProgramError(SimulationException e) {
    return !(e instanceof SpawnException ranks) || ranks.isUserError();
  }

  /** The exit code of a run. */
  static int exitCode(boolean ok) {
    return ok ? OK : FAILED;
  }
}
