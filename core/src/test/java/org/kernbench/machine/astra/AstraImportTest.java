package org.kernbench.machine.astra;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.kernbench.ccl.CollectiveTrial;
import org.kernbench.ccl.CollectiveTrial.Question;
import org.kernbench.ccl.dimensions.ByDimension;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.config.ConfigException;
import org.kernbench.device.Mode;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.machine.Pe;
import org.kernbench.tensor.DType;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;
import org.kernbench.torch.placement.RankLevel;

/**
 * Imported files against the closed forms of the tool they are from, written down here once more:
 * each message {@code floor(hops * latency + bytes / rate)} ns, an endpoint delay before a phase
 * and after each message, three accesses to memory for each reduction.
 */
final class AstraImportTest {
  @TempDir private Path folder;

  /** One network and system, as the tool sees them. */
  private record Cell(
      List<String> kinds,
      List<String> steps,
      List<Integer> sizes,
      List<Double> gigabytes,
      List<Integer> latencyNs,
      int delayNs,
      int memory,
      int splits,
      int active,
      boolean whole,
      boolean aware) {

    AstraReference.Setting setting(boolean wholeNs) {
      return new AstraReference.Setting(
          kinds, steps, sizes, gigabytes, latencyNs, delayNs, memory, splits, active, whole,
          wholeNs);
    }

    int ranks() {
      return sizes.stream().reduce(1, (a, b) -> a * b);
    }

    // ---- the forms ----

    private double wireNs(int d, double bytes) {
      double serial = bytes / (gigabytes.get(d) * (1 << 30) / 1e9);
      if (!kinds.get(d).equals("Switch")) {
        return Math.floor(latencyNs.get(d) + serial);
      }
      return aware
          ? 2 * Math.floor(latencyNs.get(d) + serial)
          : Math.floor(2 * latencyNs.get(d) + serial);
    }

    private double reduceNs(double bytes) {
      return memory == 0 ? 0 : 3 * Math.floor(bytes / memory);
    }

    /** One half of an all-reduce along a dimension, of a block, without the first delay. */
    private double halfNs(int d, double block, boolean reduces) {
      int n = sizes.get(d);
      double part = block / n;
      double end = delayNs + (reduces ? reduceNs(part) : 0);
      return switch (steps.get(d)) {
        case "ring" -> (n - 1) * (wireNs(d, part) + end);
        case "direct" -> wireNs(d, part) + end;
        default -> {
          double sum = 0;
          for (double half = block / 2; half >= part; half /= 2) {
            // charged with the next message, the last with nothing
            sum += wireNs(d, half) + delayNs + (reduces && half > part ? reduceNs(half / 2) : 0);
          }
          yield sum;
        }
      };
    }

    double allReduceNs(double bytes) {
      double block = bytes / splits;
      double sum = 0;
      int last = sizes.size() - 1;
      for (int d = 0; d <= last; d++) {
        boolean turns = whole || d == last;
        sum += delayNs + halfNs(d, block, true);
        sum += (turns ? 0 : delayNs) + halfNs(d, block, false);
        block = whole ? block : block / sizes.get(d);
      }
      return splits * sum;
    }

    double reduceScatterNs(double bytes) {
      double block = bytes / splits;
      double sum = 0;
      for (int d = 0; d < sizes.size(); d++) {
        sum += delayNs + halfNs(d, block, true);
        block /= sizes.get(d);
      }
      return splits * sum;
    }

    /** From the last dimension in: what each rank gives grows by the places of each. */
    double allGatherNs(double share) {
      double part = share / splits;
      double sum = 0;
      for (int d = sizes.size() - 1; d >= 0; d--) {
        part *= sizes.get(d);
        sum += delayNs + halfNs(d, part, false);
      }
      return splits * sum;
    }

    // ---- the files ----

    String network() {
      return "topology: %s\nnpus_count: %s\nbandwidth: %s  # GB/s\nlatency: %s\n"
          .formatted(kinds, sizes, gigabytes, latencyNs);
    }

    String system() {
      String all =
          steps.stream()
              .map(AstraImportTest::nameThere)
              .map(s -> '"' + s + '"')
              .collect(Collectors.joining(", ", "[", "]"));
      return """
      {"scheduling-policy": "LIFO", "endpoint-delay": %s, "active-chunks-per-dimension": %s,
       "preferred-dataset-splits": %s, "all-reduce-implementation": %s,
       "all-gather-implementation": %s, "reduce-scatter-implementation": %s,
       "all-to-all-implementation": %s,
       "collective-optimization": "%s", "local-mem-bw": %s, "boost-mode": 0}
      """
          .formatted(
              delayNs,
              active,
              splits,
              all,
              all,
              all,
              all,
              whole ? "baseline" : "localBWAware",
              memory);
    }
  }

