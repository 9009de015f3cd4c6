/*
 * Rows of my own as lines, bars and a heat map, with what all rows share in the caption. A bench that
 * implements eval/Illustrated does the same in figures(rows), and `kernbench run` writes them.
 *
 * Run:      scripts/run-java examples/DrawRows.java FOLDER
 * Expected: (checked by ExamplesTest)
 *   10 rows, the first: machine=tiny  dtype=f16  bytes=2048  rows_over=one PE  crit_ns=186.824
 *   time-lines: 860 x 528
 *   time-bars: 860 x 528
 *   time-heat: 860 x 338
 *   two rows are for one point, bytes=2048; they differ in rows_over, crit_ns: choose one with only(column, value)
 */
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.kernbench.device.Launch;
import org.kernbench.eval.figures.Chart;
import org.kernbench.eval.figures.Figure;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.placement.DpPolicy;

public final class DrawRows {
  public static void main(String[] args) throws IOException {
    Machine machine = Machines.load("tiny", List.of());
    List<Map<String, String>> rows = new ArrayList<>();
    for (int elements = 1 << 10; elements <= 1 << 18; elements *= 4) {
      rows.add(row(machine, elements, "one PE", DpPolicy.single()));
      rows.add(row(machine, elements, "all PEs", DpPolicy.rowWise()));
    }
    System.out.printf("%d rows, the first: %s%n", rows.size(), text(rows.getFirst()));

    Path folder = Path.of(args.length > 0 ? args[0] : System.getProperty("java.io.tmpdir"));
    Chart chart = Chart.of("Twice a vector, on one PE and over all", rows);
    for (Figure figure :
        List.of(
            chart.lines("time-lines", "bytes", "crit_ns", "rows_over"),
            chart.bars("time-bars", "bytes", "crit_ns", "rows_over"),
            chart.heatMap("time-heat", "bytes", "rows_over", "crit_ns"))) {
      Files.writeString(folder.resolve(figure.name() + ".svg"), figure.svg());
      System.out.printf("%s: %d x %d%n", figure.name(), figure.width(), figure.height());
    }
    try {
      chart.lines("wrong", "bytes", "crit_ns", "");
    } catch (IllegalArgumentException e) {
      System.out.println(e.getMessage());
    }
  }

  private static Map<String, String> row(
      Machine machine, int elements, String over, DpPolicy policy) {
    try (Torch torch = Torch.open(machine, TorchOptions.DEFAULT)) {
      Tensor x = torch.full(Shape.of(64, elements / 64), DType.F16, 1.5, policy, "x");
      Launch launch = torch.launch("twice", tl -> tl.store(x, tl.load(x).mul(2)), x);
      torch.await(launch);
      Map<String, String> row = new LinkedHashMap<>();
      row.put("machine", "tiny");
      row.put("dtype", "f16");
      row.put("bytes", "" + elements * DType.F16.sizeBytes());
      row.put("rows_over", over);
      row.put("crit_ns", String.format(Locale.ROOT, "%s", launch.criticalPs() / 1e3));
      return row;
    }
  }

  private static String text(Map<String, String> row) {
    List<String> cells = new ArrayList<>();
    row.forEach((column, value) -> cells.add(column + "=" + value));
    return String.join("  ", cells);
  }
}
