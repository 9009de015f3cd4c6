package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The page of a report holds its data, whole and well-formed, and asks nothing of a network. How it
 * looks and that a browser has no complaint is checked by {@code scripts/check-report.mjs}.
 */
final class ReportTest {
  @TempDir private Path directory;

  private String page(String folder) throws IOException {
    Session report = Session.of("report", directory.resolve(folder).toString());
    assertThat(report.exitCode()).as(report.err()).isZero();
    assertThat(report.out()).startsWith("wrote ").contains("report.html (");
    return Files.readString(directory.resolve(folder).resolve("report.html"));
  }

  private static String constant(String page, String name) {
    Matcher m =
        Pattern.compile("(?s)\nconst " + name + " = (.*?);\n(const|'use strict')").matcher(page);
    assertThat(m.find()).isTrue();
    return m.group(1);
  }

  private static String json(String text, String query) throws Exception {
    try (var sqlite = DriverManager.getConnection("jdbc:sqlite::memory:");
        var statement = sqlite.prepareStatement("SELECT " + query.replace("@", "?1"))) {
      statement.setString(1, text);
      try (var row = statement.executeQuery()) {
        return row.getString(1);
      }
    }
  }

  @Test
  void page_ofARun_holdsPathTracksAndLinks() throws Exception {
    Session run =
        Session.of(
            "run",
            "ccl-allreduce",
            "--topology",
            "tiny",
            "--param",
            "algorithm=mesh",
            "--out",
            directory.resolve("run").toString());
    assertThat(run.exitCode()).as(run.err()).isZero();

    String page = page("run");
    String data = constant(page, "RUN");

    assertThat(constant(page, "SWEEP")).isEqualTo("null");
    assertThat(json(data, "json_valid(@)")).isEqualTo("1");
    assertThat(json(data, "@ ->> '$.status'")).isEqualTo("ok");
    String crit = json(data, "@ ->> '$.metrics.crit_ns'");
    String path =
        "(SELECT sum((value ->> 1) - (value ->> 0)) / 1000.0 FROM json_each(@, '$.path'))";
    assertThat(json(data, path)).isEqualTo(crit);
    double shares =
        Double.parseDouble(
            json(data, "(SELECT sum(value ->> 2) FROM json_each(@, '$.breakdown'))"));
    assertThat(shares).isCloseTo(1, org.assertj.core.api.Assertions.offset(0.001)); // four digits
    long operations = Files.readAllLines(directory.resolve("run/oplog.csv")).size() - 1;
    String slices = "(SELECT sum(json_array_length(value, '$[1]')) FROM json_each(@, '$.tracks'))";
    assertThat(json(data, slices)).isEqualTo(Long.toString(operations));
    assertThat(json(data, "json_array_length(@, '$.busiest_links') > 0")).isEqualTo("1");
    assertThat(json(data, "json_array_length(@, '$.links_over_time.hbm_port')")).isEqualTo("80");
    assertThat(json(data, "json_array_length(@, '$.engines_over_time.MATH')")).isEqualTo("80");
    // links inside a cube join nodes of its drawing
    String beyond =
        "(SELECT count(*) FROM json_each(@, '$.cube_inside.links') WHERE max(value ->> 0, value ->>"
            + " 1) >= json_array_length(@, '$.cube_inside.nodes'))";
    assertThat(json(data, beyond)).isEqualTo("0");
    assertThat(json(data, "json_array_length(@, '$.cube_inside.links') > 0")).isEqualTo("1");
  }

  @Test
  void page_asksNothingOfANetwork() throws Exception {
    assertThat(
            Session.of(
                    "run",
                    "hello-send",
                    "--topology",
                    "tiny",
                    "--out",
                    directory.resolve("run").toString())
                .exitCode())
        .isZero();

    assertThat(page("run"))
        .contains("default-src 'none'")
        .doesNotContainPattern("(src|href)=\"(?!data:)")
        .doesNotContain("@import")
        .doesNotContain("fetch(")
        .doesNotContain("/*RUN*/", "/*SWEEP*/", "/*STYLE*/", "/*SCRIPT*/", "/*LIBRARY*/");
  }

  @Test
  void page_ofASweep_holdsItsRows() throws Exception {
    Session sweep =
        Session.of(
            "sweep",
            "hello-send",
            "--topology",
            "tiny",
            "--vary",
            "n_elem=1,10,100",
            "--jobs",
            "1",
            "--out",
            directory.resolve("sweep").toString());
    assertThat(sweep.exitCode()).as(sweep.err()).isZero();

    String data = constant(page("sweep"), "SWEEP");

    assertThat(json(data, "json_array_length(@, '$.rows')")).isEqualTo("3");
  }

  @Test
  void text_thatWouldEndTheScript_isHarmless() throws Exception {
    Files.writeString(
        directory.resolve("results.json"), "{\"bench\": \"</script><b>\", \"rows\": []}\n");

    assertThat(page("")).doesNotContain("</script><b>").contains("\\u003c/script>");
  }
}
