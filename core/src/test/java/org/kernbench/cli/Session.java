package org.kernbench.cli;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Optional;
import org.kernbench.eval.benches.BenchRegistry;

/** A command line run inside the test, with what it wrote. */
record Session(int exitCode, String out, String err) {
  static Session of(String... args) {
    return of(BenchRegistry.standard(), args);
  }

  static Session of(BenchRegistry benches, String... args) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    Terminal terminal =
        new Terminal(new PrintWriter(out), new PrintWriter(err), false, false, Optional::empty);
    ClassLoader before = Thread.currentThread().getContextClassLoader();
    try {
      int exitCode = Main.execute(terminal, benches, args);
      return new Session(exitCode, out.toString(), err.toString());
    } finally { // a process would end here, with the classes that the line named
      Thread.currentThread().setContextClassLoader(before);
    }
  }
}
