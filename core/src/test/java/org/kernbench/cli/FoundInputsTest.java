package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.kernbench.eval.report.Recording;

/**
 * Inputs that version 0.1.0 answered with a stack trace, with silence, or not at all; {@link
 * FuzzTest} looks for more. Each gets a message, the right exit code, and an end within ten
 * seconds.
 */
final class FoundInputsTest {
  private static final Path FOUND = Path.of("src/test/resources/bad-inputs");
  private final ClassLoader before = Thread.currentThread().getContextClassLoader();

  @TempDir private Path directory;

  @AfterEach
  void forgetUserClasses() {
    Thread.currentThread().setContextClassLoader(before);
  }

  private static String found(String name) {
    return FOUND.resolve(name).toString();
  }

  private String file(String name, String text) throws IOException {
    return Files.writeString(directory.resolve(name), text).toString();
  }

  /** A command line that must end in time and without a trace. */
  private static Session refused(int exitCode, String... args) {
    Session session = assertTimeoutPreemptively(Duration.ofSeconds(10), () -> Session.of(args));
    assertThat(session.err()).startsWith("kernbench: ").doesNotContain("\tat ");
    assertThat(session.err()).doesNotContain("internal error");
    assertThat(session.exitCode()).as(session.err()).isEqualTo(exitCode);
    return session;
  }

  // ---- names and kinds of files ----

  @ParameterizedTest
  @CsvSource({
    "s_bench_nul.yaml, '1:8: bench: is no name'",
    "s_ccl_nul.yaml, '2:6: ccl: is no name'",
    "s_out_nul.yaml, '2:6: out: is no name'",
  })
  void nul_inAPathOfASweep_isRefusedWhereItStands(String name, String message) {
    assertThat(refused(2, "sweep", found(name)).err()).contains(name + ":" + message);
  }

  @ParameterizedTest
  @ValueSource(strings = {"s_top_nul.yaml", "s_topv_nul.yaml"})
  void nul_inTheNameOfAMachine_isAMachineThatIsNotThere(String name) {
    String out = directory.resolve("out").toString();
    assertThat(refused(2, "sweep", found(name), "--jobs", "1", "-q", "--out", out).err())
        .contains("no preset and no file \"a\\u0000b\"");
  }

  @Test
  void nul_inThePathOfATable_isRefused() {
    String ccl = found("ccl_table_nul.yaml");
    assertThat(refused(2, "run", "ccl-allreduce", "--topology", "tiny", "--ccl", ccl).err())
        .contains("4:10: defaults.table: is no name");
  }

