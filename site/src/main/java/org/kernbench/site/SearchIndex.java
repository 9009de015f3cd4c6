package org.kernbench.site;

import java.util.List;

/**
 * What the search looks in: a script that leaves every section of every page in one variable. A
 * script, because a page from a folder may load one and may not read a file.
 */
final class SearchIndex {
  private SearchIndex() {}

  static String of(List<Page> pages) {
    StringBuilder script = new StringBuilder("// page, its title, then heading, anchor, text\n");
    script.append("window.kernbenchSearch = [\n");
    for (Page page : pages) {
      script.append('[').append(quoted(page.path())).append(',').append(quoted(page.title()));
      for (Section section : page.sections()) {
        script.append(",\n").append(quoted(section.heading()));
        script.append(',').append(quoted(section.anchor()));
        script.append(',').append(quoted(section.text().replaceAll("\\s+", " ")));
      }
      script.append("],\n");
    }
    return script.append("];\n").toString();
  }

  /** A text as JavaScript has it. */
  private static String quoted(String text) {
    StringBuilder quoted = new StringBuilder("\"");
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      switch (c) {
        case '"', '\\' -> quoted.append('\\').append(c);
        case '\n' -> quoted.append("\\n");
        case '\u2028', '\u2029', '<' -> quoted.append("\\u%04x".formatted((int) c));
        default -> quoted.append(c);
      }
    }
    return quoted.append('"').toString();
  }
}
