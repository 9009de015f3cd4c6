package org.kernbench.cli;

import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** The {@code kernbench} command: the only class that ends the process. */
@Command(
    name = "kernbench",
    description = "Runs distributed accelerator programs on machines that do not exist yet.",
    mixinStandardHelpOptions = true,
    versionProvider = Main.Version.class)
public final class Main implements Runnable {
  @Spec private CommandSpec spec = CommandSpec.create();

  private Main() {}

  /**
   * Runs the command line and ends the process with its exit code (0 ok, 1 failed, 2 usage).
   *
   * @param args the arguments as the shell passed them
   */
  public static void main(String[] args) {
    System.exit(new CommandLine(new Main()).execute(args));
  }

  @Override
  public void run() {
    spec.commandLine().usage(spec.commandLine().getOut());
  }

  /** Reads the version from the jar's manifest. */
  static final class Version implements IVersionProvider {
    @Override
    public String[] getVersion() {
      String version = Main.class.getPackage().getImplementationVersion();
      return new String[] {"kernbench " + (version == null ? "(development build)" : version)};
    }
  }
}
