package org.kernbench.config;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A YAML value with its position; immutable once built. */
sealed interface ConfigNode {
  /** Where the value stands. */
  Position at();

  /** A short name of what this is, for error texts. */
  String describe();

  /** Text as written, without quotes. */
  record Scalar(String text, Position at) implements ConfigNode {
    @Override
    public String describe() {
      return text.isEmpty() ? "nothing" : "\"" + Shown.text(text) + "\"";
    }
  }

  /** A list. */
  record Sequence(List<ConfigNode> items, Position at) implements ConfigNode {
    @Override
    public String describe() {
      return "a list";
    }
  }

  /** A section; keys keep their order. */
  record Section(Map<String, Entry> entries, Position at) implements ConfigNode {
    @Override
    public String describe() {
      return "a section";
    }

    /**
     * This section with every key of {@code upper} laid over it; sections merge, others replace.
     */
    Section overlaid(Section upper) {
      Map<String, Entry> merged = new LinkedHashMap<>(entries);
      for (Map.Entry<String, Entry> each : upper.entries.entrySet()) {
        Entry above = each.getValue();
        Entry below = merged.get(each.getKey());
        if (below != null
            && below.value instanceof Section lowerSection
            && above.value instanceof Section upperSection) {
          above = new Entry(above.keyAt, lowerSection.overlaid(upperSection));
        }
        merged.put(each.getKey(), above);
      }
      return new Section(merged, upper.at);
    }
  }

  /** A key's position and its value. */
  record Entry(Position keyAt, ConfigNode value) {}
}
