import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.eval.figures.Chart;

/** Draws the rows of {@code scripts/costs}: processor time and memory over each curve's axis. */
final class CostFigures {
  public static void main(String[] args) throws IOException {
    List<String> lines = Files.readAllLines(Path.of(args[0]));
    String[] columns = lines.getFirst().split(",");
    for (String curve : List.of("ranks", "layers", "microbatches", "replicas")) {
      List<Map<String, String>> rows = new ArrayList<>();
      for (String line : lines.subList(1, lines.size())) {
        String[] values = line.split(",");
        if (values[0].equals(curve)) {
          Map<String, String> row = new LinkedHashMap<>();
          for (int c = 1; c < columns.length; c++) {
            row.put(columns[c].equals("x") ? curve : columns[c], values[c]);
          }
          rows.add(row);
        }
      }
      if (rows.isEmpty()) {
        continue; // measured another time
      }
      for (String cost : List.of("cpu_s", "memory_mb")) {
        String name = "costs-" + curve + "-" + (cost.startsWith("cpu") ? "cpu" : "memory");
        String title = cost.startsWith("cpu") ? "Processor time" : "Memory";
        Path file = Path.of(args[1], name + ".svg");
        Files.writeString(
            file,
            Chart.of(title + " by " + curve, rows).lines(name, curve, cost, "simulated").svg());
        System.out.println(file);
      }
    }
  }
}
