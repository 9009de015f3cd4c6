package org.kernbench.tensor;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.TokenStreamLocation;
import tools.jackson.core.json.JsonFactory;

/**
 * Reads JSON (RFC 8259) into maps, lists, text, numbers and truth values; refuses duplicate keys.
 * Just for headers of files: it is strict, and messages name the position in the header.
 */
final class HeaderJson {
  /** What a header may need and more: it has three levels, and offsets of 19 digits. */
  private static final StreamReadConstraints LIMITS =
      StreamReadConstraints.builder()
          .maxNestingDepth(16)
          .maxNumberLength(40)
          .maxStringLength(Integer.MAX_VALUE)
          .maxNameLength(Integer.MAX_VALUE)
          .build();

  private final String file;
  private final JsonParser in;

  private HeaderJson(String file, JsonParser in) {
    this.file = file;
    this.in = in;
  }

  /** The value that a text is; blanks may follow it. */
  static Object parse(String file, String text) throws SafeTensorsFormatException {
    JsonFactory json = JsonFactory.builder().streamReadConstraints(LIMITS).build();
    try (JsonParser in = json.createParser(ObjectReadContext.empty(), text)) {
      return new HeaderJson(file, in).whole();
    }
  }

  private Object whole() throws SafeTensorsFormatException {
    try {
      Object value = value(in.nextToken());
      if (in.nextToken() != null) {
        throw error("got '" + in.getString() + "'; expected the end of the header");
      }
      return value;
    } catch (JacksonException e) {
      boolean isLimit = e.getLocation() == null; // a limit is told without its place
      throw error(isLimit ? in.currentLocation() : e.getLocation(), e.getOriginalMessage());
    }
  }

  private SafeTensorsFormatException error(String what) {
    return error(in.currentTokenLocation(), what);
  }

  private SafeTensorsFormatException error(TokenStreamLocation at, String what) {
    return new SafeTensorsFormatException(
        "%s: header, character %s: %s".formatted(file, at.getCharOffset(), ArrayFile.shown(what)));
  }

  private Object value(JsonToken token) throws SafeTensorsFormatException {
    return switch (token) {
      case START_OBJECT -> object();
      case START_ARRAY -> array();
      case VALUE_STRING -> in.getString();
      case VALUE_TRUE -> true;
      case VALUE_FALSE -> false;
      case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> new BigDecimal(in.getString());
      case null -> throw error("got the end; expected a value");
      case VALUE_NULL -> throw error("got null; expected a value");
      case END_OBJECT, END_ARRAY, PROPERTY_NAME, VALUE_EMBEDDED_OBJECT, NOT_AVAILABLE ->
          throw new AssertionError(token);
    };
  }

  private Map<String, Object> object() throws SafeTensorsFormatException {
    Map<String, Object> map = new LinkedHashMap<>();
    while (in.nextToken() == JsonToken.PROPERTY_NAME) {
      String name = in.currentName();
      if (map.containsKey(name)) {
        throw error("expected each name once, not \"" + ArrayFile.shown(name) + "\" again");
      }
      map.put(name, value(in.nextToken()));
    }
    return map;
  }

  private List<Object> array() throws SafeTensorsFormatException {
    List<Object> list = new ArrayList<>();
    while (in.nextToken() != JsonToken.END_ARRAY) {
      list.add(value(in.currentToken()));
    }
    return list;
  }
}