  private static String nameThere(String step) {
    return switch (step) {
      case "halving_doubling" -> "halvingDoubling";
      case "double_binary_tree" -> "doubleBinaryTree";
      default -> step;
    };
  }

  private AstraImport imported(String network, String system, boolean aware, boolean wholeNs)
      throws IOException {
    Path n = Files.writeString(folder.resolve("network.yml"), network);
    Path s = Files.writeString(folder.resolve("system.json"), system);
    return AstraImport.of(
        n, s, aware ? AstraImport.Congestion.AWARE : AstraImport.Congestion.UNAWARE, wholeNs);
  }

  private double simulatedNs(Cell cell, CollectiveOp op, long elements, boolean wholeNs)
      throws IOException {
    var result =
        trial(cell, op, wholeNs)
            .run(new Question(op, ReduceKind.SUM, DType.F16, -1, elements), Mode.TIME);
    assertThat(result.problems()).isEmpty();
    return result.ps() / 1000.0;
  }

  private CollectiveTrial trial(Cell cell, CollectiveOp op, boolean wholeNs) throws IOException {
    AstraImport files = imported(cell.network(), cell.system(), cell.aware, wholeNs);
    Path file = Files.writeString(folder.resolve("machine.yaml"), files.machine());
    Machine machine = Machines.load(file.toString(), List.of());
    CclConfig ccl = CclConfig.parse("ccl.yaml", files.ccl(), List.of());
    String entry = "astra_" + op.word();
    List<Pe> leads = IntStream.range(0, machine.sips()).mapToObj(s -> new Pe(s, 0, 0)).toList();
    return CollectiveTrial.of(machine, new ByDimension(), ccl.of(entry), RankLevel.SIP, leads);
  }

  private static Cell ring(List<Integer> sizes) {
    int n = sizes.size();
    return new Cell(
        Collections.nCopies(n, "Ring"),
        Collections.nCopies(n, "ring"),
        sizes,
        Collections.nCopies(n, 50.0),
        Collections.nCopies(n, 500),
        1,
        0,
        1,
        1,
        false,
        false);
  }

  /**
   * Figures of the tool itself: 1 MiB, 50 GB/s, 500 ns, endpoint delay 1, no cost of reductions.
   */
  @ParameterizedTest
  @CsvSource({"4,32299", "8,41189", "16,51631", "64,101557"})
  void allReduce_roundOneRing_isTheFigureOfTheTool(int ranks, long ns) throws IOException {
    Cell cell = ring(List.of(ranks));
    assertThat(cell.allReduceNs(1 << 20)).isEqualTo(ns);
    assertThat(simulatedNs(cell, CollectiveOp.ALL_REDUCE, 1 << 19, true))
        .isCloseTo(ns, within(0.5));
    assertThat(simulatedNs(cell, CollectiveOp.ALL_REDUCE, 1 << 19, false))
        .isCloseTo(ns, within(0.002 * ns));
  }

  @Test
  void allReduce_alongTwoAndThree_isTheFigureOfTheTool() throws IOException {
    assertThat(simulatedNs(ring(List.of(2, 3)), CollectiveOp.ALL_REDUCE, 1 << 19, true))
        .isCloseTo(35_559, within(0.5));
  }

  /** The two large figures of the tool by the form alone; they take long to run. */
  @Test
  void form_ofManyRanks_givesTheFiguresOfTheTool() {
    assertThat(ring(List.of(256)).allReduceNs(1 << 20)).isEqualTo(294_271);
    assertThat(ring(List.of(1024)).allReduceNs(1 << 20)).isEqualTo(1_063_921);
  }

