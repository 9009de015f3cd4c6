package org.kernbench;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * The tests of the Python package that need the child process they would have at a user's. They are
 * plain unittest, so nothing else need be installed; pytest runs them too: {@code cd python &&
 * pytest}. Those of programs: {@code PythonPipeTest}.
 */
final class PythonTest {
  @BeforeAll
  static void askForPython() {
    Python.assumeHere();
  }

  @Test
  void package_passesTheTestsOfItsProcess() throws IOException {
    Python.test(Path.of(System.getProperty("java.home")), Python.OF_THE_PROCESS);
  }
}
