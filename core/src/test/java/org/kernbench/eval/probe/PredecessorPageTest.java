package org.kernbench.eval.probe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.io.InputStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.kernbench.device.Mode;
import org.kernbench.device.log.OpKind;
import org.kernbench.eval.Progress;
import org.kernbench.eval.RunOptions;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.Runner;
import org.kernbench.eval.benches.BenchRegistry;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;

/**
 * The predecessor's published figures beside what {@code kb-compat} takes: prints the tables of
 * docs/validation/predecessor.md, and holds each figure to its tolerance and the page to the
 * tables. {@code -Dgolden.update=true} writes them into the page.
 */
final class PredecessorPageTest {
  private static final Path PAGE =
      Path.of(System.getProperty("basedir", "."), "../docs/validation/predecessor.md");

  /** The published times have two decimals, and the preset a constant for them in picoseconds. */
  private static final double ALL_REDUCE_NS = 0.001;

  private static final List<String> NO_TLB = List.of("pe.dma.setup=3.96 ns");
  private static final List<String> FLITS =
      List.of("pe.dma.setup=3.96 ns", "cube.hbm.latency=8 ns");

  /** What differs from the preset when the predecessor is of another day. */
  private static final Map<String, List<String>> VERSIONS = new LinkedHashMap<>();

  static {
    VERSIONS.put("28 April", List.of());
    VERSIONS.put("27 April", List.of("ipcq.serial_cost.tcm.bandwidth=1000 TB/s"));
    VERSIONS.put("14 May", NO_TLB);
    VERSIONS.put("15 May", FLITS);
    VERSIONS.put(
        "15 May, in a row",
        List.of(FLITS.get(0), FLITS.get(1), "sip.cube_mesh.w=16", "sip.cube_mesh.h=1"));
  }

  private static final List<String> FIRST_SLOT_TABLE =
      List.of(
          "ipcq.serial_cost.sram.bandwidth=128 GB/s",
          "ipcq.serial_cost.sram.bank_bandwidth=none",
          "ipcq.serial_cost.hbm.bandwidth=32 GB/s",
          "ipcq.serial_cost.hbm.bank_bandwidth=none");

  private static final long DMA_BYTES = 16 << 10;

  private final Map<String, RunResult> runs = new HashMap<>();

  @Test
  void page_allReduce_isWhatIsSimulatedAndWhatWasPublished() throws IOException {
    List<String> table = new ArrayList<>();
    table.add("| slot table | slots in | bytes per rank | published ns | simulated ns |");
    table.add("| --- | --- | --: | --: | --: |");
    for (String line : lines("/reference/predecessor-allreduce.csv")) {
      String[] f = line.split(",");
      List<String> overrides = new ArrayList<>(f[0].equals("v1") ? FIRST_SLOT_TABLE : List.of());
      overrides.add("ipcq.buffer_kind=" + f[1]);
      int bytes = Integer.parseInt(f[2]);
      RunResult run = run("ccl-allreduce", overrides, "n_elem=" + bytes / 2);
      double ns = metric(run, "crit_ns");
      double published = Double.parseDouble(f[3]);
      assertThat(ns).as(line).isCloseTo(published, within(ALL_REDUCE_NS));
      table.add(
          String.format(
              Locale.ROOT, "| %s | %s | %,d | %,.2f | %,.3f |", f[0], f[1], bytes, published, ns));
    }
    assertThat(table).hasSize(2 + 24);
    check("all-reduce", table);
  }

  @Test
  void page_figures_areWhatIsSimulatedAndHeldToTheirTolerance() throws IOException {
    List<String> table = new ArrayList<>();
    table.add("| figure | version | published | simulated | | held to |");
    table.add("| --- | --- | --: | --: | --: | --: |");
    for (String line : lines("/reference/predecessor-figures.csv")) {
      String[] f = line.split("\\|");
      double simulated = simulate(f[1], Objects.requireNonNull(VERSIONS.get(f[4]), line));
      double published = Double.parseDouble(f[2]);
      if (!f[5].isEmpty()) {
        double allowed = published * Double.parseDouble(f[5]) / 100;
        assertThat(simulated).as(line).isCloseTo(published, within(allowed));
      }
      table.add(row(f, published, simulated));
    }
    check("figures", table);
  }

  private static String row(String[] f, double published, double simulated) {
    int decimals = new BigDecimal(f[2]).scale();
    String number = "%,." + Math.max(1, decimals) + "f";
    return String.format(
        Locale.ROOT,
        "| %s | %s | %,." + decimals + "f %s | " + number + " | %+.1f %% | %s |",
        f[0],
        f[4],
        published,
        f[3],
        simulated,
        100 * (simulated / published - 1) + 0.0,
        f[5].isEmpty() ? "-" : f[5] + " %");
  }

