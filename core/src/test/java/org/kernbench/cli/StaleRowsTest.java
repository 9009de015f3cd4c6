package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A row is taken over only if everything that its run read still says the same. */
final class StaleRowsTest {
  private static final Path FOUND = Path.of("src/test/resources/bad-inputs/stale-resume");
  private final ClassLoader before = Thread.currentThread().getContextClassLoader();

  @TempDir private Path directory;

  @AfterEach
  void forgetUserClasses() {
    Thread.currentThread().setContextClassLoader(before);
  }

  private Path copy(String name, String as) throws IOException {
    return Files.copy(FOUND.resolve(name), directory.resolve(as));
  }

  private static void replace(Path file, String old, String by) throws IOException {
    String text = Files.readString(file);
    assertThat(text).contains(old);
    Files.writeString(file, text.replace(old, by));
  }

  /** The rows after a sweep with {@code --resume}. */
  private List<String> sweep(String... args) throws IOException {
    Path out = directory.resolve("out");
    List<String> all = new java.util.ArrayList<>(List.of("sweep"));
    all.addAll(List.of(args));
    all.addAll(List.of("--jobs", "1", "-q", "--resume", "--out", out.toString()));
    Session session = Session.of(all.toArray(String[]::new));
    assertThat(session.exitCode()).as(session.err()).isLessThan(2);
    return Files.readAllLines(out.resolve("results.csv"));
  }

  @Test
  void machine_whoseBaseChanged_isRunAgain_andNotIfItChangedBack() throws IOException {
    Path base = copy("base.yaml", "base.yaml");
    Path derived = copy("derived.yaml", "derived.yaml");
    String[] args = {"hello-send", "--topology", derived.toString(), "--vary", "n_elem=64,128"};
    List<String> slow = sweep(args);

    replace(base, "1 GB/s", "100 GB/s");
    List<String> fast = sweep(args);
    assertThat(fast.get(1)).isNotEqualTo(slow.get(1));

    replace(base, "100 GB/s", "1 GB/s");
    assertThat(sweep(args)).isEqualTo(slow);
  }

  @Test
  void table_thatACclFileNames_changed_isRunAgain() throws IOException {
    Path ccl = copy("ccl_tab.yaml", "ccl.yaml");
    Path table = copy("tab2.yaml", "tab2.yaml");
    Session tune =
        Session.of("tune", "--topology", "ring", "--sizes", "64 B,1 KiB", "--out", table + ".made");
    assertThat(tune.exitCode()).as(tune.err()).isZero();
    String made = Files.readString(Path.of(table + ".made"));
    Files.writeString(table, made.replaceAll("(?m)^(  \\d+ B:) .*$", "$1 ring"));
    String[] args = {
      "ccl-allreduce", "--topology", "ring", "--ccl", ccl.toString(), "--vary", "n_elem=32"
    };
    String ring = sweep(args).get(1);
    assertThat(sweep(args).get(1)).isEqualTo(ring);

    Files.writeString(table, made.replaceAll("(?m)^(  \\d+ B:) .*$", "$1 exchange"));
    String exchange = sweep(args).get(1);
    assertThat(exchange.split(",")[4]).as("time").isNotEqualTo(ring.split(",")[4]);
  }

  @Test
  void neighbourOfASourceFile_changed_isRunAgain() throws IOException {
    Path bench = copy("nb/MyBench.java.txt", "MyBench.java");
    Path factor = copy("nb/Factor.java.txt", "Factor.java");
    String[] args = {bench.toString(), "--topology", "tiny", "--vary", "rows=64"};
    replace(factor, "return 3;", "return 2;");
    assertThat(sweep(args).get(1)).contains(",ok,true,");

    replace(factor, "return 2;", "return 3;");
    assertThat(sweep(args).get(1)).contains(",wrong_values,false,");
  }

  /** What the plan cannot foresee: a bench that reads a machine of its own. */
  @Test
  void file_thatOnlyTheBenchReads_changed_isRunAgain() throws IOException {
    Path own = directory.resolve("own.yaml");
    Files.writeString(own, "extends: tiny\n");
    Path bench = copy("nb/MyBench.java.txt", "MyBench.java");
    replace(bench, "Factor.get()", "2");
    replace(
        bench,
        "context.machine();",
        "org.kernbench.machine.Machines.load(\"" + own + "\", List.of());");
    String[] args = {bench.toString(), "--vary", "rows=64"};
    List<String> before = sweep(args);
    assertThat(sweep(args)).isEqualTo(before);

    Files.writeString(own, "extends: tiny\nipcq: {slots: 3}\n");
    List<String> after = sweep(args);

    assertThat(after.get(1)).isNotEqualTo(before.get(1));
    assertThat(sweep(args)).isEqualTo(after);
  }

  @Test
  void machine_thatWasNotThere_isRunWhenItIs() throws IOException {
    Path late = directory.resolve("late.yaml");
    String[] args = {"hello-send", "--vary", "topology=tiny," + late};
    assertThat(sweep(args).get(2)).contains(",refused,");

    Files.writeString(late, "extends: tiny\n");
    assertThat(sweep(args).get(2)).contains(",ok,true,");
  }
}
