package org.kernbench.site;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.kernbench.eval.Bench;
import org.kernbench.eval.Param;
import org.kernbench.eval.benches.BenchRegistry;

/** The site of this repository: every link leads somewhere, and nothing asks a network. */
final class SiteTest {
  private static final Path ROOT = Path.of(System.getProperty("basedir", "."), "..").normalize();
  private static final Pattern LINK = Pattern.compile("(?:href|src)=\"([^\"]*)\"");
  private static final Pattern ID = Pattern.compile(" id=\"([^\"]*)\"");

  @TempDir private static Path site;
  private static List<Page> pages;
  private static final Map<String, String> HTML = new TreeMap<>();

  @BeforeAll
  static void make() throws IOException {
    pages = MakeSite.make(ROOT, site);
    try (Stream<Path> walk = Files.walk(site)) {
      for (Path file : walk.filter(f -> f.toString().endsWith(".html")).toList()) {
        HTML.put(site.relativize(file).toString().replace('\\', '/'), Files.readString(file));
      }
    }
  }

  private static List<String> all(Pattern pattern, String text) {
    List<String> found = new ArrayList<>();
    Matcher matcher = pattern.matcher(text);
    while (matcher.find()) {
      found.add(matcher.group(1));
    }
    return found;
  }

  private static boolean isElsewhere(String link) {
    return link.matches("[a-z]+:.*") || link.startsWith("#") && link.length() == 1;
  }

  /** The place a link of a page leads to, from the root on, with its anchor. */
  private static String target(String page, String link) {
    if (link.startsWith("#")) {
      return page + link;
    }
    Path folder = Path.of("/" + page).getParent();
    return folder.resolve(link).normalize().toString().substring(1).replace('\\', '/');
  }

  private static List<String> broken(Map<String, String> pages) {
    List<String> broken = new ArrayList<>();
    pages.forEach((page, html) -> {
      for (String link : all(LINK, html)) {
        if (isElsewhere(link)) {
          continue;
        }
        String[] target = target(page, link).split("#", 2);
        boolean there = Files.isRegularFile(site.resolve(target[0]));
        boolean anchored =
            target.length < 2
                || !target[0].endsWith(".html")
                || all(ID, pages.getOrDefault(target[0], "")).contains(target[1]);
        if (!there || !anchored) {
          broken.add(page + " -> " + link);
        }
      }
    });
    return broken;
  }

  @Test
  void links_ofAllPages_leadToAFileAndAHeading() {
    assertThat(HTML.size()).isGreaterThan(150);
    assertThat(broken(HTML)).isEmpty();
  }

  /** The check sees a link that is wrong. */
  @Test
  void links_thatAreBroken_areFound() {
    Map<String, String> spoilt = new TreeMap<>(HTML);
    spoilt.put("docs/start.html", "<a href=\"cookbook.html#no-such\">a</a><a href=\"gone.html\">");

    assertThat(broken(spoilt))
        .contains("docs/start.html -> cookbook.html#no-such", "docs/start.html -> gone.html");
    assertThatThrownBy(() -> MakeSite.make(spoiltRepository(), site.resolve("spoilt")))
        .hasMessageContaining("docs/gone.csv");
  }

  private static Path spoiltRepository() throws IOException {
    Path root = Files.createDirectory(site.resolve("repository"));
    for (String folder : List.of("docs", "examples")) {
      Files.createDirectory(root.resolve(folder));
    }
    for (String file : List.of("README.md", "CONTRIBUTING.md", "CHANGELOG.md")) {
      Files.writeString(root.resolve(file), "# x\n");
    }
    Files.writeString(root.resolve("docs/machine-guide.md"), "# x\n\n[rows](gone.csv)\n");
    return root;
  }

