package org.kernbench.eval.report;

import de.siegmar.fastcsv.reader.CsvParseException;
import de.siegmar.fastcsv.reader.CsvReader;
import de.siegmar.fastcsv.reader.NamedCsvRecord;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.kernbench.config.UsageException;
import org.kernbench.eval.Bench;
import org.kernbench.eval.Illustrated;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.figures.Figure;
import org.kernbench.eval.output.WholeFile;

/**
 * The table and the figures of an {@link Illustrated} bench in a folder: {@code summary.csv}, and
 * each figure as PNG and SVG. Figures are drawn from the table as it was written, so drawing them
 * again gives the same bytes.
 */
public final class Artefacts {
  private static final String TABLE = "summary.csv";

  private Artefacts() {}

  /**
   * Writes table and figures of a run; of one without rows, as it failed, the table alone.
   *
   * @return the files, in the order in which they were written
   */
  public static List<Path> write(Illustrated bench, RunResult result, RunFolder folder) {
    folder.write(TABLE, out -> out.write(ResultCsv.write(result)));
    if (result.rows().isEmpty()) {
      return List.of(folder.directory().resolve(TABLE));
    }
    return draw(bench, folder.directory());
  }

  /**
   * Draws the figures of the table that is there.
   *
   * @throws UsageException if there is none, or it is not of this bench
   */
  public static List<Path> draw(Illustrated bench, Path directory) {
    Path table = directory.resolve(TABLE);
    List<Path> files = new ArrayList<>();
    files.add(table);
    for (Figure figure : bench.figures(rows(bench, table))) {
      Path png = directory.resolve(figure.name() + ".png");
      Path svg = directory.resolve(figure.name() + ".svg");
      WholeFile.write(png, out -> out.write(figure.png()));
      WholeFile.write(svg, out -> out.write(figure.svg().getBytes(StandardCharsets.UTF_8)));
      files.add(png);
      files.add(svg);
    }
    return files;
  }

  private static List<Map<String, String>> rows(Bench bench, Path table) {
    List<Map<String, String>> rows = new ArrayList<>();
    try (CsvReader<NamedCsvRecord> csv = CsvReader.builder().ofNamedCsvRecord(table)) {
      for (NamedCsvRecord row : csv) {
        rows.add(row.getFieldsAsMap());
      }
    } catch (IOException | CsvParseException e) {
      throw new UsageException(
          "%s%s; --fast draws from the rows of an earlier run: run without it first"
              .formatted(
                  table, Files.exists(table) ? ": cannot be read as a table" : ": no such file"));
    }
    if (rows.isEmpty() || !bench.name().equals(rows.getFirst().get("bench"))) {
      throw new UsageException(
          table + ": holds no rows of bench " + bench.name() + "; run without --fast first");
    }
    return rows;
  }
}