  @Test
  void pipesAndDevices_areRefusedAtOnce() throws Exception {
    Path pipe = directory.resolve("fifo.yaml");
    assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor()).isZero();
    Path zero = Files.createSymbolicLink(directory.resolve("z.yaml"), Path.of("/dev/zero"));
    Path ccl = directory.resolve("ccl.yaml");
    Files.copy(FOUND.resolve("ccl_table_fifo.yaml"), ccl); // names fifo.yaml beside it
    for (String file : List.of(pipe.toString(), zero.toString())) {
      for (String[] args :
          List.of(
              new String[] {"sweep", file},
              new String[] {"run", "ccl-allreduce", "--ccl", file},
              new String[] {"run", "hello-send", "--topology", file},
              new String[] {"machine", "validate", file})) {
        assertThat(refused(2, args).err()).contains("is a device or a pipe");
      }
    }
    String auto = "defaults.algorithm=auto";
    assertThat(refused(2, "run", "ccl-allreduce", "--ccl", ccl.toString(), "--ccl-set", auto).err())
        .contains("defaults.table: ")
        .contains("fifo.yaml: is a device or a pipe");
    Files.delete(zero);
  }

  // ---- too much of something ----

  @Test
  void listsInLists_areRefusedByTheirDepth() {
    assertThat(refused(2, "machine", "validate", found("deep-nesting.yaml")).err())
        .contains("deep-nesting.yaml:1:")
        .contains("50 levels");
  }

  @ParameterizedTest
  @ValueSource(ints = {400_000, 4_000_000})
  void quantity_ofVeryManyDigits_isRefusedAndNotRepeated(int digits) throws IOException {
    String text = "extends: tiny\nipcq: {slot_size: " + "9".repeat(digits) + " B}\n";
    assertThat(refused(2, "machine", "validate", file("q.yaml", text)).err())
        .hasSizeLessThan(1000)
        .containsPattern("400002 characters|expected at most 1048576");
  }

  @Test
  void keys_ofWhichNoneIsKnown_areToldUpToAHundred() throws IOException {
    String keys =
        IntStream.range(0, 70_000).mapToObj(i -> "  k" + i + ": 1\n").collect(Collectors.joining());
    assertThat(
            refused(2, "machine", "validate", file("k.yaml", "extends: tiny\nipcq:\n" + keys))
                .err())
        .contains("and 69900 more problems")
        .hasLineCount(101);
  }

  @Test
  void algorithms_inTensOfThousands_areRefused() throws IOException {
    String names =
        IntStream.range(0, 30_000)
            .mapToObj(i -> "  k" + i + ": {class: ring}\n")
            .collect(Collectors.joining());
    String ccl = file("c.yaml", "defaults: {algorithm: ring}\nalgorithms:\n" + names);
    assertThat(refused(2, "run", "ccl-allreduce", "--ccl", ccl).err())
        .contains("30000 entries; expected 1000 at most");
  }

  @ParameterizedTest
  @ValueSource(strings = {"fuzz-machine-1018.yaml", "fuzz-machine-2026.yaml"})
  void machine_ofSizesNearTwoToThe63_isRefused(String name) {
    refused(2, "machine", "validate", found(name));
  }

  @Test
  void access_of2To63BytesLessOne_isRefused() {
    String set = "cube.hbm.dram.access=9223372036854775807 B";
    assertThat(refused(2, "run", "hello-send", "--topology", "tiny", "--set", set).err())
        .contains("cube.hbm.dram.access: got 9223372036854775807 B");
  }

  // ---- recordings ----

  @ParameterizedTest
  @ValueSource(ints = {33, 770, 6689})
  void recording_withTheRightChecksumAndWrongTables_isRefused(int number) throws IOException {
    Path run = Files.createDirectory(directory.resolve("run"));
    byte[] log = Files.readAllBytes(FOUND.resolve("fuzz-recording-" + number + ".run.log"));
    log[11] = (byte) Recording.VERSION; // of today, else only that would be refused
    Files.write(run.resolve("run.log"), log);

    assertThat(refused(2, "explain", run.toString()).err())
        .contains("run the bench again")
        .doesNotContain("of format");
  }

  // ---- programs ----

  private String program(String folder, String name) throws IOException {
    return file(name, Files.readString(FOUND.resolve(folder).resolve(name + ".txt")));
  }

  @ParameterizedTest
  @CsvSource({
    "kernel-cyclic, MyBench.java, 'MyBench.java:64: java.lang.RuntimeException: a'",
    "kernel-tclose, MyBench.java, 'MyBench.java:64: java.lang.IllegalStateException: my-bench@'",
    "rank17-cyclic, R96.java, 'R96.java:15: java.lang.RuntimeException: a'",
  })
  void program_thatFailsInAnOddWay_isNamedWithItsLineFirst(
      String folder, String name, String message) throws IOException {
    assertThat(refused(1, "run", program(folder, name), "--topology", "sip-2026").err())
        .startsWith("kernbench: " + message);
  }

  @Test
  void ranks_thatWaitForALockOfEachOther_areEnded() throws IOException {
    assertThat(refused(1, "run", program("rank-holds-lock", "R96.java")).err())
        .contains("95 of 96 ranks failed")
        .contains("ranks 1 to 95: R96.java:15: waits for a lock");
  }

  // ---- cells ----

  @Test
  void cells_thatASpreadsheetWouldCompute_areTexts() throws IOException {
    Path out = directory.resolve("out");

    Session sweep =
        Session.of("sweep", found("csv.yaml"), "--jobs", "1", "-q", "--out", out.toString());

    assertThat(sweep.exitCode()).as(sweep.err()).isZero();
    List<String> lines = Files.readAllLines(out.resolve("results.csv"));
    assertThat(lines.get(1)).startsWith("\"'=HYPERLINK(");
    assertThat(lines.get(3)).startsWith("'+1+1,ok,true,0.0,");
    assertThat(lines).noneMatch(line -> line.startsWith("=") || line.startsWith("\"="));
  }

  @ParameterizedTest
  @ValueSource(strings = {"file:x", ":memory:", "a?mode=memory", "a%20b", "resource:x", "a#b c"})
  void out_ofAnOddName_isADirectoryOfThatName(String name) {
    Path out = directory.resolve(name);

    Session sweep =
        Session.of(
            "sweep",
            "hello-send",
            "--topology",
            "tiny",
            "--vary",
            "n_elem=1,2",
            "--jobs",
            "1",
            "-q",
            "--out",
            out.toString());

    assertThat(sweep.exitCode()).as(sweep.err()).isZero();
    assertThat(out.resolve("results.sqlite")).isNotEmptyFile();
    try (Stream<Path> all = Files.list(directory)) {
      assertThat(all).containsExactly(out);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** A relative name reaches the store as it is: this one would have been an address. */
  @Test
  void store_ofARelativeName_isAFileOfThatName() throws IOException {
    Path relative = Path.of("file:kernbench-test-" + ProcessHandle.current().pid());
    try (var store = org.kernbench.eval.sweep.ResultStore.open(relative)) {
      assertThat(store.keys()).isEmpty();
      assertThat(relative).exists();
    } finally {
      Files.deleteIfExists(relative);
    }
  }
}
