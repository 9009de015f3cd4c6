package org.kernbench.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.kernbench.cli.pages.LocalPages;

/**
 * Pages in a browser, 1280 and 400 pixels wide: nothing to complain of, no request to a network, no
 * page wider than its window, legends without two entries alike, and all of it by keyboard. Skipped
 * where no Chromium is installed. {@code -Dkernbench.rewrite=true} renews the pictures of {@code
 * docs/figures}.
 */
@Tag("slow")
final class PagesInBrowserTest {
  private static final Path FIGURES =
      Path.of(System.getProperty("basedir", "."), "../docs/figures");

  @TempDir private Path directory;

  @BeforeEach
  void askForChromium() {
    boolean there = Chromium.installed().isPresent();
    if (!there) {
      System.out.println("PagesInBrowserTest: skipped, no Chromium here");
    }
    Assumptions.assumeTrue(there);
  }

  private void run(String... args) {
    Session session = Session.of(args);
    assertThat(session.exitCode()).as(session.err()).isLessThan(2);
  }

  private String page(String folder) {
    run("report", directory.resolve(folder).toString());
    return directory.resolve(folder).resolve("report.html").toUri().toString();
  }

  private static void keep(Chromium browser, String name, int width, int most) throws Exception {
    byte[] picture = browser.picture(width, most);
    if (Boolean.getBoolean("kernbench.rewrite")) {
      Files.write(FIGURES.resolve(name + "-" + width + ".png"), picture);
    }
  }

  /** What holds for every page, whatever it shows. */
  private static void check(Chromium browser, String page, int width) throws Exception {
    browser.open(page, width);
    assertThat(browser.complaints()).isEmpty();
    assertThat(browser.requests()).isNotEmpty().allMatch(r -> r.equals(page));
    assertThat(browser.run("document.documentElement.scrollWidth - innerWidth")).isEqualTo("0");
    checkLegends(browser);
    assertThat(Integer.parseInt(browser.run("document.querySelectorAll('.entry').length")))
        .isGreaterThan(2);
  }

  /** In one legend each entry has a look of its own; causes and engines share none either. */
  private static void checkLegends(Chromium browser) throws Exception {
    assertThat(
            browser.run(
                "[...document.querySelectorAll('.legend, .legends')].filter(l => { const looks ="
                    + " [...l.querySelectorAll('.entry')].map(e => e.dataset.colour + ' ' +"
                    + " e.dataset.pattern); return new Set(looks).size < looks.length;"
                    + " }).length"))
        .isEqualTo("0");
  }

  @Test
  void reportOfARun() throws Exception {
    run("run", "ccl-allreduce", "--out", directory.resolve("run").toString());
    String page = page("run");
    try (Chromium browser = Chromium.start(directory.resolve("profile"))) {
      for (int width : new int[] {1280, 400}) {
        check(browser, page, width);
        keep(browser, "report", width, 2600);
      }
      // by keyboard alone: to the timeline, and into it
      browser.open(page, 1280);
      for (int i = 0;
          i < 60 && !browser.run("document.activeElement.tagName").equals("CANVAS");
          i++) {
        browser.press("Tab");
      }
      assertThat(browser.run("document.activeElement.tagName")).isEqualTo("CANVAS");
      String before = browser.run("document.activeElement.toDataURL()");
      browser.press("+");
      browser.press("ArrowRight");
      assertThat(browser.run("document.activeElement.toDataURL()")).isNotEqualTo(before);
      assertThat(browser.complaints()).isEmpty();
    }
  }

