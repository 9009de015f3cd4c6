package org.kernbench.site;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The list beside every page: groups, and in each the pages to begin with. */
record Navigation(Map<String, List<Entry>> groups) {
  /**
   * A line of the list.
   *
   * @param page from the root of the site on
   */
  record Entry(String name, String page) {}

  /** The list of this site; the pages of the Javadoc only where it has been made. */
  static Navigation of(boolean javadoc) {
    Map<String, List<Entry>> groups = new LinkedHashMap<>();
    groups.put(
        "Start",
        List.of(
            entry("What it is for", "index.html"),
            entry("First steps", "docs/start.html"),
            entry("Cookbook", "docs/cookbook.html"),
            entry("What is modelled, what is not", "docs/limits.html"),
            entry("Python", "docs/python.html"),
            entry("As a library, releases", "docs/releases.html")));
    groups.put(
        "Guides",
        List.of(
            entry("Machine file", "docs/machine-guide.html"),
            entry("Kernels", "docs/kernel-guide.html"),
            entry("Host programs", "docs/torch-guide.html"),
            entry("Examples", "docs/programs.html"),
            entry("Collectives of your own", "docs/collective-author-guide.html"),
            entry("Collectives there are", "docs/collectives.html"),
            entry("Explanations", "docs/explain-guide.html"),
            entry("Sweeps, figures, reports", "docs/evaluation.html"),
            entry("Results in SQL and Python", "docs/results-store.html"),
            entry("Training in parallel", "docs/parallel-guide.html"),
            entry("Layouts of two modules", "docs/layout-guide.html"),
            entry("Pipelines", "docs/pipelines.html"),
            entry("Experts", "docs/experts.html"),
            entry("Placements", "docs/placements.html"),
            entry("Traffic", "docs/traffic.html"),
            entry("Traces in Perfetto", "docs/trace.html"),
            entry("Chakra traces", "docs/traces.html"),
            entry("ASTRA-sim files", "docs/astra.html")));
    List<Entry> reference =
        new java.util.ArrayList<>(
            List.of(
                entry("Commands", "reference/commands.html"),
                entry("Benches and parameters", "reference/benches.html"),
                entry("Machine keys", "reference/machine-keys.html"),
                entry("Machine presets", "reference/machines.html"),
                entry("Algorithms", "reference/algorithms.html"),
                entry("Results and causes", "docs/results.html"),
                entry("Errors", "docs/errors.html"),
                entry("Glossary", "docs/glossary.html")));
    if (javadoc) {
      reference.add(entry("Javadoc", "javadoc/index.html"));
    }
    groups.put("Reference", List.copyOf(reference));
    groups.put(
        "Evidence",
        List.of(
            entry("Overview", "docs/validation/README.html"),
            entry("Measured machines", "docs/validation/hardware.html"),
            entry("Collectives", "docs/validation/collectives.html"),
            entry("Fabric", "docs/validation/fabric.html"),
            entry("Memory", "docs/validation/memory.html"),
            entry("Numerics", "docs/validation/numerics.html"),
            entry("Speed", "docs/validation/speed.html")));
    groups.put(
        "House",
        List.of(
            entry("Contributing", "CONTRIBUTING.html"),
            entry("Rooms", "docs/house.html"),
            entry("Norms", "docs/spec/README.html"),
            entry("Decisions", "docs/adr/README.html"),
            entry("Changes", "CHANGELOG.html")));
    return new Navigation(groups);
  }

  private static Entry entry(String name, String page) {
    return new Entry(name, page);
  }

  /** The list as HTML, seen from a page, which is marked. */
  String html(Page from) {
    StringBuilder html = new StringBuilder();
    groups.forEach((group, entries) -> {
      html.append("<h2>").append(group).append("</h2>\n<ul>\n");
      for (Entry entry : entries) {
        boolean here = entry.page().equals(from.path());
        html.append("<li><a href=\"")
            .append(Markdown.relative(from.path(), entry.page()))
            .append(here ? "\" aria-current=\"page\">" : "\">")
            .append(entry.name())
            .append("</a></li>\n");
      }
      html.append("</ul>\n");
    });
    return html.toString();
  }
}
