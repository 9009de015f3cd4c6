package org.kernbench.cli.serve;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.kernbench.Python;
import org.kernbench.cli.Commands;
import org.kernbench.eval.program.SamePrograms;

/**
 * Python's programs, answered by servers in this process: what they take for a Java carries their
 * pipe here. So no virtual machine starts for them, and what they reach counts as reached.
 */
@DisabledOnOs(OS.WINDOWS)
final class PythonPipeTest {
  private static final String CARRIER =
      """
      #!/usr/bin/env python3
      import os, socket, sys, threading

      if "org.kernbench.cli.serve.Server" not in sys.argv:
          os.execv("%s/bin/java", ["java"] + sys.argv[1:])
      line = socket.create_connection(("127.0.0.1", %d))

      def requests():
          while True:
              data = os.read(0, 1 << 16)
              if not data:
                  break
              line.sendall(data)
          line.shutdown(socket.SHUT_WR)

      threading.Thread(target=requests, daemon=True).start()
      while True:
          data = line.recv(1 << 16)
          if not data:
              break
          while data:
              data = data[os.write(1, data):]
      """;

  @TempDir private static Path javaHome;
  private static ServerSocket door;

  @BeforeAll
  static void openTheDoor() throws IOException {
    Python.assumeHere();
    door = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    Files.writeString(javaHome.resolve("release"), "JAVA_VERSION=\"25\"\n");
    Path java = Files.createDirectories(javaHome.resolve("bin")).resolve("java");
    Files.writeString(
        java, CARRIER.formatted(System.getProperty("java.home"), door.getLocalPort()));
    Files.setPosixFilePermissions(java, PosixFilePermissions.fromString("rwxr-xr-x"));
    Thread.ofPlatform().daemon().name("door").start(PythonPipeTest::serve);
  }

  @AfterAll
  static void closeTheDoor() throws IOException {
    if (door != null) {
      door.close();
    }
  }

  private static void serve() {
    while (true) {
      try {
        Socket line = door.accept();
        Thread.ofPlatform().daemon().start(() -> Commands.onVirtualThread(() -> serve(line)));
      } catch (SocketException e) {
        return; // closed: all tests are done
      } catch (IOException e) {
        throw new AssertionError(e);
      }
    }
  }

  private static void serve(Socket socket) {
    try (Socket line = socket) {
      new Server(
              new BufferedInputStream(line.getInputStream()),
              new BufferedOutputStream(line.getOutputStream()),
              5_000,
              () -> {})
          .serve();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void package_passesTheTestsOfItsPrograms() throws IOException {
    assertThat(Python.otherTests()).isNotEmpty();
    Python.test(javaHome, Python.otherTests());
  }

  /**
   * The same program has the same operations at the same times, in whichever language it is said.
   */
  @Test
  void programs_haveTheOpLogsOfTheSameProgramsInJava() throws IOException {
    Python.Result run = Python.run(javaHome, List.of("-m", "tests.programs"));
    assertThat(run.code()).as(run.text()).isZero();
    Map<String, String> logs = new LinkedHashMap<>();
    for (String line : run.text().lines().filter(l -> l.startsWith("program ")).toList()) {
      String[] words = line.split(" ", 3);
      logs.put(words[1], words[2]);
    }
    assertThat(logs).isEqualTo(SamePrograms.run());
    assertThat(logs).hasSizeGreaterThanOrEqualTo(10);
  }
}
