package org.kernbench.device.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.IntFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.ArgReduceOp;
import org.kernbench.tensor.BinaryOp;
import org.kernbench.tensor.CompareOp;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.ReduceOp;
import org.kernbench.tensor.UnaryOp;

/** The table in the Javadoc of {@link CostModel} has every function, at the price it is charged. */
final class CostTableTest {
  private static final Path SOURCE =
      Path.of(
          System.getProperty("basedir", "."),
          "src/main/java/org/kernbench/device/log/CostModel.java");

  private static final Pattern ROW =
      Pattern.compile("<tr><td>(.*?)</td>\\s*<td>(.*?)</td></tr>", Pattern.DOTALL);

  private static final int DIVIDE = 3;
  private static final int SQUARE_ROOT = 5;
  private static final int TRANSCENDENTAL = 7;
  private static final int LANES = 64; // of f32 in 256 B

  private final CostModel costs =
      new CostModel(
          Machines.load(
                  "sip-2026",
                  List.of(
                      "pe.math.operand_bandwidth=unlimited",
                      "pe.math.clock=1 GHz",
                      "pe.math.width=256 B",
                      "pe.math.slowdown.divide=" + DIVIDE,
                      "pe.math.slowdown.square_root=" + SQUARE_ROOT,
                      "pe.math.slowdown.transcendental=" + TRANSCENDENTAL))
              .pe());

  @Test
  void javadoc_everyFunction_standsThereWithItsPrice() throws IOException {
    Map<String, Integer> charged = new LinkedHashMap<>();
    functions().forEach((name, op) -> charged.put(name, cyclesPerVector(op)));
    assertThat(table()).containsAllEntriesOf(charged);
  }

  /** That no kind of command is forgotten above. */
  @Test
  void functions_areAllKindsOfCommandsOnTheVectorEngine() {
    Set<String> kinds = new TreeSet<>();
    functions().values().forEach(op -> kinds.add(op.apply(1).getClass().getSimpleName()));
    Set<String> all = new TreeSet<>();
    for (Class<?> kind : ComputeOp.class.getPermittedSubclasses()) {
      all.add(kind.getSimpleName());
    }
    all.remove("Elapsed"); // takes the time that it says
    all.removeAll(Set.of("Gemm", "Strided")); // another engine; what it is around
    assertThat(kinds).isEqualTo(all);
  }

  private int cyclesPerVector(IntFunction<ComputeOp> op) {
    long more = costs.durationPs(op.apply(3 * LANES)) - costs.durationPs(op.apply(LANES));
    return Math.toIntExact(more / 2_000); // two vectors, at 1 GHz
  }

  private static Map<String, IntFunction<ComputeOp>> functions() {
    DType f32 = DType.F32;
    Map<String, IntFunction<ComputeOp>> all = new LinkedHashMap<>();
    for (UnaryOp op : UnaryOp.values()) {
      all.put(camel(op), n -> new ComputeOp.Unary(op, f32, n));
    }
    for (BinaryOp op : BinaryOp.values()) {
      all.put(camel(op), n -> new ComputeOp.Binary(op, f32, n));
      all.put(camel(op) + "#1", n -> new ComputeOp.BinaryScalar(op, f32, n, 1));
      all.put(camel(op) + "#2", n -> new ComputeOp.ScalarBinary(op, f32, n, 1));
    }
    for (ReduceOp op : ReduceOp.values()) {
      all.put(camel(op), n -> new ComputeOp.Reduce(op, f32, 1, n, 1));
    }
    for (ArgReduceOp op : ArgReduceOp.values()) {
      all.put(camel(op), n -> new ComputeOp.ArgReduce(op, f32, 1, n, 1));
    }
    for (CompareOp op : CompareOp.values()) {
      all.put("comparisons#" + op, n -> new ComputeOp.Compare(op, f32, n));
      all.put("comparisons#1" + op, n -> new ComputeOp.CompareScalar(op, f32, n, 1));
    }
    all.put("fma", n -> new ComputeOp.Fma(f32, n));
    all.put("clamp", n -> new ComputeOp.Clamp(f32, n, 0, 1));
    all.put("where", n -> new ComputeOp.Where(f32, n));
    all.put("where#1", n -> new ComputeOp.WhereScalar(f32, n, true, 1));
    all.put("cast", n -> new ComputeOp.Cast(f32, DType.I32, n));
    all.put("copy", n -> new ComputeOp.Copy(f32, n));
    all.put("concat", n -> new ComputeOp.Concat(f32, n, 1, 0));
    all.put("fill", n -> new ComputeOp.Fill(f32, n, 0));
    all.put("arange", n -> new ComputeOp.Arange(f32, n, 0, 1));
    all.put("rand", n -> new ComputeOp.Random(DType.I32, n));
    all.put("softmax", n -> new ComputeOp.Softmax(f32, 1, n, 1));
    all.put(
        "cumsum over vectors side by side",
        n -> new ComputeOp.CumulativeSum(f32, 1, n / LANES, LANES));
    all.put("cumsum within a vector", n -> new ComputeOp.CumulativeSum(f32, n / LANES, LANES, 1));
    return all;
  }

