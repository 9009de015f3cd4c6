package org.kernbench.eval.benches;

import de.siegmar.fastcsv.reader.CommentStrategy;
import de.siegmar.fastcsv.reader.CsvReader;
import de.siegmar.fastcsv.reader.NamedCsvRecord;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Numbers of others that figures show beside ours, from a data file that says for each where it was
 * read and how far to trust it. None is a target.
 */
public final class References {
  /**
   * One number.
   *
   * @param what the label
   * @param bytesPerRank the size it holds for
   * @param valueUs microseconds
   * @param source where it was read
   * @param status how far to trust it
   */
  public record Reference(
      String what, long bytesPerRank, double valueUs, String source, String status) {}

  private References() {}

  /** All numbers of a file under {@code references/}, by id. */
  public static Map<String, Reference> of(String file) {
    String name = "/references/" + file;
    Map<String, Reference> all = new LinkedHashMap<>();
    try (InputStream in = References.class.getResourceAsStream(name)) {
      if (in == null) {
        throw new AssertionError(name + " is not packed with the program");
      }
      try (CsvReader<NamedCsvRecord> csv =
          CsvReader.builder()
              .commentStrategy(CommentStrategy.SKIP)
              .ofNamedCsvRecord(new InputStreamReader(in, StandardCharsets.UTF_8))) {
        for (NamedCsvRecord r : csv) {
          all.put(
              r.getField("id"),
              new Reference(
                  r.getField("what"),
                  Long.parseLong(r.getField("bytes_per_rank")),
                  Double.parseDouble(r.getField("value_us")),
                  r.getField("source"),
                  r.getField("status")));
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return all;
  }
}
