package org.kernbench.eval;

import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Matcher;
import org.kernbench.config.Quantity;
import org.kernbench.config.Suggest;
import org.kernbench.machine.Pe;

/**
 * A parameter of a bench: its name, default, range, and how its text is read.
 *
 * @param <T> type of the value
 */
public final class Param<T> {
  private final String name;
  private final String description;
  private final String range;
  private final String defaultText;
  private final T defaultValue;
  private final Function<String, T> reader;

  private Param(
      String name,
      String description,
      String range,
      String defaultText,
      T defaultValue,
      Function<String, T> reader) {
    this.name = name;
    this.description = description;
    this.range = range;
    this.defaultText = defaultText;
    this.defaultValue = defaultValue;
    this.reader = reader;
  }

  /** A whole number from {@code min} to {@code max}. */
  public static Param<Integer> integer(
      String name, int defaultValue, int min, int max, String description) {
    String range = min + " to " + max;
    return new Param<>(
        name,
        description,
        range,
        Integer.toString(defaultValue),
        defaultValue,
        text -> readInteger(text, min, max, range));
  }

  private static int readInteger(String text, int min, int max, String range) {
    try {
      int value = Integer.parseInt(text);
      if (value >= min && value <= max) {
        return value;
      }
    } catch (NumberFormatException e) {
      // reported below, like a number out of range
    }
    throw new IllegalArgumentException(
        "got \"" + text + "\"; expected a whole number from " + range);
  }

  /** A size in bytes with its unit, such as {@code 1 MiB}. */
  public static Param<Long> size(
      String name, String defaultText, long min, long max, String description) {
    String range =
        Quantity.SIZE.formatRounded(min, 1) + " to " + Quantity.SIZE.formatRounded(max, 1);
    return new Param<>(
        name,
        description,
        range,
        defaultText,
        Quantity.SIZE.parse(defaultText),
        text -> readSize(text, min, max, range));
  }

  private static long readSize(String text, long min, long max, String range) {
    long value = Quantity.SIZE.parse(text);
    if (value < min || value > max) {
      throw new IllegalArgumentException("got \"" + text + "\"; expected a size from " + range);
    }
    return value;
  }

  /** One of some words; {@code -} and {@code _} are alike, case does not matter. */
  public static Param<String> choice(
      String name, String defaultValue, List<String> choices, String description) {
    List<String> known = List.copyOf(choices);
    return new Param<>(
        name,
        description,
        String.join(", ", known),
        defaultValue,
        defaultValue,
        text -> readChoice(text, known));
  }

  private static String readChoice(String text, List<String> known) {
    String wanted = Suggest.fold(text);
    for (String each : known) {
      if (Suggest.fold(each).equals(wanted)) {
        return each;
      }
    }
    throw new IllegalArgumentException(
        "got \"%s\"; expected one of %s%s"
            .formatted(text, String.join(", ", known), Suggest.hint(text, known)));
  }

  /** A PE, such as {@code sip0.cube3.pe1} or {@code 0.3.1}. */
  public static Param<Pe> pe(String name, Pe defaultValue, String description) {
    String range = "a PE, e.g. " + defaultValue;
    return new Param<>(
        name,
        description,
        range,
        defaultValue.toString(),
        defaultValue,
        text -> readPe(text, range));
  }

  /** A package, such as {@code sip:3}. */
  static Param<DeviceChoice> device(String name, String description) {
    return new Param<>(
        name, description, "sip:N", "sip:0", new DeviceChoice(0), DeviceChoice::parse);
  }

  private static Pe readPe(String text, String range) {
    Matcher m =
        java.util.regex.Pattern.compile(
                "(?:sip)?(\\d{1,9})\\.(?:cube)?(\\d{1,9})\\.(?:pe)?(\\d{1,9})")
            .matcher(text);
    if (!m.matches()) {
      throw new IllegalArgumentException("got \"" + text + "\"; expected " + range);
    }
    return new Pe(
        Integer.parseInt(m.group(1)), Integer.parseInt(m.group(2)), Integer.parseInt(m.group(3)));
  }

  /** Any word, checked by whoever uses it. */
  public static Param<String> word(
      String name, String defaultValue, String range, String description) {
    return new Param<>(
        name,
        description,
        range,
        defaultValue,
        defaultValue,
        text -> {
          if (text.isBlank()) {
            throw new IllegalArgumentException("got nothing; expected " + range);
          }
          return text;
        });
  }

  /** The same parameter, but if it is not given its value comes from elsewhere. */
  public Param<Optional<T>> orFrom(String source) {
    return new Param<>(
        name, description, range, "from " + source, Optional.empty(), reader.andThen(Optional::of));
  }

  /** Its name, with {@code _}. */
  public String name() {
    return name;
  }

  /** What it means, in one line. */
  public String description() {
    return description;
  }

  /** What is allowed, for people. */
  public String range() {
    return range;
  }

  /** The default as a user would write it, or where it comes from. */
  public String defaultText() {
    return defaultText;
  }

  T defaultValue() {
    return defaultValue;
  }

  /**
   * Reads a value.
   *
   * @throws IllegalArgumentException that says what was found and what was expected
   */
  T read(String text) {
    return reader.apply(text.trim());
  }
}
