package org.kernbench.eval.report;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
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
  private static final Pattern PLACE = Pattern.compile("\\{\\{([A-Z]+)}}");

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
          "%s%s; expected a folder that run --out DIR or sweep --out DIR wrote"
              .formatted(
                  directory,
                  Files.isDirectory(directory)
                      ? ": holds neither " + RUN + " nor " + SWEEP
                      : Files.exists(directory) ? ": is a file" : ": no such directory"));
    }
    checkObject(directory.resolve(RUN), run);
    checkObject(directory.resolve(SWEEP), sweep);
    String style = resource("uPlot.min.css") + resource("report.css");
    String library = resource("library.js") + resource("uPlot.iife.min.js");
    String script =
        resource("words.js") + resource("run.js") + resource("curves.js") + resource("page.js");
    String html =
        filled(
            resource("report.html"),
            Map.of(
                "POLICY", policy(style, library, script),
                "STYLE", style,
                "FIGURES", figures(directory),
                "RUN", inScript(run),
                "SWEEP", inScript(sweep),
                "LIBRARY", library,
                "SCRIPT", script));
    return WholeFile.write(page, out -> out.write(html.getBytes(StandardCharsets.UTF_8)));
  }

  /**
   * The page with its parts, each put in once: a part is never looked through for the place of
   * another.
   */
  private static String filled(String page, Map<String, String> parts) {
    StringBuilder html = new StringBuilder();
    Matcher place = PLACE.matcher(page);
    int from = 0;
    while (place.find()) {
      html.append(page, from, place.start()).append(parts.getOrDefault(place.group(1), ""));
      from = place.end();
    }
    return html.append(page, from, page.length()).toString();
  }

  /** Only this style and these scripts: nothing that a folder holds can run. */
  private static String policy(String style, String... scripts) {
    StringBuilder policy = new StringBuilder("default-src 'none'; base-uri 'none'; ");
    policy.append("form-action 'none'; img-src data:; style-src ").append(source(style));
    policy.append("; script-src");
    for (String script : scripts) {
      policy.append(' ').append(source(script));
    }
    return policy.toString();
  }

  /** The element that holds a text has a line end before and after it. */
  private static String source(String text) {
    byte[] element = ("\n" + text + "\n").getBytes(StandardCharsets.UTF_8);
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(element);
      return "'sha256-" + Base64.getEncoder().encodeToString(digest) + "'";
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java has SHA-256", e);
    }
  }

  private static void checkObject(Path file, String json) {
    if (!json.equals(NOTHING) && !Json.isJsonObject(json)) {
      throw new UsageException(
          file + ": is no JSON object; expected a file that run --out or sweep --out wrote");
    }
  }

  /** JSON inside a script element: nothing in it may end the element. */
  private static String inScript(String json) {
    return json.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029");
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
