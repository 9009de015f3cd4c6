package org.kernbench.eval.measured;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import org.kernbench.eval.figures.Figure;
import org.kernbench.eval.figures.Plots;
import org.kernbench.eval.output.OutputException;
import org.kernbench.eval.output.WholeFile;

/**
 * A {@link Validation} as files: the rows as JSON, simulated over measured times as a figure, their
 * ratio as another, and a section of a document that shows them.
 */
public final class ValidationFolder {
  private static final int WORST = 5;
  private static final double OFF = 1.15;

  private ValidationFolder() {}

  /** Writes rows, a section in Markdown and two figures, all with the table's name. */
  public static void write(Validation v, Path directory) {
    String name = name(v);
    Map<String, WholeFile.Content> files = new LinkedHashMap<>();
    put(files, name + ".json", ValidationReport.json(v));
    put(files, name + ".md", section(v, name));
    put(files, name + "-scatter.svg", scatter(v).svg());
    put(files, name + "-ratio.svg", ratio(v).svg());
    make(directory);
    WholeFile.writeAll(directory, files);
  }

  /**
   * Makes the folder.
   *
   * @throws OutputException if that cannot be
   */
  public static void make(Path directory) {
    try {
      Files.createDirectories(directory);
    } catch (IOException e) {
      throw new OutputException(
          "--out " + directory + ": cannot be made; name a folder that you can write");
    }
  }

  /** The name of a table, without folder and ending. */
  public static String name(String table) {
    return String.valueOf(Path.of(table).getFileName()).replaceFirst("\\.[^.]*$", "");
  }

  private static void put(Map<String, WholeFile.Content> files, String name, String text) {
    files.put(name, out -> out.write(text.getBytes(StandardCharsets.UTF_8)));
  }

  private static String name(Validation v) {
    return name(v.file().file());
  }

  private static double[] of(Validation v, ToDoubleFunction<Validation.Compared> value) {
    return v.rows().stream().mapToDouble(value).toArray();
  }

  private static double measured(Validation.Compared c) {
    return c.row().ps() / 1e6;
  }

  private static Plots.Curve line(String label, Validation v, double factor, boolean ratio) {
    double low = Double.MAX_VALUE;
    double high = 0;
    for (Validation.Compared c : v.rows()) {
      low = Math.min(low, measured(c));
      high = Math.max(high, measured(c));
    }
    double[] y = ratio ? new double[] {factor, factor} : new double[] {low * factor, high * factor};
    return new Plots.Curve(label, Plots.Style.BOUND, new double[] {low, high}, y);
  }

  private static String caption(Validation v) {
    return String.format(
        Locale.ROOT,
        "%s on %s, %d rows, mean error %.1f %%",
        name(v),
        v.machine(),
        v.rows().size(),
        100 * v.meanError());
  }

  /** Simulated over measured times. */
  static Figure scatter(Validation v) {
    return Plots.logLog(
        name(v) + "-scatter",
        new Plots.Words("Simulated beside measured", caption(v), "measured, us", "simulated, us"),
        Plots::plain,
        List.of(
            line("equal", v, 1, false),
            new Plots.Curve(
                "rows",
                Plots.Style.POINTS,
                of(v, ValidationFolder::measured),
                of(v, c -> c.simulated().ps(c.row()) / 1e6))),
        List.of());
  }

  /** The ratio of the two over measured time. */
  static Figure ratio(Validation v) {
    return Plots.logLog(
        name(v) + "-ratio",
        new Plots.Words(
            "Simulated over measured", caption(v), "measured, us", "simulated / measured"),
        Plots::plain,
        List.of(
            line("1.15", v, OFF, true),
            line("1", v, 1, true),
            line("0.87", v, 1 / OFF, true),
            new Plots.Curve(
                "rows",
                Plots.Style.POINTS,
                of(v, ValidationFolder::measured),
                of(v, c -> c.error() + 1))),
        List.of());
  }

  private static String section(Validation v, String path) {
    StringBuilder out = new StringBuilder();
    line(out, "## %s on %s", name(v), v.machine());
    line(out, "");
    line(
        out,
        "%d rows (sha256 %s): mean error **%.1f %%**, bias %+.1f %%, mean |ln| %.4f.",
        v.rows().size(),
        v.file().hash(),
        100 * v.meanError(),
        100 * v.bias(),
        v.meanLogRatio());
    line(out, "");
    line(out, "![simulated beside measured](%s-scatter.svg)", path);
    line(out, "![simulated over measured](%s-ratio.svg)", path);
    line(out, "");
    line(
        out,
        """
        | worst rows | measured us | simulated us | of it the kernel | error | what the \
        simulated time went into |\
        """);
    line(out, "| --- | --: | --: | --: | --: | --- |");
    for (Validation.Compared c : v.worst(WORST)) {
      line(
          out,
          "| %s | %s | %s | %s | %s | %s |",
          c.row().shown(),
          ValidationReport.us(c.row().ps()),
          ValidationReport.us(c.simulated().ps(c.row())),
          ValidationReport.us(c.simulated().kernelPs()),
          ValidationReport.percent(c.error()),
          c.simulated().why());
    }
    return out.append('\n').toString();
  }

  private static void line(StringBuilder out, String format, Object... arguments) {
    out.append(String.format(Locale.ROOT, format, arguments)).append('\n');
  }
}
