package org.kernbench.cli.process;

import java.lang.management.ManagementFactory;
import java.lang.module.ModuleFinder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** This program again, in a process of its own: the same Java, options and classes. */
final class JavaProcess {
  /** The module with vector instructions. */
  static final String VECTOR_MODULE = "jdk.incubator.vector";

  private static final String MAIN = "org.kernbench.cli.Main";

  private JavaProcess() {}

  /** What a process is good for. */
  enum Kind {
    /** Starts fast: without the optimising compiler. */
    QUICK,
    /** Runs fast: with the vector instructions that this Java offers. */
    VECTOR
  }

  /**
   * The command line.
   *
   * @param args of the program
   */
  static ProcessBuilder command(Kind kind, List<String> args) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    for (String option : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
      if (!option.equals("--add-modules=" + VECTOR_MODULE)) {
        command.add(option);
      }
    }
    if (kind == Kind.QUICK) {
      command.add("-XX:TieredStopAtLevel=1");
    } else if (ModuleFinder.ofSystem().find(VECTOR_MODULE).isPresent()) {
      command.add("--add-modules=" + VECTOR_MODULE);
    }
    command.add("-cp");
    command.add(System.getProperty("java.class.path"));
    command.add(MAIN);
    command.addAll(args);
    return new ProcessBuilder(command);
  }
}
