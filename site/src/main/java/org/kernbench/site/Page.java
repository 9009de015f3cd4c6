package org.kernbench.site;

import java.util.List;

/**
 * One page before it gets its frame.
 *
 * @param path from the root of the site on, with {@code /}
 * @param title for the window and the search
 * @param language of its text
 * @param html what stands between the navigation and the foot
 * @param sections for the search, in order; the first is the top
 * @param headings those of the second level, for the list beside the page
 */
record Page(
    String path,
    String title,
    String language,
    String html,
    List<Section> sections,
    List<Section> headings) {
  Page {
    sections = List.copyOf(sections);
    headings = List.copyOf(headings);
  }

  /** The way from this page to the root, empty or {@code ../} as often as needed. */
  String toRoot() {
    return "../".repeat((int) path.chars().filter(c -> c == '/').count());
  }
}
