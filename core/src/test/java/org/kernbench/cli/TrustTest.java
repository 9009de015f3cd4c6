package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Code comes from the command line; whose code failed is said with its line. */
final class TrustTest {
  private static final Path FOUND = Path.of("src/test/resources/bad-inputs");
  private static final String TRAP = "kernbench.test.trap";
  private final ClassLoader before = Thread.currentThread().getContextClassLoader();

  @TempDir private Path directory;

  @AfterEach
  void forgetUserClasses() {
    Thread.currentThread().setContextClassLoader(before);
    System.clearProperty(TRAP);
  }

  /** The bench of {@code kernbench new} with another kernel, in its line 64. */
  private String bench(String kernel) throws IOException {
    String text = Files.readString(FOUND.resolve("kernel-tclose/MyBench.java.txt"));
    String given = "torch.close(); tl.store(y, tl.load(x).mul(2));";
    assertThat(text).contains(given);
    return Files.writeString(directory.resolve("MyBench.java"), text.replace(given, kernel))
        .toString();
  }

  private static final String RIGHT = "tl.store(y, tl.load(x).mul(2));";

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "String s = null; s.length(); | MyBench.java:64: java.lang.NullPointerException: Cannot",
        "int[] a = {}; a[3] = 1; | MyBench.java:64: java.lang.ArrayIndexOutOfBoundsException: I",
        "if (true) throw new AssertionError(\"mine\"); | MyBench.java:64: java.lang.AssertionError",
        "rec(1); | MyBench.java:29: java.lang.StackOverflowError",
        "MyBench.<RuntimeException>sneak(new java.io.IOException(\"io\"));"
            + " | MyBench.java:64: java.io.IOException: io",
        "Integer.parseInt(\"x\"); | MyBench.java:64: java.lang.NumberFormatException: For input",
      })
  void exception_ofAKernel_isItsOwnersWithFileAndLineFirst(String kernel, String message)
      throws IOException {
    Session run = Session.of("run", bench(kernel), "--topology", "tiny");

    assertThat(run.err()).startsWith("kernbench: " + message).doesNotContain("\tat ");
    assertThat(run.err()).doesNotContain("bug in kernbench");
    assertThat(run.exitCode()).isEqualTo(1);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "var v = tl.load(x); v.mul(v.narrow(0, 0, 3)); | MUL of f16[128, 64] and f16[3, 64]: cannot",
        "var v = tl.load(x); v.mul(v.cast(DType.F32)); | MUL of f16[128, 64] and f32[128, 64]: exp",
        "tl.store(y, tl.load(x).narrow(0, 0, 3)); | store to y: value is f16[3, 64], the slice is",
        "tl.store(y, tl.load(x).cast(DType.F32)); | store to y: value is f32[128, 64], the slice is",
      })
  void mismatch_inAKernel_hasKernelPlaceAndLine(String kernel, String message) throws IOException {
    Session run = Session.of("run", bench(kernel), "--topology", "tiny");

    assertThat(run.err())
        .startsWith("kernbench: kernel my-bench at sip0.cube0.pe0: " + message)
        .endsWith(" (MyBench.java:64)\n");
    assertThat(run.exitCode()).isEqualTo(1);
  }

  @Test
  void exception_ofABenchBetweenItsKernels_isItsOwners() throws IOException {
    String file = bench(RIGHT);
    String text = Files.readString(Path.of(file));
    Files.writeString(
        Path.of(file),
        text.replace("torch.await(launch);", "torch.await(launch); List.of(1).get(1);"));

    Session run = Session.of("run", file, "--topology", "tiny");

    assertThat(run.err()).startsWith("kernbench: MyBench.java:65: java.lang.");
    assertThat(run.exitCode()).isEqualTo(1);
  }

  /** A point of a sweep fails alone; it does not take the sweep with it. */
  @Test
  void exception_inAPoint_isARowThatFailed() throws IOException {
    String file = bench("if (rows == 64) { int[] a = {}; a[1] = 1; } " + RIGHT);

    Session sweep =
        Session.of(
            "sweep",
            file,
            "--topology",
            "tiny",
            "--vary",
            "rows=64,128",
            "--jobs",
            "1",
            "-q",
            "--out",
            directory.resolve("out").toString());

    assertThat(sweep.exitCode()).isEqualTo(1);
    assertThat(sweep.err()).contains("1 of 2 points failed").contains("MyBench.java:64: ");
  }

  // ---- code that a file names ----

  @Test
  void folder_thatNamesASourceFile_doesNotGetItCompiled() throws IOException {
    String file = bench(RIGHT);
    String run = directory.resolve("run").toString();
    assertThat(Session.of("run", file, "--topology", "tiny", "--out", run).exitCode()).isZero();
    String text = Files.readString(Path.of(file));
    Files.writeString(
        Path.of(file),
        text.replace(
            "private static final int COLUMNS = 64;",
            "private static final int COLUMNS = 64; static { System.setProperty(\""
                + TRAP
                + "\", \"ran\"); }"));

    Session refused = Session.of("explain", run, "--verify-sensitivities");

    assertThat(refused.exitCode()).isEqualTo(2);
    assertThat(refused.err())
        .contains("code is taken from the command line only")
        .contains("--class-path " + file);
    assertThat(System.getProperty(TRAP)).isNull();

    Session trusted = Session.of("explain", run, "--verify-sensitivities", "--class-path", file);

    assertThat(trusted.exitCode()).as(trusted.err()).isZero();
    assertThat(System.getProperty(TRAP)).isEqualTo("ran");
  }

  /** Public, with a public constructor, and no algorithm. */
  public static final class Trap {
    static {
      System.setProperty(TRAP, "loaded");
    }

    /** What a file must not reach. */
    public Trap() {
      System.setProperty(TRAP, "made");
    }
  }

  @Test
  void class_thatACclFileNames_isNotInitialisedUnlessItIsAnAlgorithm() {
    Session run =
        Session.of(
            "run",
            "ccl-allreduce",
            "--ccl-set",
            "defaults.algorithm=trap",
            "--ccl-set",
            "algorithms.trap.class=" + Trap.class.getName());

    assertThat(run.exitCode()).isEqualTo(2);
    assertThat(run.err()).contains("is no org.kernbench.ccl.CollectiveAlgorithm");
    assertThat(System.getProperty(TRAP)).isNull();
  }
}
