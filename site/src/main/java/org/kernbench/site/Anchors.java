package org.kernbench.site;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/** Names of the headings of one page, as GitHub makes them, so that links work there and here. */
final class Anchors {
  private final Map<String, Integer> given = new HashMap<>();

  /** The name of the next heading; a second one of the same words gets a number. */
  String next(String heading) {
    String name =
        heading
            .toLowerCase(Locale.ROOT)
            .replaceAll("[^\\p{L}\\p{N} _-]", "")
            .strip()
            .replace(' ', '-');
    int before = given.merge(name, 1, Integer::sum) - 1;
    return before == 0 ? name : name + "-" + before;
  }
}