  private static Cell random(SplittableRandom random) {
    int dimensions = 1 + random.nextInt(3);
    List<String> kinds = new ArrayList<>();
    List<String> steps = new ArrayList<>();
    List<Integer> sizes = new ArrayList<>();
    List<Double> rates = new ArrayList<>();
    List<Integer> latencies = new ArrayList<>();
    for (int d = 0; d < dimensions; d++) {
      String kind = List.of("Ring", "FullyConnected", "Switch").get(random.nextInt(3));
      // What meets on no link, so that both kinds of network of the tool say the same.
      List<String> free =
          switch (kind) {
            case "Ring" -> List.of("ring");
            case "FullyConnected" -> List.of("ring", "direct", "halving_doubling");
            default -> List.of("ring", "halving_doubling");
          };
      String step = free.get(random.nextInt(free.size()));
      kinds.add(kind);
      steps.add(step);
      sizes.add(step.equals("halving_doubling") ? 2 << random.nextInt(2) : 2 + random.nextInt(4));
      rates.add(1 + random.nextInt(400) / 4.0);
      latencies.add(1 + random.nextInt(2000));
    }
    return new Cell(
        kinds,
        steps,
        sizes,
        rates,
        latencies,
        random.nextInt(4) * random.nextInt(20),
        random.nextInt(2) * (1 + random.nextInt(100)),
        dimensions == 1
            ? 1 + random.nextInt(3)
            : 1, // of several, chunks overlap: see the reference
        1,
        random.nextInt(4) == 0,
        random.nextBoolean());
  }

  @Test
  void everyOperation_onManyNetworks_isItsClosedForm() throws IOException {
    SplittableRandom random = new SplittableRandom(20);
    for (int i = 0; i < 40; i++) {
      Cell cell = random(random);
      // so that all parts are whole elements: the tool rounds what is left over down
      long elements = (1 + random.nextInt(3000)) * (long) cell.ranks() * cell.splits;
      double bytes = 2.0 * elements;
      check(cell, CollectiveOp.ALL_REDUCE, elements, cell.allReduceNs(bytes));
      check(cell, CollectiveOp.REDUCE_SCATTER, elements, cell.reduceScatterNs(bytes));
      check(cell, CollectiveOp.ALL_GATHER, elements, cell.allGatherNs(bytes / cell.ranks()));
    }
  }

  /** A picosecond for each addition that no delay hides, and some at the beginning and the end. */
  private void check(Cell cell, CollectiveOp op, long elements, double ns) throws IOException {
    assertThat(simulatedNs(cell, op, elements, true))
        .as("%s of %s elements on %s, whole ns", op, elements, cell)
        .isCloseTo(ns, within(0.5));
    assertThat(simulatedNs(cell, op, elements, false))
        .as("%s of %s elements on %s", op, elements, cell)
        .isBetween(ns - 0.5, ns + 0.5 + messages(cell));
  }

  /** What is dropped: less than 1 ns for each wait on a link, and 3 for each reduction. */
  private static double messages(Cell cell) {
    return cell.splits * 5.0 * cell.sizes.stream().mapToInt(n -> 2 * n).sum();
  }

  // ---- every cell against a second construction of the tool ----

  private static final List<CollectiveOp> OPERATIONS =
      List.of(
          CollectiveOp.ALL_REDUCE,
          CollectiveOp.REDUCE_SCATTER,
          CollectiveOp.ALL_GATHER,
          CollectiveOp.ALL_TO_ALL);

  private static boolean isSaid(String step, CollectiveOp op) {
    return switch (step) {
      case "halving_doubling" -> op != CollectiveOp.ALL_TO_ALL;
      case "double_binary_tree" -> op == CollectiveOp.ALL_REDUCE;
      default -> true;
    };
  }

  /** All kinds, operations and implementations, with and without delays and costs of reductions. */
  @ParameterizedTest
  @CsvSource({"4,0,0,1,1", "8,7,0,1,1", "8,300,37,1,1", "4,10,13,3,1", "4,10,13,4,2"})
  void everyCell_ofOneDimension_isTheReference(
      int size, int delayNs, int memory, int splits, int active) throws IOException {
    for (String kind : List.of("Ring", "FullyConnected", "Switch")) {
      for (String step : List.of("ring", "direct", "halving_doubling", "double_binary_tree")) {
        boolean planned = !step.equals("double_binary_tree") || active == 1;
        Cell cell =
            new Cell(
                List.of(kind),
                List.of(step),
                List.of(size),
                List.of(50.0),
                List.of(500),
                delayNs,
                memory,
                splits,
                active,
                false,
                false);
        for (CollectiveOp op : OPERATIONS) {
          if (isSaid(step, op) && planned) {
            compare(cell, op, 1000L * size * size * splits);
          }
        }
      }
    }
  }

