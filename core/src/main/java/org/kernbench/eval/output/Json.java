package org.kernbench.eval.output;

import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.sqlite.SQLiteConfig;

/**
 * Writes maps, lists, numbers, text, truth and {@link #NULL} as JSON: two spaces of indent, keys in
 * the order of the map, the same text for the same values on any machine.
 */
public final class Json {
  /** JSON's {@code null}. */
  public static final Object NULL = new Object();

  private final StringBuilder out = new StringBuilder();

  private Json() {}

  /** The value as text with a line end. */
  public static String write(Object value) {
    Json json = new Json();
    json.value(value, 0);
    return json.out.append('\n').toString();
  }

  /** Whether a text is a JSON object (RFC 8259), by SQLite's own parser. */
  public static boolean isJsonObject(String text) {
    try (Connection memory = new SQLiteConfig().createConnection("jdbc:sqlite::memory:");
        PreparedStatement s =
            memory.prepareStatement(
                "SELECT CASE WHEN json_valid(?1) THEN json_type(?1) = 'object' ELSE 0 END")) {
      s.setString(1, text);
      try (ResultSet r = s.executeQuery()) {
        return r.getInt(1) == 1;
      }
    } catch (SQLException e) {
      return false; // it is longer, or deeper, than SQLite reads
    }
  }

  /** The value as text on one line, without spaces. */
  public static String compact(Object value) {
    StringBuilder line = new StringBuilder();
    boolean inText = false;
    String text = write(value);
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '\\' && inText) {
        line.append(c).append(text.charAt(++i));
        continue;
      }
      inText ^= c == '"';
      if (inText || (c != ' ' && c != '\n')) {
        line.append(c);
      }
    }
    return line.toString();
  }

  private void value(Object value, int depth) {
    switch (value) {
      case Map<?, ?> map -> object(map, depth);
      case List<?> list -> array(list, depth);
      case BigDecimal decimal -> out.append(decimal.toPlainString());
      case Double number -> number(number);
      case Integer number -> out.append(number.intValue());
      case Long number -> out.append(number.longValue());
      case Boolean truth -> out.append(truth.booleanValue());
      case Object o when o == NULL -> out.append("null");
      default -> text(value.toString());
    }
  }

  /** JSON has no infinity and no NaN: they are written as text. */
  private void number(double number) {
    if (Double.isFinite(number)) {
      out.append(
          number == Math.rint(number) && Math.abs(number) < 1e15
              ? whole(number)
              : Double.toString(number));
    } else {
      text(Double.toString(number));
    }
  }

  private static String whole(double number) {
    return Long.toString((long) number);
  }

  private void object(Map<?, ?> map, int depth) {
    if (map.isEmpty()) {
      out.append("{}");
      return;
    }
    boolean flat = depth > 1 && map.values().stream().noneMatch(Json::isNested);
    out.append('{');
    String separator = "";
    for (Map.Entry<?, ?> entry : map.entrySet()) {
      out.append(separator);
      newLine(flat, depth + 1, separator);
      text(String.valueOf(entry.getKey()));
      out.append(": ");
      value(entry.getValue(), depth + 1);
      separator = ",";
    }
    newLine(flat, depth, "");
    out.append('}');
  }

  private void array(List<?> list, int depth) {
    if (list.isEmpty()) {
      out.append("[]");
      return;
    }
    boolean flat = depth > 1 && list.stream().allMatch(Integer.class::isInstance);
    out.append('[');
    String separator = "";
    for (Object item : list) {
      out.append(separator);
      newLine(flat, depth + 1, separator);
      value(item, depth + 1);
      separator = ",";
    }
    newLine(flat, depth, "");
    out.append(']');
  }

  private static boolean isNested(Object value) {
    return value instanceof Map || value instanceof List;
  }

  private void newLine(boolean flat, int depth, String separator) {
    if (!flat) {
      out.append('\n').append("  ".repeat(depth));
    } else if (!separator.isEmpty()) {
      out.append(' ');
    }
  }

  private void text(String text) {
    out.append('"');
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      switch (c) {
        case '"' -> out.append("\\\"");
        case '\\' -> out.append("\\\\");
        case '\n' -> out.append("\\n");
        case '\r' -> out.append("\\r");
        case '\t' -> out.append("\\t");
        default -> {
          if (c < 0x20 || Character.isSurrogate(c)) {
            out.append(String.format(Locale.ROOT, "\\u%04x", (int) c));
          } else {
            out.append(c);
          }
        }
      }
    }
    out.append('"');
  }
}
