package org.kernbench.tensor;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads JSON (RFC 8259) into maps, lists, text, numbers and truth values; refuses duplicate keys.
 * Just for headers of files: it is strict, and messages name the position in the header.
 */
final class HeaderJson {
  private static final int DEEPEST = 16;
  private static final int LONGEST_NUMBER = 40;

  private final String file;
  private final String text;
  private int at;

  private HeaderJson(String file, String text) {
    this.file = file;
    this.text = text;
  }

  /** The value that a text is; blanks may follow it. */
  static Object parse(String file, String text) throws SafeTensorsFormatException {
    HeaderJson json = new HeaderJson(file, text);
    Object value = json.value(0);
    json.blanks();
    if (json.at < text.length()) {
      throw json.error("the end of the header");
    }
    return value;
  }

  private SafeTensorsFormatException error(String expected) {
    String got = at < text.length() ? "'" + text.charAt(at) + "'" : "the end";
    return new SafeTensorsFormatException(
        file + ": header, character " + at + ": got " + got + "; expected " + expected);
  }

  private void blanks() {
    while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
  }

  private boolean skip(char c) {
    blanks();
    if (at < text.length() && text.charAt(at) == c) {
      at++;
      return true;
    }
    return false;
  }

  private void expect(char c) throws SafeTensorsFormatException {
    if (!skip(c)) {
      throw error("'" + c + "'");
    }
  }

  private Object value(int depth) throws SafeTensorsFormatException {
    blanks();
    if (depth > DEEPEST) {
      throw error("at most " + DEEPEST + " levels");
    }
    char c = at < text.length() ? text.charAt(at) : '\0';
    return switch (c) {
      case '{' -> object(depth);
      case '[' -> array(depth);
      case '"' -> string();
      case 't' -> word("true", true);
      case 'f' -> word("false", false);
      default -> number();
    };
  }

  private Map<String, Object> object(int depth) throws SafeTensorsFormatException {
    Map<String, Object> map = new LinkedHashMap<>();
    expect('{');
    if (skip('}')) {
      return map;
    }
    do {
      blanks();
      int start = at;
      String key = string();
      expect(':');
      if (map.put(key, value(depth + 1)) != null) {
        at = start;
        throw error("each name once, not \"" + ArrayFile.shown(key) + "\" again");
      }
    } while (skip(','));
    expect('}');
    return map;
  }

  private List<Object> array(int depth) throws SafeTensorsFormatException {
    List<Object> list = new ArrayList<>();
    expect('[');
    if (skip(']')) {
      return list;
    }
    do {
      list.add(value(depth + 1));
    } while (skip(','));
    expect(']');
    return list;
  }

  private Object word(String word, Object meaning) throws SafeTensorsFormatException {
    if (!text.startsWith(word, at)) {
      throw error(word);
    }
    at += word.length();
    return meaning;
  }

  private BigDecimal number() throws SafeTensorsFormatException {
    int start = at;
    while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
    if (at - start > LONGEST_NUMBER) {
      at = start;
      throw error("a number of at most " + LONGEST_NUMBER + " characters");
    }
    try {
      return new BigDecimal(text.substring(start, at));
    } catch (NumberFormatException e) {
      at = start;
      throw error("a value");
    }
  }

  private String string() throws SafeTensorsFormatException {
    expect('"');
    StringBuilder s = new StringBuilder();
    while (at < text.length() && text.charAt(at) != '"') {
      char c = text.charAt(at++);
      s.append(c == '\\' ? escape() : c);
    }
    expect('"');
    return s.toString();
  }

  private char escape() throws SafeTensorsFormatException {
    char c = at < text.length() ? text.charAt(at) : '\0';
    int known = "\"\\/bfnrt".indexOf(c);
    if (known >= 0) {
      at++;
      return "\"\\/\b\f\n\r\t".charAt(known);
    }
    if (c == 'u' && at + 5 <= text.length()) {
      try {
        char code = (char) Integer.parseInt(text.substring(at + 1, at + 5), 16);
        at += 5;
        return code;
      } catch (NumberFormatException e) {
        throw error("four hexadecimal digits");
      }
    }
    throw error("an escape of JSON");
  }
}
