package org.kernbench.eval.measured;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.kernbench.eval.output.OutputException;

/**
 * The rows simulated so far, in a file that grows by a line with each: what a validation that was
 * stopped goes on from. A line that was cut off by the stop is not read.
 */
public final class RowJournal {
  private static final String BETWEEN = "\t";
  private static final int FIELDS = 4;

  private final Path file;
  private final Map<String, RowSimulator.Simulated> known = new ConcurrentHashMap<>();

  private RowJournal(Path file) {
    this.file = file;
  }

  /**
   * Opens one.
   *
   * @param goesOn whether rows that are there count, if they were simulated with the same; else
   *     they are given up
   * @param with all that decides what comes of a row beside the row itself: program, machine,
   *     collectives
   * @throws OutputException if the file cannot be written
   */
  public static RowJournal open(Path file, boolean goesOn, String with) {
    RowJournal journal = new RowJournal(file);
    try {
      String text = goesOn && Files.exists(file) ? Files.readString(file) : "";
      String head = with + "\n";
      Files.writeString(file, text.startsWith(head) ? journal.read(text) : head);
    } catch (IOException e) {
      throw new OutputException(file + ": cannot be used; name a folder that you can write");
    }
    return journal;
  }

  /** The whole lines of a journal, which are known from now on. */
  private String read(String text) {
    StringBuilder whole = new StringBuilder();
    for (String line : text.split("(?<=\n)")) {
      String[] fields = line.strip().split(BETWEEN, -1);
      boolean head = whole.isEmpty();
      if (head) {
        whole.append(line);
      } else if (line.endsWith("\n") && fields.length == FIELDS) {
        known.put(
            fields[0],
            new RowSimulator.Simulated(
                Double.parseDouble(fields[1]), Double.parseDouble(fields[2]), fields[3]));
        whole.append(line);
      }
    }
    return whole.toString();
  }

  /** How many rows there are. */
  public int size() {
    return known.size();
  }

  /** The row with a key, simulated and kept if it is not there. */
  RowSimulator.Simulated row(String of, Supplier<RowSimulator.Simulated> by) {
    String key = of.replaceAll("\\s+", " ");
    RowSimulator.Simulated found = known.get(key);
    if (found == null) {
      found = by.get();
      known.put(key, found);
      keep(key, found);
    }
    return found;
  }

  private synchronized void keep(String key, RowSimulator.Simulated s) {
    String line =
        String.join(
            BETWEEN,
            List.of(
                key,
                Double.toString(s.kernelPs()),
                Double.toString(s.observedPs()),
                s.why().replaceAll("\\s+", " ")));
    try {
      Files.write(file, (line + "\n").getBytes(StandardCharsets.UTF_8), StandardOpenOption.APPEND);
    } catch (IOException e) {
      throw new OutputException(file + ": cannot be written; make room and use --resume");
    }
  }
}
