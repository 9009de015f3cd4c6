package org.kernbench.chakra;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.json.JsonFactory;

/**
 * Reads JSON into maps, lists, text, {@link Long}, {@link Double}, {@link Boolean} and {@link
 * Attribute#NOTHING}.
 */
final class JsonTree {
  private static final JsonFactory FACTORY =
      JsonFactory.builder()
          .streamReadConstraints(
              StreamReadConstraints.builder().maxNestingDepth(64).maxNumberLength(40).build())
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .build();

  private JsonTree() {}

  /** The one value of a text. */
  static Object read(String text, String file) {
    List<Object> all = readAll(text, file);
    if (all.size() > 1) {
      throw new TraceException(file + ": more than one value; expected one JSON object");
    }
    return all.getFirst();
  }

  /** The values of a text one after the other, at least one. */
  static List<Object> readAll(String text, String file) {
    try (JsonParser json = FACTORY.createParser(ObjectReadContext.empty(), text)) {
      List<Object> all = new ArrayList<>();
      json.nextToken();
      do {
        all.add(value(json));
      } while (json.nextToken() != null);
      return all;
    } catch (JacksonException e) {
      throw new TraceException(
          "%s: line %s, column %s: no JSON (%s); expected an object"
              .formatted(
                  file,
                  e.getLocation() == null ? 0 : e.getLocation().getLineNr(),
                  e.getLocation() == null ? 0 : e.getLocation().getColumnNr(),
                  e.getOriginalMessage()));
    }
  }

  private static Object value(JsonParser json) {
    JsonToken token = json.currentToken();
    if (token == null) {
      return Attribute.NOTHING;
    }
    return switch (token) {
      case START_OBJECT -> object(json);
      case START_ARRAY -> array(json);
      case VALUE_NUMBER_INT -> integer(json);
      case VALUE_NUMBER_FLOAT -> json.getDoubleValue();
      case VALUE_TRUE -> true;
      case VALUE_FALSE -> false;
      case VALUE_STRING -> json.getString();
      case VALUE_NULL, VALUE_EMBEDDED_OBJECT, END_OBJECT, END_ARRAY, PROPERTY_NAME, NOT_AVAILABLE ->
          Attribute.NOTHING;
    };
  }

  private static Object integer(JsonParser json) {
    return switch (json.getNumberType()) {
      case INT, LONG -> json.getLongValue();
      case BIG_INTEGER, FLOAT, DOUBLE, BIG_DECIMAL -> json.getDoubleValue();
    };
  }

  private static Map<String, Object> object(JsonParser json) {
    Map<String, Object> map = new LinkedHashMap<>();
    while (json.nextToken() != JsonToken.END_OBJECT) {
      String name = json.currentName();
      json.nextToken();
      map.put(name, value(json));
    }
    return map;
  }

  private static List<Object> array(JsonParser json) {
    List<Object> list = new ArrayList<>();
    while (json.nextToken() != JsonToken.END_ARRAY) {
      list.add(value(json));
    }
    return list;
  }
}
