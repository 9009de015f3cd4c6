package org.kernbench.eval;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * One HTML page about a folder that {@code run --out} or {@code sweep} wrote: conditions, results
 * with bound and cause, timeline, links, curves, figures. The page holds everything that it shows
 * and asks nothing of a network.
 */
public final class Report {
  private static final String RUN = "report.json";
  private static final String SWEEP = "results.json";
  private static final String NOTHING = "null";

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
    String run = text(directory.resolve(RUN));
    String sweep = text(directory.resolve(SWEEP));
    if (run.equals(NOTHING) && sweep.equals(NOTHING)) {
      throw new UsageException(
          directory
              + (Files.isDirectory(directory)
                  ? ": holds neither " + RUN + " nor " + SWEEP
                  : Files.exists(directory) ? ": is a file" : ": no such directory")
              + "; expected a folder that run --out DIR or sweep --out DIR wrote");
    }
    String html =
        resource("report.html")
            .replace("/*STYLE*/", resource("uPlot.min.css") + resource("report.css"))
            .replace("<!--FIGURES-->", figures(directory))
            .replace("/*RUN*/null", inScript(run))
            .replace("/*SWEEP*/null", inScript(sweep))
            .replace("/*LIBRARY*/", resource("uPlot.iife.min.js"))
            .replace("/*SCRIPT*/", resource("report.js"));
    return WholeFile.write(page, out -> out.write(html.getBytes(StandardCharsets.UTF_8)));
  }

  /** JSON inside a script element: nothing in it may end the element. */
  private static String inScript(String json) {
    return json.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029");
  }

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
      int begin = svg.indexOf("<svg");
      if (begin >= 0) {
        String name = String.valueOf(file.getFileName()).replace(".svg", "");
        html.append("<figure>")
            .append(svg.substring(begin).replace("id=\"", "id=\"" + name + "-"))
            .append("</figure>\n");
      }
    }
    return html.toString();
  }

  private static String text(Path file) {
    try {
      return Files.isRegularFile(file) ? Files.readString(file) : NOTHING;
    } catch (IOException e) {
      throw new UsageException(file + ": cannot be read (" + WholeFile.reason(e) + ")");
    }
  }

  private static String resource(String name) {
    try (InputStream in = Report.class.getResourceAsStream("/report/" + name)) {
      if (in == null) {
        throw new AssertionError(name + " is not packed with the program");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
