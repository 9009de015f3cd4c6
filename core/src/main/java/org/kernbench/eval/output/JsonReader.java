package org.kernbench.eval.output;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.config.UsageException;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.JsonTokenId;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.json.JsonFactory;

/** Reads JSON (RFC 8259) into the same maps and lists that {@link Json} writes. */
final class JsonReader {
  /** Levels that a text may have: deeper ones are refused, not read until the stack ends. */
  private static final int DEEPEST = 200;

  private static final JsonFactory FACTORY =
      JsonFactory.builder()
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNestingDepth(DEEPEST)
                  .maxStringLength(Integer.MAX_VALUE)
                  .build())
          .build();

  private JsonReader() {}

  /**
   * The value of a text in UTF-8: a {@link Map} in the order of the text, a {@link List}, text, a
   * {@link Long}, a {@link Double}, a {@link Boolean} or {@link Json#NULL}.
   *
   * @throws UsageException if it is no JSON, names a key twice, is deeper than 200 levels, or goes
   *     on after its first value
   */
  static Object read(byte[] utf8) {
    try (JsonParser in = FACTORY.createParser(ObjectReadContext.empty(), utf8)) {
      in.nextToken();
      Object value = value(in);
      if (in.nextToken() != null) {
        throw new UsageException("JSON: text after the first value; expected one value");
      }
      return value;
    } catch (JacksonException e) {
      throw new UsageException("JSON: " + e.getOriginalMessage());
    }
  }

  private static Object value(JsonParser in) {
    JsonToken token = in.currentToken();
    if (token == null) {
      throw new UsageException("JSON: the text ends where a value was expected");
    }
    return switch (token.id()) {
      case JsonTokenId.ID_START_OBJECT -> object(in);
      case JsonTokenId.ID_START_ARRAY -> array(in);
      case JsonTokenId.ID_STRING -> in.getString();
      case JsonTokenId.ID_NUMBER_INT -> whole(in);
      case JsonTokenId.ID_NUMBER_FLOAT -> in.getDoubleValue();
      case JsonTokenId.ID_TRUE -> true;
      case JsonTokenId.ID_FALSE -> false;
      case JsonTokenId.ID_NULL -> Json.NULL;
      default -> throw new UsageException("JSON: unexpected " + token);
    };
  }

  private static Object whole(JsonParser in) {
    return in.getNumberType() == JsonParser.NumberType.BIG_INTEGER
        ? (Object) in.getDoubleValue()
        : (Object) in.getLongValue();
  }

  private static Map<String, Object> object(JsonParser in) {
    Map<String, Object> map = new LinkedHashMap<>();
    for (String name = in.nextName(); name != null; name = in.nextName()) {
      in.nextToken();
      map.put(name, value(in));
    }
    return map;
  }

  private static List<Object> array(JsonParser in) {
    List<Object> list = new ArrayList<>();
    while (in.nextToken() != JsonToken.END_ARRAY) {
      list.add(value(in));
    }
    return list;
  }
}