  /** Several dimensions, chunks and delays at random, all that may meet on links among them. */
  @Test
  void manyCells_ofSeveralDimensions_areTheReference() throws IOException {
    SplittableRandom random = new SplittableRandom(21);
    for (int i = 0; i < 40; i++) {
      Cell cell = several(random);
      CollectiveOp op = OPERATIONS.get(i % OPERATIONS.size());
      if (cell.steps.stream().allMatch(step -> isSaid(step, op))) {
        compare(
            cell, op, (1 + random.nextInt(500)) * (long) cell.ranks() * cell.ranks() * cell.splits);
      }
    }
  }

  private static Cell several(SplittableRandom random) {
    int dimensions = 1 + random.nextInt(3);
    List<String> kinds = new ArrayList<>();
    List<String> steps = new ArrayList<>();
    List<Integer> sizes = new ArrayList<>();
    List<Double> rates = new ArrayList<>();
    List<Integer> latencies = new ArrayList<>();
    for (int d = 0; d < dimensions; d++) {
      kinds.add(List.of("Ring", "FullyConnected", "Switch").get(random.nextInt(3)));
      String step = List.of("ring", "direct", "halving_doubling").get(random.nextInt(3));
      steps.add(step);
      int largest = dimensions == 1 ? 12 : 4;
      sizes.add(
          step.equals("halving_doubling") ? 2 << random.nextInt(2) : 2 + random.nextInt(largest));
      rates.add(1 + random.nextInt(400) / 4.0);
      latencies.add(1 + random.nextInt(2000));
    }
    int splits = 1 + random.nextInt(5);
    return new Cell(
        kinds,
        steps,
        sizes,
        rates,
        latencies,
        random.nextInt(3) * random.nextInt(400),
        random.nextInt(2) * (1 + random.nextInt(100)),
        splits,
        1 + random.nextInt(splits),
        random.nextInt(4) == 0,
        false);
  }

  /** The second construction against figures of the tool itself. */
  @ParameterizedTest
  @CsvSource({"4,32299", "8,41189", "16,51631", "64,101557", "256,294271"})
  void reference_roundOneRing_isTheFigureOfTheTool(int ranks, long ns) {
    AstraReference.Setting setting = ring(List.of(ranks)).setting(true);
    assertThat(AstraReference.ns(setting, "all_reduce", 1 << 20)).isEqualTo(ns);
  }

  @Test
  void reference_alongTwoAndThree_isTheFigureOfTheTool() {
    AstraReference.Setting setting = ring(List.of(2, 3)).setting(true);
    assertThat(AstraReference.ns(setting, "all_reduce", 1 << 20)).isEqualTo(35_559);
  }

  /** Chunks side by side pass each other on links, so they take what one of them takes. */
  @Test
  void chunks_allActive_takeAsLongAsOne() throws IOException {
    Cell one = ring(List.of(4));
    Cell four =
        new Cell(
            one.kinds,
            one.steps,
            one.sizes,
            one.gigabytes,
            one.latencyNs,
            one.delayNs,
            one.memory,
            4,
            4,
            false,
            false);
    assertThat(simulatedNs(four, CollectiveOp.ALL_REDUCE, 1 << 19, true))
        .isCloseTo(one.allReduceNs(1 << 18), within(0.5));
  }

  private void compare(Cell cell, CollectiveOp op, long elements) throws IOException {
    double bytes = op == CollectiveOp.ALL_GATHER ? 2.0 * elements / cell.ranks() : 2.0 * elements;
    double there = AstraReference.ns(cell.setting(true), op.word(), bytes);
    Question question = new Question(op, ReduceKind.SUM, DType.F16, -1, elements);
    assertThat(trial(cell, op, true).timePs(question) / 1000.0)
        .as("%s of %s elements on %s, whole ns", op, elements, cell)
        .isCloseTo(there, within(0.5));
  }

  /** On a switch that stores, direct messages leave one after the other and come so. */
  @Test
  void direct_throughAStoringSwitch_waitsAtTheFirstLink() throws IOException {
    Cell cell =
        new Cell(
            List.of("Switch"),
            List.of("direct"),
            List.of(4),
            List.of(50.0),
            List.of(500),
            1,
            0,
            1,
            1,
            false,
            true);
    double serial = Math.floor((1 << 18) / (50.0 * (1 << 30) / 1e9));
    assertThat(simulatedNs(cell, CollectiveOp.ALL_REDUCE, 1 << 19, true))
        .isCloseTo(3 + 2 * (2 * 500 + 4 * serial), within(0.5));
  }

