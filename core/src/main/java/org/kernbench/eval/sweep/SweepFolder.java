package org.kernbench.eval.sweep;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.config.UsageException;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.output.OutputException;
import org.kernbench.eval.output.Parquet;
import org.kernbench.eval.output.WholeFile;
import org.kernbench.eval.report.ResultCsv;
import org.kernbench.eval.report.RunFolder;

/**
 * The folder of sweeps: {@code results.sqlite} with every row of every sweep that was written here,
 * {@code results.csv}, {@code results.json} and {@code results.parquet} with the rows of the last
 * one, in the order of its grid. No file says when or where it was made: the same sweep gives the
 * same bytes.
 */
public final class SweepFolder {
  private final RunFolder folder;

  private SweepFolder(RunFolder folder) {
    this.folder = folder;
  }

  /**
   * Makes the folder.
   *
   * @throws UsageException if it cannot be made or written
   */
  public static SweepFolder create(Path directory) {
    return new SweepFolder(RunFolder.create(directory));
  }

  /**
   * The rows of a sweep, and both files as text.
   *
   * @param warnings axes that change more than they say, one line each
   */
  public record Texts(
      List<Map<String, Object>> rows, String csv, String json, List<String> warnings) {}

  /** The store's file. */
  public Path store() {
    return folder.directory().resolve("results.sqlite");
  }

  /** The table. */
  public Path csv() {
    return folder.directory().resolve("results.csv");
  }

  /** The table as JSON. */
  public Path json() {
    return folder.directory().resolve("results.json");
  }

  /** Opens the store. */
  public ResultStore open() {
    return ResultStore.open(store());
  }

  /**
   * Writes the rows that the store has of a sweep: as CSV, as JSON, and as Parquet.
   *
   * @throws OutputException if a file cannot be written; files written before are whole
   */
  public Texts write(Sweep sweep, ResultStore store) {
    List<Map<String, Object>> rows = store.rows(sweep.id());
    List<String> warnings = SweepWarnings.of(sweep, rows);
    String json = json(sweep, rows, warnings);
    Texts texts = new Texts(rows, ResultCsv.table(rows), json, warnings);
    folder.write("results.csv", out -> out.write(texts.csv()));
    folder.write("results.json", out -> out.write(texts.json()));
    byte[] table = Parquet.write(rows);
    WholeFile.write(folder.directory().resolve("results.parquet"), out -> out.write(table));
    return texts;
  }

  private static String json(Sweep sweep, List<Map<String, Object>> rows, List<String> warnings) {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("schema", ResultStore.SCHEMA);
    json.put("kernbench", sweep.version());
    json.put("bench", sweep.bench().name());
    json.put("sweep", sweep.id());
    Map<String, Object> axes = new LinkedHashMap<>();
    sweep.axes().forEach(axis -> axes.put(axis.name(), axis.values()));
    json.put("axes", axes);
    json.put("points", sweep.size());
    if (!warnings.isEmpty()) {
      json.put("warnings", warnings);
    }
    json.put("rows", new ArrayList<>(rows));
    return Json.write(json);
  }
}
