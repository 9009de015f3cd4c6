package org.kernbench.eval.output;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.config.UsageException;

/** A JSON object that was read, asked for its fields by name and type. */
public final class JsonObject {
  private final Map<?, ?> fields;

  private JsonObject(Map<?, ?> fields) {
    this.fields = fields;
  }

  /**
   * The object of a text in UTF-8.
   *
   * @throws UsageException if it is none
   */
  public static JsonObject read(byte[] utf8) {
    return of("message", JsonReader.read(utf8));
  }

  /**
   * An object of texts, as YAML has them: what is written like a number, a truth or nothing is one.
   *
   * @param texts strings, and lists and maps of them
   */
  public static JsonObject ofTexts(Map<String, Object> texts) {
    return new JsonObject((Map<?, ?>) typed(texts));
  }

  private static Object typed(Object value) {
    return switch (value) {
      case Map<?, ?> map -> {
        Map<Object, Object> all = new LinkedHashMap<>();
        map.forEach((key, one) -> all.put(key, typed(one)));
        yield all;
      }
      case List<?> list -> list.stream().map(JsonObject::typed).toList();
      case String text -> typed(text);
      default -> throw new IllegalArgumentException("bug: " + value.getClass());
    };
  }

  private static Object typed(String text) {
    if (text.matches("-?[0-9]{1,18}")) {
      return Long.valueOf(text);
    }
    if (text.matches("-?[0-9]+(\\.[0-9]*)?([eE][-+]?[0-9]+)?")) {
      return Double.valueOf(text);
    }
    return switch (text) {
      case "true", "false" -> Boolean.valueOf(text);
      case "", "~", "null" -> Json.NULL;
      default -> text;
    };
  }

  private static JsonObject of(String what, @Nullable Object value) {
    if (value instanceof Map<?, ?> map) {
      return new JsonObject(map);
    }
    throw new UsageException(what + ": got " + shown(value) + "; expected an object");
  }

  /** Whether a field is there and not null. */
  public boolean has(String name) {
    Object value = fields.get(name);
    return value != null && value != Json.NULL;
  }

  /** Text. */
  public String text(String name) {
    if (fields.get(name) instanceof String text) {
      return text;
    }
    throw expected(name, "text");
  }

  /** Text, if the field is there. */
  public Optional<String> textIfAny(String name) {
    return has(name) ? Optional.of(text(name)) : Optional.empty();
  }

  /** A whole number of 32 bits. */
  public int whole(String name) {
    if (fields.get(name) instanceof Long number && number == number.intValue()) {
      return number.intValue();
    }
    throw expected(name, "a whole number below 2^31");
  }

  /** A number. */
  public double number(String name) {
    return switch (fields.get(name)) {
      case Long number -> number.doubleValue();
      case Double number -> number;
      case String text when text.equals("inf") -> Double.POSITIVE_INFINITY;
      case String text when text.equals("-inf") -> Double.NEGATIVE_INFINITY;
      case String text when text.equals("nan") -> Double.NaN;
      case null, default -> throw expected(name, "a number, or \"inf\", \"-inf\", \"nan\"");
    };
  }

  /** Truth; false if the field is not there. */
  public boolean flag(String name) {
    if (!has(name)) {
      return false;
    }
    if (fields.get(name) instanceof Boolean truth) {
      return truth;
    }
    throw expected(name, "true or false");
  }

  /** Names of the fields, in the order of the text. */
  public List<String> names() {
    return fields.keySet().stream().map(String::valueOf).toList();
  }

  /** The fields that are text, a number or truth, in the order of the text. */
  public Map<String, Object> scalars() {
    Map<String, Object> scalars = new LinkedHashMap<>();
    fields.forEach((name, value) -> {
      if (value instanceof String || value instanceof Number || value instanceof Boolean) {
        scalars.put(String.valueOf(name), value);
      }
    });
    return scalars;
  }

  /** A list. */
  public List<?> list(String name) {
    if (fields.get(name) instanceof List<?> list) {
      return list;
    }
    throw expected(name, "a list");
  }

  /** A list of texts. */
  public List<String> texts(String name) {
    List<String> texts = new ArrayList<>();
    for (Object item : list(name)) {
      if (!(item instanceof String text)) {
        throw expected(name, "a list of texts");
      }
      texts.add(text);
    }
    return texts;
  }

  /** A list of whole numbers of 32 bits. */
  public List<Integer> wholes(String name) {
    List<Integer> numbers = new ArrayList<>();
    for (Object item : list(name)) {
      if (!(item instanceof Long number) || number != number.intValue()) {
        throw expected(name, "a list of whole numbers below 2^31");
      }
      numbers.add(number.intValue());
    }
    return numbers;
  }

  /** An object. */
  public JsonObject object(String name) {
    return of(name, fields.get(name));
  }

  /** A list of objects. */
  public List<JsonObject> objects(String name) {
    List<JsonObject> objects = new ArrayList<>();
    for (Object item : list(name)) {
      objects.add(of(name, item));
    }
    return objects;
  }

  private UsageException expected(String name, String what) {
    return new UsageException(
        "message: %s: got %s; expected %s".formatted(name, shown(fields.get(name)), what));
  }

  private static String shown(@Nullable Object value) {
    if (value == null) {
      return "nothing";
    }
    String text = Json.compact(value);
    return text.length() <= 60 ? text : text.substring(0, 60) + "...";
  }
}