  /** Nothing is loaded from anywhere but the folder; links for readers may lead out of it. */
  @Test
  void pages_loadNothingFromANetwork() throws IOException {
    Pattern loads =
        Pattern.compile(
            "<(?:script|link|img|iframe|source|video)\\b[^>]*(?:src|href)=\"([^\"]*)\"");
    HTML.forEach((page, html) ->
        assertThat(all(loads, html)).as(page).noneMatch(l -> l.matches("(?:https?:)?//.*")));
    assertThat(Files.readString(site.resolve("site.css"))).doesNotContain("url(", "@import");
    assertThat(Files.readString(site.resolve("site.js")))
        .doesNotContain("fetch(", "XMLHttpRequest", "http:", "https:", "import(");
  }

  @Test
  void pages_areAllReachedFromTheFirst() {
    Set<String> reached = new TreeSet<>(Set.of("index.html"));
    Deque<String> next = new ArrayDeque<>(reached);
    while (!next.isEmpty()) {
      String page = next.pop();
      for (String link : all(LINK, HTML.getOrDefault(page, ""))) {
        String target = isElsewhere(link) ? page : target(page, link).split("#")[0];
        if (HTML.containsKey(target) && reached.add(target)) {
          next.push(target);
        }
      }
    }
    assertThat(HTML.keySet()).isEqualTo(reached);
  }

  @Test
  void search_hasEverySectionOfEveryPage() throws IOException {
    String index = Files.readString(site.resolve("search-index.js"));

    assertThat(pages).allSatisfy(p -> assertThat(index).contains("[\"" + p.path() + "\""));
    assertThat(index)
        .contains("\"Describe two nodes of eight GPUs\",\"describe-two-nodes-of-eight-gpus\"")
        .contains("system.sips.wrap_pairs")
        .doesNotContain("</script");
    assertThat(pages.stream().mapToInt(p -> p.sections().size()).sum()).isGreaterThan(900);
  }

  @Test
  void reference_hasEveryParameterOfEveryBench() {
    String html = HTML.get("reference/benches.html");
    for (Bench bench : BenchRegistry.standard().all()) {
      assertThat(html).contains("id=\"" + bench.name() + "\"");
      for (Param<?> p : bench.params()) {
        assertThat(html).contains("<td><code>" + p.name() + "</code></td>");
      }
    }
  }

  @Test
  void reference_hasEveryCommandThatTheHelpNames() {
    String html = HTML.get("reference/commands.html");

    assertThat(all(Pattern.compile("<h2[^>]*>kernbench ([^<]*)</h2>"), html))
        .contains("run", "sweep", "machine", "machine show", "trace lint", "import astra", "man")
        .hasSizeGreaterThan(25);
  }

  /** Keys as the guide has them, which a test of kernbench compares with the program. */
  @Test
  void reference_hasEveryKeyOfTheMachineGuide() throws IOException {
    String guide = Files.readString(ROOT.resolve("docs/machine-guide.md"));
    List<String> keys = all(Pattern.compile("(?m)^\\| `([a-z_]+(?:\\.[a-z_]+)+)` \\|"), guide);
    String html = HTML.get("reference/machine-keys.html");

    assertThat(keys).hasSizeGreaterThan(80);
    assertThat(keys).allSatisfy(k -> assertThat(html).contains("<code>" + k + "</code>"));
  }

  /** Two Java machines may go through a set in two orders; {@code again} sees one of them. */
  @Test
  void folders_comeInOrder() {
    List<String> folders =
        pages.stream()
            .map(Page::path)
            .filter(path -> path.matches("(docs|examples)/.+/index\\.html"))
            .toList();
    assertThat(folders).hasSizeGreaterThan(3).isSorted();
  }

  @Test
  void again_sameBytes() throws IOException {
    Path again = site.resolve("again");
    MakeSite.make(ROOT, again);
    for (String file : List.of("index.html", "search-index.js", "reference/commands.html")) {
      assertThat(Files.readString(again.resolve(file), StandardCharsets.UTF_8))
          .isEqualTo(Files.readString(site.resolve(file)));
    }
  }
}