  @Test
  void reportOfASweep_ofMoreLinesThanColours() throws Exception {
    run(
        "sweep",
        "ccl-allreduce",
        "--topology",
        "tiny",
        "--mode",
        "time",
        "--vary",
        "n_elem=64,256,1024,4096,16384",
        "--vary",
        "algorithm=ring,root_center,mesh,tree",
        "--vary",
        "rank_level=pe,cube",
        "--vary",
        "dtype=f16,f32",
        "--jobs",
        "1",
        "--out",
        directory.resolve("sweep").toString());
    String page = page("sweep");
    try (Chromium browser = Chromium.start(directory.resolve("profile"))) {
      for (int width : new int[] {1280, 400}) {
        check(browser, page, width);
        keep(browser, "sweep-report", width, 2000);
      }
      String types =
          "[...document.querySelectorAll('#curves .entry')].every(e => /f16|f32/"
              + ".test(e.textContent))";
      assertThat(browser.run(types)).as("no line joins sizes of two types").isEqualTo("true");
      String over =
          "(() => { const s = document.querySelector('#curves select'); s.value = 'n_elem';"
              + " s.dispatchEvent(new Event('change')); return ''; })()";
      browser.run(over);
      String lines = "document.querySelectorAll('#curves .entry').length";
      assertThat(Integer.parseInt(browser.run(lines))).isGreaterThan(8);
      checkLegends(browser);
      assertThat(
              browser.run(
                  "[...document.querySelectorAll('#curves .entry')].every(e => / ranks/"
                      + ".test(e.textContent) && /iB| B/.test(e.textContent))"))
          .as("every line says its ranks and bytes")
          .isEqualTo("true");
      // the plot draws what the legend says
      assertThat(browser.run("document.querySelectorAll('#curves canvas').length")).isEqualTo("1");
      int before = Integer.parseInt(browser.run(lines));
      browser.run(
          "(() => { const s = [...document.querySelectorAll('#curves select')].at(-1); s.value ="
              + " 'f32'; s.dispatchEvent(new Event('change')); return ''; })()");
      assertThat(Integer.parseInt(browser.run(lines))).isBetween(1, before - 1);
      assertThat(browser.complaints()).isEmpty();
    }
  }

  @Test
  void listOfRuns_andTwoBesideEachOther() throws Exception {
    for (String algorithm : new String[] {"ring", "root_center"}) {
      run(
          "run",
          "ccl-allreduce",
          "--topology",
          "tiny",
          "--param",
          "rank_level=cube",
          "--param",
          "algorithm=" + algorithm,
          "--out",
          directory.resolve("results/allreduce-" + algorithm).toString());
    }
    run(
        "sweep",
        "hello-send",
        "--topology",
        "tiny",
        "--vary",
        "n_elem=1,64",
        "--jobs",
        "1",
        "--out",
        directory.resolve("results/sweep").toString());
    try (LocalPages pages = LocalPages.open(directory.resolve("results"), 0);
        Chromium browser = Chromium.start(directory.resolve("profile"))) {
      String address = pages.address().toString();
      for (int width : new int[] {1280, 400}) {
        open(browser, address, address, width);
        keep(browser, "ui", width, 600);
        open(browser, address + "compare?a=allreduce-ring&b=allreduce-root_center", address, width);
        keep(browser, "ui-compare", width, 1200);
      }
      // by keyboard: choose both runs, compare them, come back to the list
      open(browser, address, address, 1280);
      for (int chosen = 0, tabs = 0; chosen < 2 && tabs < 60; tabs++) {
        browser.press("Tab");
        if (browser.run("document.activeElement.type").equals("checkbox")) {
          browser.press(" ");
          chosen++;
        }
      }
      String button = "document.querySelector('#list button')";
      assertThat(browser.run(button + ".disabled")).isEqualTo("false");
      browser.run(button + ".focus()");
      browser.press("Enter");
      for (int i = 0; i < 50 && !browser.run("location.pathname").equals("/compare"); i++) {
        Thread.sleep(100);
      }
      assertThat(browser.run("document.querySelector('#verdict').textContent"))
          .contains("allreduce-ring")
          .contains("allreduce-root_center");
      open(browser, address + "report/sweep", address, 1280);
      assertThat(browser.run("document.querySelectorAll('#rows tbody tr').length")).isEqualTo("2");
      assertThat(browser.complaints()).isEmpty();
    }
  }

  private static void open(Chromium browser, String page, String within, int width)
      throws Exception {
    browser.open(page, width);
    assertThat(browser.complaints()).isEmpty();
    assertThat(browser.requests()).isNotEmpty().allMatch(r -> r.startsWith(within));
    assertThat(browser.run("document.documentElement.scrollWidth - innerWidth")).isEqualTo("0");
  }
}