  private static String camel(Enum<?> op) {
    StringBuilder name = new StringBuilder();
    for (String word : op.name().toLowerCase(Locale.ROOT).split("_")) {
      name.append(
          name.isEmpty()
              ? word
              : word.substring(0, 1).toUpperCase(Locale.ROOT) + word.substring(1));
    }
    return name.toString();
  }

  /** Cycles by function, those of one row by each of its names and by all that are priced alike. */
  private static Map<String, Integer> table() throws IOException {
    String javadoc = Files.readString(SOURCE).replaceAll("\\n \\* *", " ");
    Map<String, Integer> table = new LinkedHashMap<>();
    Matcher row = ROW.matcher(javadoc.replaceAll(" +", " "));
    while (row.find()) {
      for (String name : names(row.group(1))) {
        List<String> alike =
            functions().keySet().stream()
                .filter(each -> each.replaceFirst("#.*", "").equals(name))
                .toList();
        assertThat(alike).as("%s in the table is no function", name).isNotEmpty();
        alike.forEach(each -> table.put(each, cycles(row.group(2))));
      }
    }
    return table;
  }

  private static List<String> names(String cell) {
    List<String> names = new ArrayList<>();
    for (String name : cell.replaceAll(" \\([^)]*\\)|:.*", "").split(", ")) {
      names.add(name.strip());
    }
    return names;
  }

  private static int cycles(String cell) {
    return switch (cell) {
      case "d" -> DIVIDE;
      case "s" -> SQUARE_ROOT;
      case "t" -> TRANSCENDENTAL;
      case "3 + t + d" -> 3 + TRANSCENDENTAL + DIVIDE;
      case "1 + ceil(log2(lanes or length))" -> 1 + Integer.numberOfTrailingZeros(LANES);
      default -> Integer.parseInt(cell);
    };
  }

  /** Rows that do not fill a vector are added like those that do, not by a scan. */
  @Test
  void cumsum_ofRowsThatDoNotFillAVector_takesNoLongerThanOfThoseThatDo() {
    CostModel costs = new CostModel(Machines.load("tiny", List.of()).pe());
    long full = costs.durationPs(new ComputeOp.CumulativeSum(DType.F16, 1, 64, 128));
    for (int inner : new int[] {127, 100, 65}) {
      assertThat(costs.durationPs(new ComputeOp.CumulativeSum(DType.F16, 1, 64, inner)))
          .as("%s beside", inner)
          .isLessThanOrEqualTo(full);
    }
    long within = costs.durationPs(new ComputeOp.CumulativeSum(DType.F16, 1, 64, 1));
    assertThat(within).as("one vector in seven steps").isLessThan(full / 2);
  }
}
