package org.kernbench.site;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Pages of short texts, against what they should be. */
final class MarkdownTest {
  private final Markdown markdown = new Markdown(Path.of("nowhere"));

  private String html(String file, String text) {
    return markdown.page(file, text).html();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "docs/a.md | b.md | b.html",
        "docs/a.md | b.md#c | b.html#c",
        "docs/a.md | #c | #c",
        "docs/a.md | ../README.md | ../index.html",
        "README.md | docs/a.md | docs/a.html",
        "docs/adr/0001-x.md | ../spec/README.md | ../spec/README.html",
        "docs/a.md | figures/x.svg | figures/x.svg",
        "docs/a.md | https://example.org/x | https://example.org/x",
      })
  void link_leadsToThePage(String file, String link, String expected) {
    assertThat(html(file, "# A\n\n[b](" + link + ")\n")).contains("href=\"" + expected + "\"");
  }

  /** Names of headings as GitHub gives them; the second of two alike gets a number. */
  @Test
  void headings_haveTheNamesThatLinksUse() {
    Page page = markdown.page("a.md", "# A `b.c`: d\n\n## Once\n\none\n\n## Once\n\n### 1. é, x\n");

    assertThat(page.html())
        .contains(
            "<h1 id=\"a-bc-d\">", "<h2 id=\"once\">", "<h2 id=\"once-1\">", "<h3 id=\"1-é-x\">");
    assertThat(page.title()).isEqualTo("A b.c: d");
    assertThat(page.sections()).contains(new Section("Once", "once", "one")).hasSize(4);
  }

  @Test
  void block_thatIsAFile_hasItsName() {
    assertThat(html("a.md", "# A\n\n```yaml my.yaml\na: <b>\n```\n"))
        .contains("<figcaption>my.yaml</figcaption>", "a: &lt;b&gt;");
    assertThat(html("a.md", "# A\n\n```sh not run: takes long\nx\n```\n"))
        .doesNotContain("figcaption", "takes long");
  }

  @Test
  void table_isInABoxThatMoves() {
    assertThat(html("a.md", "# A\n\n| k | n |\n| --- | --: |\n| `a` | 1 |\n"))
        .contains("<div class=\"table\"><table>", "<th scope=\"col\">k</th>")
        .contains("<td align=\"right\">1</td>");
  }

  /** What a bench says of itself is text, whatever is in it. */
  @Test
  void machineKeys_ofAGuide_areSortedAndLinked() {
    String page =
        Reference.machineKeys(
            "# T\n\n## Two words\n\n| key | type | value | meaning |\n| --- | --- | --- | --- |\n"
                + "| `b.c` | number | 2 | x |\n| `a.b` | text | y | z |\n\n## No keys\n\n| `n.o` | 1 | 2 | 3 |\n");

    assertThat(page)
        .contains("| `a.b` | text | y | [Two words](../docs/machine-guide.md#two-words) |")
        .doesNotContain("n.o");
    assertThat(page.indexOf("a.b")).isLessThan(page.indexOf("b.c"));
  }
}
