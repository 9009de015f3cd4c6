package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.sql.DriverManager;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The page of a report holds its data, whole and well-formed, and asks nothing of a network. How it
 * looks and that a browser has no complaint is for {@link PagesInBrowserTest}.
 */
final class ReportTest {
  @TempDir private Path directory;

  private String page(String folder) throws IOException {
    Session report = Session.of("report", directory.resolve(folder).toString());
    assertThat(report.exitCode()).as(report.err()).isZero();
    assertThat(report.out()).startsWith("wrote ").contains("report.html (");
    return Files.readString(directory.resolve(folder).resolve("report.html"));
  }

  /** The text of a data element, which no browser runs. */
  private static String data(String page, String id) {
    Matcher m =
        Pattern.compile("<script type=\"application/json\" id=\"" + id + "\">([^<]*)</script>")
            .matcher(page);
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
  void page_ofARunAndASweepInOneFolder_isRefused() throws IOException {
    String folder = directory.resolve("both").toString();
    Session sweep =
        Session.of("sweep", "hello-send", "--vary", "set:ipcq.slots=4,8", "--out", folder);
    assertThat(sweep.exitCode()).as(sweep.err()).isZero();
    assertThat(Session.of("report", folder, "--quiet").out()).isEmpty();
    String page = Files.readString(directory.resolve("both/report.html"));
    assertThat(Session.of("run", "hello-send", "--out", folder).exitCode()).isZero();

    Session report = Session.of("report", folder);

    assertThat(report.exitCode()).isEqualTo(2);
    assertThat(report.err())
        .contains(
            "both: holds a run (report.json) and a sweep (results.json), and a page shows one");
    assertThat(Files.readString(directory.resolve("both/report.html"))).isEqualTo(page);
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
    String data = data(page, "run");

    assertThat(data(page, "sweep")).isEqualTo("null");
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
    // the sentences of the command line, and what the numbers of the machine are worth
    assertThat(run.out()).contains(json(data, "@ ->> '$.why[0]'"));
    assertThat(json(data, "json_array_length(@, '$.sensitivities') > 0")).isEqualTo("1");
    // links inside a cube join nodes of its drawing
    String beyond =
        "(SELECT count(*) FROM json_each(@, '$.cube_inside.links') WHERE max(value ->> 0, value ->>"
            + " 1) >= json_array_length(@, '$.cube_inside.nodes'))";
    assertThat(json(data, beyond)).isEqualTo("0");
    assertThat(json(data, "json_array_length(@, '$.cube_inside.links') > 0")).isEqualTo("1");
  }

  /**
   * Lines take colours and dashes by turns, causes colours with and without hatching, engines light
   * colours: so no two entries of a legend are alike if no two of these are. A browser checks the
   * legends themselves ({@link PagesInBrowserTest}).
   */
  @Test
  void looksOfLegends_areAllDifferent() throws Exception {
    Files.writeString(directory.resolve("results.json"), "{}\n");
    String page = page("");
    List<String> colours =
        new ArrayList<>(found(page, "const COLOURS = \\[(.*?)];", "#[0-9a-f]{6}"));
    List<String> dashes = found(page, "const DASHES = \\[(.*?)];", "\\[[0-9, ]*]");

    assertThat(colours).hasSize(8);
    colours.addAll(found(page, "const LIGHT = \\[(.*?)];", "#[0-9a-f]{6}"));

    assertThat(dashes).hasSizeGreaterThan(3).doesNotHaveDuplicates();
    for (int i = 0; i < colours.size(); i++) {
      for (int j = 0; j < i; j++) {
        int a = Integer.parseInt(colours.get(i).substring(1), 16);
        int b = Integer.parseInt(colours.get(j).substring(1), 16);
        int apart = 0;
        for (int shift = 0; shift < 24; shift += 8) {
          apart += Math.abs((a >> shift & 255) - (b >> shift & 255));
        }
        assertThat(apart).as(colours.get(i) + " and " + colours.get(j)).isGreaterThan(24);
      }
    }
  }

  private static List<String> found(String page, String where, String what) {
    Matcher list = Pattern.compile(where).matcher(page);
    assertThat(list.find()).isTrue();
    return Pattern.compile(what).matcher(list.group(1)).results().map(r -> r.group()).toList();
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
        .doesNotContain("{{");
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

    String data = data(page("sweep"), "sweep");

    assertThat(json(data, "json_array_length(@, '$.rows')")).isEqualTo("3");
  }

  @Test
  void text_thatWouldEndTheScript_isHarmless() throws Exception {
    Files.writeString(
        directory.resolve("results.json"), "{\"bench\": \"</script><b>\", \"rows\": []}\n");

    assertThat(page("")).doesNotContain("</script><b>").contains("\\u003c/script>");
  }

  // ---- data is data ----

  @ParameterizedTest
  @ValueSource(strings = {"(alert(1),{})", "[1]", "null;alert(1)", "{\"a\": }", "{}{}", ""})
  void json_thatIsNone_isRefused(String text) throws IOException {
    Files.writeString(directory.resolve("report.json"), text);

    Session report = Session.of("report", directory.toString());

    assertThat(report.exitCode()).isEqualTo(2);
    assertThat(report.err()).contains("report.json: is no JSON object");
    assertThat(directory.resolve("report.html")).doesNotExist();
  }

  @Test
  void texts_thatNameAPlaceOfThePage_stayAsTheyAre() throws IOException {
    String odd = "/*SCRIPT*/ {{SCRIPT}} {{FIGURES}} $0 <!--FIGURES-->";
    Files.writeString(directory.resolve("results.json"), "{\"bench\": \"" + odd + "\"}\n");

    assertThat(data(page(""), "sweep")).contains(odd.replace("<", "\\u003c"));
  }

  @Test
  void figure_withAScript_isAPictureInWhichNothingRuns() throws IOException {
    Files.writeString(directory.resolve("results.json"), "{}\n");
    Files.writeString(
        directory.resolve("a\"onload=\"x.svg"),
        "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>");

    String page = page("");

    assertThat(page).doesNotContain("alert(1)").doesNotContain("<svg").doesNotContain("\"onload");
    assertThat(page).contains("src=\"data:image/svg+xml;base64,");
  }

  /** The policy is computed over again, from the page as a browser sees it. */
  @Test
  void policy_allowsTheScriptsOfThePageByTheirHashesAndNoOthers() throws Exception {
    Files.writeString(directory.resolve("results.json"), "{}\n");

    String page = page("");

    Matcher policy =
        Pattern.compile("Content-Security-Policy\" content=\"([^\"]*)\"").matcher(page);
    assertThat(policy.find()).isTrue();
    assertThat(policy.group(1)).doesNotContain("unsafe");
    Matcher element = Pattern.compile("(?s)<(script|style)>(.*?)</(script|style)>").matcher(page);
    int found = 0;
    while (element.find()) {
      byte[] hash =
          MessageDigest.getInstance("SHA-256")
              .digest(element.group(2).getBytes(StandardCharsets.UTF_8));
      assertThat(policy.group(1)).contains(Base64.getEncoder().encodeToString(hash));
      found++;
    }
    assertThat(found).isEqualTo(3);
    assertThat(policy.group(1).split("sha256-")).hasSize(1 + found);
  }
}
