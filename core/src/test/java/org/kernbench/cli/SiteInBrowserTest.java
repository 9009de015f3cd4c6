package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * What {@code scripts/site} makes, in a browser, from a folder: every page at 1280 and 400 pixels
 * without a complaint, a request to a network or a page wider than its window; the search by
 * keyboard alone. Skipped where no Chromium is installed. {@code -Dkernbench.rewrite=true} renews
 * the pictures of {@code docs/figures}.
 */
@Tag("slow")
@Timeout(value = 30, unit = TimeUnit.MINUTES)
final class SiteInBrowserTest {
  private static final Path ROOT = Path.of(System.getProperty("basedir", "."), "..").normalize();

  @TempDir private Path directory;

  private Path site() throws Exception {
    Path site = directory.resolve("site");
    Process process =
        new ProcessBuilder(
                ROOT.resolve("scripts/site").toAbsolutePath() + "", "--no-javadoc", site + "")
            .redirectErrorStream(true)
            .start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(said).isZero();
    return site;
  }

  private static void checkAsShown(Chromium browser, String page) throws Exception {
    assertThat(browser.complaints()).as(page).isEmpty();
    assertThat(browser.requests()).as(page).allMatch(r -> r.matches("(file|data):.*"));
    assertThat(browser.run("document.documentElement.scrollWidth - innerWidth"))
        .as(page + " is wider than its window by")
        .isEqualTo("0");
    assertThat(
            browser.run("[...document.images].filter(i => i.complete && !i.naturalWidth).length"))
        .as(page + ": pictures that are not there")
        .isEqualTo("0");
  }

  @Test
  void everyPage_inTwoWidths_andTheSearchByKeyboard() throws Exception {
    boolean there = Chromium.installed().isPresent();
    if (!there) {
      System.out.println("SiteInBrowserTest: skipped, no Chromium here");
    }
    Assumptions.assumeTrue(there);
    Path site = site();
    List<Path> pages;
    try (Stream<Path> walk = Files.walk(site)) {
      pages = walk.filter(f -> f.toString().endsWith(".html")).sorted().toList();
    }
    try (Chromium browser = Chromium.start(directory.resolve("profile"))) {
      for (int width : new int[] {1280, 400}) {
        for (Path page : pages) {
          browser.open(page.toUri().toString(), width);
          checkAsShown(browser, width + ": " + site.relativize(page));
        }
      }
      search(browser, site);
      narrow(browser, site);
      keep(browser, site);
    }
  }

  /** From any page: a slash, words, an arrow, Enter. */
  private static void search(Chromium browser, Path site) throws Exception {
    browser.open(site.resolve("docs/adr/README.html").toUri().toString(), 1280);
    browser.press("/");
    assertThat(browser.run("document.activeElement.id")).isEqualTo("search");
    assertThat(type(browser, "two nodes gpus")).startsWith("Cookbook › Describe two nodes");
    browser.press("ArrowDown");
    assertThat(browser.run("document.querySelector('[aria-selected=true]').id"))
        .isEqualTo("found-1")
        .isEqualTo(browser.run("document.activeElement.getAttribute('aria-activedescendant')"));
    browser.press("ArrowUp");
    browser.press("Enter");
    browser.run("new Promise(done => setTimeout(done, 500)).then(() => '')");
    assertThat(browser.run("location.pathname + location.hash"))
        .endsWith("docs/cookbook.html#describe-two-nodes-of-eight-gpus");
    browser.press("/");
    assertThat(type(browser, "system.sips.wrap_pairs")).contains("›");
    assertThat(type(browser, "no such word anywhere")).isEqualTo("No page has all of these words.");
    browser.press("Escape");
    assertThat(browser.run("document.getElementById('found').hidden")).isEqualTo("true");
    assertThat(browser.complaints()).isEmpty();
  }

  /** Types into the search and waits for what is found first. */
  private static String type(Chromium browser, String words) throws Exception {
    browser.run(
        "(() => { const box = document.getElementById('search'); box.value = '"
            + words
            + "'; box.dispatchEvent(new Event('input')); return ''; })()");
    String found = "document.querySelector('#found b, #found .none')?.textContent ?? ''";
    for (int i = 0; i < 50 && browser.run(found).isEmpty(); i++) {
      Thread.sleep(100);
    }
    return browser.run(found);
  }

  private static void narrow(Chromium browser, Path site) throws Exception {
    browser.open(site.resolve("index.html").toUri().toString(), 400);
    String shown = "getComputedStyle(document.getElementById('navigation')).display";
    assertThat(browser.run(shown)).isEqualTo("none");
    browser.run("(() => { document.getElementById('menu').focus(); return ''; })()");
    browser.press("Enter");
    assertThat(browser.run(shown)).isEqualTo("block");
    assertThat(browser.run("document.getElementById('menu').getAttribute('aria-expanded')"))
        .isEqualTo("true");
  }

  private static void keep(Chromium browser, Path site) throws Exception {
    for (int width : new int[] {1280, 400}) {
      browser.open(site.resolve("docs/machine-guide.html").toUri().toString(), width);
      byte[] picture = browser.picture(width, 1400);
      if (Boolean.getBoolean("kernbench.rewrite")) {
        Files.write(ROOT.resolve("docs/figures/site-" + width + ".png"), picture);
      }
    }
  }
}
