package org.kernbench.eval;

import java.math.BigInteger;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.kernbench.config.Quantity;
import org.kernbench.config.Suggest;
import org.kernbench.machine.Pe;

/**
 * A parameter of a bench: its name, default, range, and how its text is read.
 *
 * @param <T> type of the value
 */
public final class Param<T> {
  /** As in {@code 8K} or {@code 16 MiB}. */
  private static final Pattern WITH_PREFIX =
      Pattern.compile("(\\d{1,9})\\s*([KMGT])i?B?", Pattern.CASE_INSENSITIVE);

  private final String name;
  private final String description;
  private final Allowed allowed;
  private final String defaultText;
  private final T defaultValue;
  private final Function<String, T> reader;

  private Param(
      String name,
      String description,
      Allowed allowed,
      String defaultText,
      T defaultValue,
      Function<String, T> reader) {
    this.name = name;
    this.description = description;
    this.allowed = allowed;
    this.defaultText = defaultText;
    this.defaultValue = defaultValue;
    this.reader = reader;
  }

  /** What kind of value a parameter takes. */
  public enum Kind {
    /** A whole number without a unit, such as a number of elements. */
    COUNT,
    /** Bytes with their unit. */
    SIZE,
    /** One of some words. */
    CHOICE,
    /** {@code on} or {@code off}. */
    SWITCH,
    /** A processing element. */
    PE,
    /** A package. */
    PACKAGE,
    /** A name that the bench looks up. */
    NAME
  }

  /**
   * What a parameter allows.
   *
   * @param kind of value
   * @param text for people, such as {@code 1 to 8}
   * @param least of a count, or of a size in bytes; empty for other kinds
   * @param most likewise
   * @param choices the words that can be given; empty if they are no closed list
   */
  public record Allowed(
      Kind kind, String text, OptionalLong least, OptionalLong most, List<String> choices) {
    /** Copies the list. */
    public Allowed {
      choices = List.copyOf(choices);
    }

    private static Allowed from(Kind kind, String text, long least, long most) {
      return new Allowed(kind, text, OptionalLong.of(least), OptionalLong.of(most), List.of());
    }

    private static Allowed of(Kind kind, List<String> choices) {
      String text = String.join(", ", choices);
      return new Allowed(kind, text, OptionalLong.empty(), OptionalLong.empty(), choices);
    }

    private static Allowed of(Kind kind, String text) {
      return new Allowed(kind, text, OptionalLong.empty(), OptionalLong.empty(), List.of());
    }
  }

  /** A whole number from {@code min} to {@code max}. */
  public static Param<Integer> integer(
      String name, int defaultValue, int min, int max, String description) {
    String range = min + " to " + max;
    return new Param<>(
        name,
        description,
        Allowed.from(Kind.COUNT, range, min, max),
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
        "got \"" + text + "\"; expected a whole number from " + range + asCount(text));
  }

  /** What to write for {@code 8K} where things are counted. */
  private static String asCount(String text) {
    Matcher m = WITH_PREFIX.matcher(text);
    if (!m.matches()) {
      return "";
    }
    int power = "KMGT".indexOf(m.group(2).toUpperCase(Locale.ROOT)) + 1;
    BigInteger number = new BigInteger(m.group(1));
    return ", a count without a unit: %s or %s"
        .formatted(number.shiftLeft(10 * power), number.multiply(BigInteger.TEN.pow(3 * power)));
  }

