package org.kernbench.eval.report;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.stream.Stream;
import org.kernbench.config.UnreadableException;
import org.kernbench.config.UsageException;
import org.kernbench.config.UserFile;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.output.OutputException;
import org.kernbench.eval.output.WholeFile;

/**
 * One HTML page about a folder that {@code run --out} or {@code sweep} wrote: conditions, results
 * with bound and cause, timeline, links, curves, figures. The page holds everything that it shows
 * and asks nothing of a network.
 *
 * <p>What the folder holds is shown and never executed: JSON stands in elements that no browser
 * runs, figures are pictures, and the page's policy names its own two scripts by their hashes.
 */
public final class Report {
  private static final String RUN = "report.json";
  private static final String SWEEP = "results.json";
  private static final String NOTHING = "null";
  private static final long LONGEST = 256L << 20;

  private Report() {}

  /**
   * Writes the page of a folder.
   *
   * @param directory of a run or a sweep
   * @param page file to write
   * @return size of the page in bytes
   * @throws UsageException if the folder is no such folder
   * @throws OutputException if the page cannot be written
   */
  public static long write(Path directory, Path page) {
    byte[] html = page(directory).getBytes(StandardCharsets.UTF_8);
    return WholeFile.write(page, out -> out.write(html));
  }

  /**
   * The page of a folder.
   *
   * @throws UsageException if the folder is no such folder
   */
  public static String page(Path directory) {
    String run = text(directory.resolve(RUN));
    String sweep = text(directory.resolve(SWEEP));
    if (run.equals(NOTHING) && sweep.equals(NOTHING)) {
      throw new UsageException(
          "%s%s; expected a folder that run --out DIR or sweep --out DIR wrote"
              .formatted(
                  directory,
                  Files.isDirectory(directory)
                      ? ": holds neither " + RUN + " nor " + SWEEP
                      : Files.exists(directory) ? ": is a file" : ": no such directory"));
    }
    if (!run.equals(NOTHING) && !sweep.equals(NOTHING)) {
      throw new UsageException(
          """
          %s: holds a run (%s) and a sweep (%s), and a page shows one of them; expected a folder \
          of one: write the other with --out to a folder of its own, or delete its file\
          """
              .formatted(directory, RUN, SWEEP));
    }
    checkObject(directory.resolve(RUN), run);
    checkObject(directory.resolve(SWEEP), sweep);
    return new Page("report.html")
        .style("uPlot.min.css", "report.css")
        .script("LIBRARY", "library.js", "uPlot.iife.min.js")
        .script("SCRIPT", "words.js", "run.js", "curves.js", "page.js")
        .data("RUN", run)
        .data("SWEEP", sweep)
        .markup("FIGURES", figures(directory))
        .toString();
  }

  private static void checkObject(Path file, String json) {
    if (!json.equals(NOTHING) && !Json.isJsonObject(json)) {
      throw new UsageException(
          file + ": is no JSON object; expected a file that run --out or sweep --out wrote");
    }
  }

  /** As pictures: what an SVG holds beside its drawing, scripts and links, has no effect there. */
  private static String figures(Path directory) {
    List<Path> files = new ArrayList<>();
    try (Stream<Path> all = Files.list(directory)) {
      all.filter(f -> f.toString().endsWith(".svg")).sorted().forEach(files::add);
    } catch (IOException e) {
      throw new UsageException(directory + ": cannot be read");
    }
    StringBuilder html = new StringBuilder();
    for (Path file : files) {
      String svg = text(file);
      if (svg.contains("<svg")) {
        byte[] bytes = svg.getBytes(StandardCharsets.UTF_8);
        html.append("<figure><img alt=\"")
            .append(escaped(String.valueOf(file.getFileName()).replace(".svg", "")))
            .append("\" src=\"data:image/svg+xml;base64,")
            .append(Base64.getEncoder().encodeToString(bytes))
            .append("\"></figure>\n");
      }
    }
    return html.toString();
  }

  private static String escaped(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;");
  }

  private static String text(Path file) {
    if (!Files.isRegularFile(file)) {
      return NOTHING;
    }
    try {
      return UserFile.text(file, LONGEST, "a file that run --out or sweep --out wrote");
    } catch (UnreadableException e) {
      throw new UsageException(file + ": " + e.getMessage());
    }
  }
}