  @Test
  void page_versions_areThoseThatAreSimulated() throws IOException {
    List<String> table = new ArrayList<>();
    table.add("| version | beside the preset |");
    table.add("| --- | --- |");
    VERSIONS.forEach((name, overrides) -> {
      String sets = "`--set \"" + String.join("\"` `--set \"", overrides) + "\"`";
      table.add("| " + name + " | " + (overrides.isEmpty() ? "-" : sets) + " |");
    });
    check("versions", table);
  }

  // ---- what is simulated ----

  /**
   * @param measure {@code pe2pe queue|dma BYTES}, {@code gemm COLUMN}, {@code pe-dma BYTES CASE} or
   *     {@code seven} for nanoseconds, {@code rate CASE} for GB/s
   */
  private double simulate(String measure, List<String> overrides) {
    String[] words = measure.split(" ", 3);
    return switch (words[0]) {
      case "pe2pe" -> {
        RunResult run = run("pe2pe", overrides, "most=256 B");
        yield number(row(run, Map.of("to", "same cube, nearest", "bytes", words[2])), words[1]);
      }
      case "gemm" -> {
        RunResult run = run("milestone-1h-gemm", overrides);
        yield number(row(run, Map.of("shape", "32x3072x32", "staging", "load_ref")), words[1]);
      }
      case "pe-dma" -> {
        RunResult run = run("pe-dma", overrides, "bytes=" + words[1] + " B");
        yield number(row(run, Map.of("case", words[2])), "time_ns") + dispatchNs(overrides);
      }
      case "rate" -> {
        String crowd = measure.substring("rate ".length());
        Map<String, Object> row = row(run("pe-dma", overrides), Map.of("case", crowd));
        yield number(row, "bytes") / (number(row, "time_ns") + dispatchNs(overrides));
      }
      case "seven" -> sevenOnTheNextCubeNs(overrides);
      default -> throw new IllegalArgumentException(measure);
    };
  }

  /**
   * Loads of seven PEs from one slice of the next cube, over the one link: what the peak that was
   * published with eight says of them.
   */
  private static double sevenOnTheNextCubeNs(List<String> overrides) {
    Machine machine = Machines.load("kb-compat", overrides);
    ProbePaths paths = new ProbePaths(machine);
    var slice = paths.slice("next cube", new Pe(0, 1, 0));
    var crowd =
        IntStream.range(0, 7)
            .mapToObj(i -> new ProbePaths.Access(new Pe(0, 0, i), slice, DMA_BYTES, OpKind.LOAD))
            .toList();
    return paths.crowd(crowd).ps() / 1e3 + dispatchNs(overrides);
  }

  /** The CPU's part, which the bench of the DMA leaves out. */
  private static double dispatchNs(List<String> overrides) {
    return Machines.load("kb-compat", overrides).pe().cpu().dispatchPs() / 1e3;
  }

  private RunResult run(String bench, List<String> overrides, String... params) {
    return runs.computeIfAbsent(
        bench + overrides + List.of(params),
        key ->
            Runner.of("test", Progress.SILENT)
                .run(
                    BenchRegistry.standard().find(bench),
                    RunOptions.DEFAULT
                        .withTopology("kb-compat")
                        .withOverrides(overrides)
                        .withMode(Mode.TIME)
                        .withParams(List.of(params))));
  }

  private static double metric(RunResult run, String name) {
    return ((Number) Objects.requireNonNull(run.metrics().get(name))).doubleValue();
  }

  private static Map<String, Object> row(RunResult run, Map<String, String> key) {
    return run.rows().stream()
        .filter(row ->
            key.entrySet().stream()
                .allMatch(e -> e.getValue().equals(String.valueOf(row.get(e.getKey())))))
        .findFirst()
        .orElseThrow(() -> new AssertionError("no row " + key));
  }

  private static double number(Map<String, Object> row, String column) {
    Object value = row.containsKey(column) ? row.get(column) : row.get(column + "_ns");
    return ((Number) Objects.requireNonNull(value, column)).doubleValue();
  }

  // ---- the page ----

  private static List<String> lines(String resource) throws IOException {
    try (InputStream in = PredecessorPageTest.class.getResourceAsStream(resource)) {
      String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
      return text.lines().skip(1).toList();
    }
  }

  private static void check(String name, List<String> table) throws IOException {
    String begin = "<!-- " + name + ": by PredecessorPageTest -->\n";
    String end = "<!-- end -->\n";
    String text = Files.readString(PAGE);
    int from = text.indexOf(begin) + begin.length();
    int to = text.indexOf(end, from);
    assertThat(text).contains(begin);
    String now = "\n" + String.join("\n", table) + "\n\n";
    System.out.print(now);
    if (Boolean.getBoolean("golden.update")) {
      Files.writeString(PAGE, text.substring(0, from) + now + text.substring(to));
    } else {
      assertThat(text.substring(from, to)).isEqualTo(now);
    }
  }
}