  /** A size in bytes with its unit, such as {@code 1 MiB}. */
  public static Param<Long> size(
      String name, String defaultText, long min, long max, String description) {
    String range =
        Quantity.SIZE.formatRounded(min, 1) + " to " + Quantity.SIZE.formatRounded(max, 1);
    return new Param<>(
        name,
        description,
        Allowed.from(Kind.SIZE, range, min, max),
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

  /** One of the constants of an enumeration; see the other {@code choice}. */
  public static <E extends Enum<E>> Param<E> choice(
      String name, E defaultValue, Class<E> choices, String description) {
    return choice(name, defaultValue, List.of(choices.getEnumConstants()), description);
  }

  /**
   * One of some constants of an enumeration, by their {@link #word}; {@code -} and {@code _} are
   * alike, case does not matter.
   */
  public static <E extends Enum<E>> Param<E> choice(
      String name, E defaultValue, List<E> choices, String description) {
    List<E> known = List.copyOf(choices);
    return new Param<>(
        name,
        description,
        Allowed.of(Kind.CHOICE, known.stream().map(Param::word).toList()),
        word(defaultValue),
        defaultValue,
        text -> readChoice(text, known));
  }

  /** {@code on} or {@code off}. */
  public static Param<Boolean> onOff(String name, boolean defaultValue, String description) {
    List<Switch> known = List.of(Switch.values());
    return new Param<>(
        name,
        description,
        Allowed.of(Kind.SWITCH, known.stream().map(Param::word).toList()),
        (String) shown(defaultValue),
        defaultValue,
        text -> readChoice(text, known) == Switch.ON);
  }

  private enum Switch {
    ON,
    OFF
  }

  /** What users write for a constant: its text in small letters. */
  public static String word(Enum<?> constant) {
    return constant.toString().toLowerCase(Locale.ROOT);
  }

  /** A value as results show it. */
  static Object shown(Object value) {
    return switch (value) {
      case Enum<?> constant -> word(constant);
      case Boolean isOn -> word(isOn ? Switch.ON : Switch.OFF);
      default -> value;
    };
  }

  private static <E extends Enum<E>> E readChoice(String text, List<E> constants) {
    String wanted = Suggest.fold(text);
    List<String> known = constants.stream().map(Param::word).toList();
    for (int i = 0; i < known.size(); i++) {
      if (Suggest.fold(known.get(i)).equals(wanted)) {
        return constants.get(i);
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
        Allowed.of(Kind.PE, range),
        defaultValue.toString(),
        defaultValue,
        text -> readPe(text, range));
  }

  /** A package, such as {@code sip:3}. */
  static Param<DeviceChoice> device(String name, String description) {
    return new Param<>(
        name,
        description,
        Allowed.of(Kind.PACKAGE, "sip:N"),
        "sip:0",
        new DeviceChoice(0),
        DeviceChoice::parse);
  }

  private static Pe readPe(String text, String range) {
    Matcher m =
        Pattern.compile("(?:sip)?(\\d{1,9})\\.(?:cube)?(\\d{1,9})\\.(?:pe)?(\\d{1,9})")
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
        Allowed.of(Kind.NAME, range),
        defaultValue,
        defaultValue,
        text -> {
          if (text.isBlank()) {
            throw new IllegalArgumentException("got nothing; expected " + range);
          }
          return text;
        });
  }

  /** This parameter, but if it is not given its value comes from elsewhere. */
  public Param<Optional<T>> orFrom(String source) {
    return new Param<>(
        name,
        description,
        allowed,
        "from " + source,
        Optional.empty(),
        reader.andThen(Optional::of));
  }

  /** This parameter, which answers a word that other programs take with what is meant here. */
  public Param<T> refusing(String word, String answer) {
    return new Param<>(
        name,
        description,
        allowed,
        defaultText,
        defaultValue,
        text -> {
          if (text.equalsIgnoreCase(word)) {
            throw new IllegalArgumentException("got \"" + text + "\"; " + answer);
          }
          return reader.apply(text);
        });
  }

  /** Its name, with {@code _}. */
  public String name() {
    return name;
  }

  /** What it means, in one line. */
  public String description() {
    return description;
  }

  /** What is allowed. */
  public Allowed allowed() {
    return allowed;
  }

  /** What is allowed, for people. */
  public String range() {
    return allowed.text();
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