  // ---- the report ----

  @Test
  void report_namesEveryKey_andWhatCannotBeSaid() throws IOException {
    String system =
        """
        {
        \t"endpoint-delay": 10,
        \t"active-chunks-per-dimension": 2, "preferred-dataset-splits": 4,
        \t"all-reduce-implementation": ["oneRing"], "all-to-all-implementation": ["halvingDoubling"],
        \t"model-shared-bus": 1,
        \t"peak-perf": 900, "roofline-enabled": 1,
        \t"endpoint-dely": 3
        }
        """;
    AstraImport files = imported(ring(List.of(4)).network() + "links: 3\n", system, false, false);
    assertThat(files.report())
        .containsPattern("system.json:2: endpoint-delay +taken")
        .containsPattern("system.json:3: active-chunks-per-dimension +taken .* 2 are under way")
        .containsPattern("all-reduce-implementation +different +all_reduce along: \\[ring\\];")
        .contains("oneRing as ring, which is not known here")
        .contains("halvingDoubling as direct, for the tool stops at it in an all-to-all")
        .containsPattern("model-shared-bus +different")
        .containsPattern("peak-perf +taken +pe.gemm")
        .containsPattern("endpoint-dely +unknown +unknown key; did you mean endpoint-delay\\?")
        .containsPattern("network.yml:5: links +unknown")
        .contains("collective-optimization", "missing: baseline")
        .contains("5 of these cannot be said here");
    Path file = Files.writeString(folder.resolve("machine.yaml"), files.machine());
    assertThat(Machines.load(file.toString(), List.of()).pe().gemm().peakFlops())
        .isCloseTo(900e12, within(1e9));
  }

  @Test
  void report_ofDirectOnARing_saysWhatIsStoredThere() throws IOException {
    String system = "{\"all-reduce-implementation\": [\"direct\"]}";
    String network = ring(List.of(8)).network();
    assertThat(imported(network, system, false, false).report())
        .contains("everything can be said here");
    assertThat(imported(network, system, true, false).report())
        .contains("messages of all_reduce direct, all_to_all direct go several links of this Ring");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "topology: [Rin] | network.yml:1:11: topology: got \"Rin\"; expected Ring, FullyConnected, Switch; did you mean Ring?",
        "npus_count: [1] | npus_count: got \"1\"; expected a whole number from 2 to 16777216",
        "npus_count: [99999999] | npus_count: got \"99999999\"; expected a whole number from 2 to 16777216",
        "npus_count: [4, 2] | npus_count: got 2 entries for the 1 of topology; expected one for each dimension",
        "bandwidth: [0] | bandwidth: got \"0\"; expected a number above 0, in 2^30 bytes per second",
        "bandwidth: [50 GB/s] | bandwidth: got \"50 GB/s\"; expected a number above 0",
        "latency: [-1] | latency: got \"-1\"; expected nanoseconds, 0 or more",
        "latency: | latency: got nothing; expected a list of values",
      })
  void network_oneThingWrong_saysWhatWasExpected(String line, String message) throws IOException {
    String key = line.substring(0, line.indexOf(':'));
    String network =
        Arrays.stream(ring(List.of(4)).network().split("\n"))
            .map(l -> l.startsWith(key) ? line : l)
            .collect(Collectors.joining("\n"));
    assertThatThrownBy(() -> imported(network, "{\"endpoint-delay\": 1}", false, false))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining(message.replace("[8, 32, 64]", ""));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\0',
      value = {
        "{\"endpoint-delay\": \"x\"} | system.json:1:20: endpoint-delay: got \"x\"; expected nanoseconds",
        "{\"local-mem-bw\": -3} | local-mem-bw: got \"-3\"; expected 10^9 bytes per second",
        "{\"collective-optimization\": \"best\"} | expected localBWAware or baseline",
        "{\"all-reduce-implementation\": [\"ring\", \"ring\"]} | got 2 entries for 1 dimensions of the network",
        "{\"preferred-dataset-splits\": 0} | preferred-dataset-splits: got \"0\"; expected a whole number from 1",
        "{\"endpoint-delay\": | not valid YAML",
        " | is empty; expected a system file in JSON",
      })
  void system_oneThingWrong_saysWhatWasExpected(String system, String message) {
    String text = system == null ? "" : system;
    assertThatThrownBy(() -> imported(ring(List.of(4)).network(), text, false, false))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining(message);
  }
}
