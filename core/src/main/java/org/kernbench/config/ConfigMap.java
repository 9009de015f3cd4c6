package org.kernbench.config;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Typed, checked access to one section of a configuration.
 *
 * <p>A reader asks for every key it knows and then calls {@link #done}, which reports all keys
 * nobody asked for. Nothing here throws: a missing or wrong value is reported to {@link Problems}
 * and the smallest allowed value is returned, so that reading goes on and finds the other problems.
 * Whoever uses the values calls {@link Problems#throwIfAny} first.
 */
public final class ConfigMap {
  private static final long BILLION = 1_000_000_000;

  private final ConfigNode.Section section;
  private final String path;
  private final Problems problems;

  /** False if the section is missing: that was reported once, so its keys stay silent. */
  private final boolean present;

  private final Set<String> asked = new LinkedHashSet<>();

  ConfigMap(ConfigNode.Section section, String path, Problems problems, boolean present) {
    this.section = section;
    this.path = path;
    this.problems = problems;
    this.present = present;
  }

  /** The dotted path of a key of this section. */
  public String path(String key) {
    return join(path, key);
  }

  /** The dotted path of this section; empty at the top. */
  public String path() {
    return path;
  }

  /** True if the key is written. Counts as asking for it. */
  public boolean has(String key) {
    asked.add(key);
    return section.entries().containsKey(key);
  }

  /** Where the value of a key stands, or this section if the key is missing. */
  public Position at(String key) {
    ConfigNode.Entry entry = section.entries().get(key);
    return entry == null ? section.at() : entry.value().at();
  }

  /** Reports a problem of a key's value; not if the section itself is one that was reported. */
  public void problem(String key, String message) {
    if (present) {
      problems.add(at(key), path(key), message);
    }
  }

  /** Whether nothing was wrong in this section so far. */
  public boolean isClean() {
    return problems.isClean(path);
  }

  /** Whether nothing was wrong with a key of this section so far. */
  public boolean isClean(String key) {
    return problems.isClean(path(key));
  }

  /** Reports a number of bytes that is no power of two; whether it is one and could be read. */
  public boolean checkPowerOfTwo(String key, long bytes) {
    boolean clean = isClean(key);
    if (clean && Long.bitCount(bytes) != 1) {
      problem(
          key,
          "got %s B; expected a power of two, e.g. %s B"
              .formatted(bytes, Long.highestOneBit(bytes)));
      return false;
    }
    return clean;
  }

  /** The keys written here, in order. Counts as asking for all of them. */
  public List<String> keys() {
    asked.addAll(section.entries().keySet());
    return List.copyOf(section.entries().keySet());
  }

  /** A section inside this one. */
  public ConfigMap map(String key) {
    if (node(key) instanceof ConfigNode.Section inner) {
      return new ConfigMap(inner, path(key), problems, true);
    }
    reject(key, "a section of keys");
    return new ConfigMap(
        new ConfigNode.Section(new LinkedHashMap<>(), at(key)), path(key), problems, false);
  }

  /** The sections of a list. */
  public List<ConfigMap> maps(String key) {
    List<ConfigMap> maps = new ArrayList<>();
    if (!(node(key) instanceof ConfigNode.Sequence list)) {
      reject(key, "a list of sections, e.g. [{...}, {...}]");
      return maps;
    }
    for (int i = 0; i < list.items().size(); i++) {
      ConfigNode item = list.items().get(i);
      String at = path(key) + "[" + i + "]";
      if (item instanceof ConfigNode.Section inner) {
        maps.add(new ConfigMap(inner, at, problems, true));
      } else {
        problems.add(item.at(), at, "got " + item.describe() + "; expected a section of keys");
      }
    }
    return maps;
  }

  /** A word or sentence. */
  public String text(String key) {
    String text = scalar(key);
    if (text != null && !text.isEmpty()) {
      return text;
    }
    reject(key, "a text");
    return "";
  }

  /** The texts of a list of scalars, or of one scalar. */
  public List<String> texts(String key) {
    return texts(key, "[8, 32, 64]");
  }

  /**
   * Likewise.
   *
   * @param example such a list, as it is written
   */
  public List<String> texts(String key, String example) {
    ConfigNode node = node(key);
    List<String> texts = new ArrayList<>();
    for (ConfigNode item :
        node instanceof ConfigNode.Sequence list ? list.items() : Collections.singletonList(node)) {
      if (!(item instanceof ConfigNode.Scalar scalar) || scalar.text().isEmpty()) {
        reject(key, "a list of values, e.g. " + example);
        return List.of();
      }
      texts.add(scalar.text());
    }
    return texts;
  }

  /** True if the key is written and its value is this word. Counts as asking for it. */
  public boolean isText(String key, String word) {
    return word.equals(scalar(key));
  }

  /** A whole number from {@code min} to {@code max}, without a unit. */
  public int integer(String key, int min, int max) {
    return integer(key, min, max, "");
  }

  /** A whole number from {@code min} to {@code max}, or a word, which is returned as 0. */
  public int integerOr(String key, String word, int min, int max) {
    return isText(key, word) ? 0 : integer(key, min, max, ", or " + word);
  }

  private int integer(String key, int min, int max, String orElse) {
    String text = scalar(key);
    if (text != null && isInteger(text)) {
      long number = Long.parseLong(text);
      if (number >= min && number <= max) {
        return (int) number;
      }
    }
    reject(key, "a whole number from " + min + " to " + max + orElse);
    return min;
  }

  /** A number above 0 and up to 1, without a unit, in billionths: 0.85 is 850 000 000. */
  public long billionths(String key) {
    String text = scalar(key);
    if (text != null) {
      long value = billionthsOf(text);
      if (value > 0 && value <= BILLION) {
        return value;
      }
    }
    reject(key, "a number above 0 and up to 1 of at most nine decimals, e.g. 0.85");
    return BILLION;
  }

  /** The number times a billion, or -1 if it is none or has more than nine decimals. */
  private static long billionthsOf(String text) {
    int point = text.indexOf('.');
    String digits = point < 0 ? text : text.substring(0, point).concat(text.substring(point + 1));
    int decimals = point < 0 ? 0 : text.length() - point - 1;
    if (!isInteger(digits) || digits.length() > 10 || decimals > 9) {
      return -1;
    }
    long value = Long.parseLong(digits);
    for (int i = decimals; i < 9; i++) {
      value *= 10;
    }
    return value;
  }

  /** True or false. */
  public boolean flag(String key) {
    String text = scalar(key);
    if (!"true".equals(text) && !"false".equals(text)) {
      reject(key, "true or false");
    }
    return "true".equals(text);
  }

  /** A quantity of at least {@code min} base units. */
  public long quantity(String key, Quantity kind, long min) {
    String text = scalar(key);
    if (text == null || text.isEmpty()) {
      reject(key, kind.expectation());
      return min;
    }
    try {
      long value = kind.parse(text);
      if (value >= min) {
        return value;
      }
      String floor = min == 0 ? "0 or more" : min == 1 ? "above 0" : "at least " + kind.format(min);
      reject(key, kind.expectation() + ", " + floor);
    } catch (IllegalArgumentException e) {
      problem(key, String.valueOf(e.getMessage()));
    }
    return min;
  }

  /** A size in bytes, at least 1. */
  public long size(String key) {
    return quantity(key, Quantity.SIZE, 1);
  }

  /** A size in bytes, at least 1, where a word is allowed too; not for the word itself. */
  public long sizeOr(String key, String word) {
    String text = scalar(key);
    if (text != null && !text.isEmpty() && !Character.isDigit(text.charAt(0))) {
      reject(key, Quantity.SIZE.expectation() + ", or " + word);
      return 1;
    }
    return size(key);
  }

  /** A bandwidth in bytes per second, at least 1. */
  public long bandwidth(String key) {
    return quantity(key, Quantity.BANDWIDTH, 1);
  }

  /** A duration in picoseconds, 0 allowed. */
  public long time(String key) {
    return quantity(key, Quantity.TIME, 0);
  }

  /** A frequency in hertz, at least 1. */
  public long frequency(String key) {
    return quantity(key, Quantity.FREQUENCY, 1);
  }

  /**
   * One of the constants of an enum, written in lower case; {@code -} and {@code _} are alike.
   *
   * @param constants the allowed constants, at least one
   */
  public <E extends Enum<E>> E choice(String key, E[] constants) {
    String text = scalar(key);
    if (text != null) {
      String wanted = text.replace('-', '_').toUpperCase(Locale.ROOT);
      for (E constant : constants) {
        if (constant.name().equals(wanted)) {
          return constant;
        }
      }
    }
    List<String> names = names(constants);
    reject(key, oneOf(names) + (text == null ? "" : Suggest.hint(text, names)));
    return constants[0];
  }

  /** Reports every key that nobody asked for, with the nearest known one. */
  public void done() {
    for (Map.Entry<String, ConfigNode.Entry> each : section.entries().entrySet()) {
      String key = each.getKey();
      if (!asked.contains(key)) {
        String hint = problems.isFull() ? "" : Suggest.hint(key, asked);
        String known = hint.isEmpty() ? " (known: " + String.join(", ", asked) + ")" : "";
        problems.add(each.getValue().keyAt(), path(key), "unknown key" + hint + known);
      }
    }
  }

  private @Nullable ConfigNode node(String key) {
    asked.add(key);
    ConfigNode.Entry entry = section.entries().get(key);
    return entry == null ? null : entry.value();
  }

  private @Nullable String scalar(String key) {
    return node(key) instanceof ConfigNode.Scalar scalar ? scalar.text() : null;
  }

  /** Reports that a key is missing, or that its value is not what was expected. */
  public void reject(String key, String expected) {
    ConfigNode value = node(key);
    if (value != null) {
      problem(key, "got " + value.describe() + "; expected " + expected);
    } else if (present) {
      problem(key, "missing; expected " + expected);
    }
  }

  static String join(String path, String key) {
    return path.isEmpty() ? key : path.concat(".").concat(key);
  }

  /** {@code a, b or c}. */
  static String oneOf(List<String> names) {
    if (names.size() == 1) {
      return names.get(0);
    }
    String head = String.join(", ", names.subList(0, names.size() - 1));
    return head + " or " + names.get(names.size() - 1);
  }

  private static <E extends Enum<E>> List<String> names(E[] constants) {
    List<String> names = new ArrayList<>();
    for (E constant : constants) {
      names.add(constant.name().toLowerCase(Locale.ROOT));
    }
    return names;
  }

  private static boolean isInteger(String text) {
    int start = text.startsWith("-") ? 1 : 0;
    for (int i = start; i < text.length(); i++) {
      if (text.charAt(i) < '0' || text.charAt(i) > '9') {
        return false;
      }
    }
    return text.length() > start && text.length() - start < 19;
  }
}
