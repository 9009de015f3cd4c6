package org.kernbench.config;

import java.util.ArrayList;
import java.util.List;

/** Values with commas between them, on one line as YAML has them. */
public final class FlowItems {
  private FlowItems() {}

  /** The values, stripped; commas in brackets and braces do not divide. An empty text is one. */
  public static List<String> of(String text) {
    List<String> items = new ArrayList<>();
    int depth = 0;
    int start = 0;
    for (int i = 0; i < text.length(); i++) {
      switch (text.charAt(i)) {
        case '[', '{' -> depth++;
        case ']', '}' -> depth--;
        case ',' -> {
          if (depth <= 0) {
            items.add(text.substring(start, i).strip());
            start = i + 1;
          }
        }
        default -> {}
      }
    }
    items.add(text.substring(start).strip());
    return items;
  }
}
