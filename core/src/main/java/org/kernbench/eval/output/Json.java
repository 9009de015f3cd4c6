package org.kernbench.eval.output;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.ObjectWriteContext;
import tools.jackson.core.PrettyPrinter;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.StreamWriteFeature;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.core.json.JsonWriteFeature;

/**
 * Writes maps, lists, numbers, text, truth and {@link #NULL} as JSON: two spaces of indent, keys in
 * the order of the map, the same text for the same values on any machine.
 */
public final class Json {
  /** JSON's {@code null}. */
  public static final Object NULL = new Object();

  private static final JsonFactory FACTORY =
      JsonFactory.builder()
          .disable(JsonWriteFeature.ESCAPE_FORWARD_SLASHES)
          .disable(JsonWriteFeature.WRITE_HEX_UPPER_CASE)
          .disable(JsonWriteFeature.COMBINE_UNICODE_SURROGATES_IN_UTF8)
          .enable(StreamWriteFeature.WRITE_BIGDECIMAL_AS_PLAIN)
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNestingDepth(1000)
                  .maxStringLength(Integer.MAX_VALUE)
                  .maxNameLength(Integer.MAX_VALUE)
                  .maxNumberLength(Integer.MAX_VALUE)
                  .build())
          .build();

  private final JsonGenerator out;
  private final JsonLines lines;

  private Json(JsonGenerator out, JsonLines lines) {
    this.out = out;
    this.lines = lines;
  }

  /** The value as text with a line end. */
  public static String write(Object value) {
    return text(value, new JsonLines(true)) + '\n';
  }

  /** The value as text on one line, without spaces. */
  public static String compact(Object value) {
    return text(value, new JsonLines(false));
  }

  /** For values written one by one: without spaces, each but the first on a line of its own. */
  public static JsonGenerator items(OutputStream out) {
    return generator(out, new JsonLines(false));
  }

  /** Writes a value where {@link #items} stands. */
  public static void write(Object value, JsonGenerator out) {
    new Json(out, new JsonLines(false)).value(value, 0);
  }

  private static String text(Object value, JsonLines lines) {
    ByteArrayOutputStream text = new ByteArrayOutputStream();
    try (JsonGenerator out = generator(text, lines)) {
      new Json(out, lines).value(value, 0);
    }
    return text.toString(StandardCharsets.UTF_8);
  }

  private static JsonGenerator generator(OutputStream out, JsonLines lines) {
    ObjectWriteContext layout =
        new ObjectWriteContext.Base() {
          @Override
          public PrettyPrinter getPrettyPrinter() {
            return lines;
          }
        };
    return FACTORY.createGenerator(layout, out);
  }

  /** Whether a text is a JSON object (RFC 8259) of at most a thousand levels. */
  public static boolean isJsonObject(String text) {
    try (JsonParser in = FACTORY.createParser(ObjectReadContext.empty(), text)) {
      boolean isObject = in.nextToken() == JsonToken.START_OBJECT;
      in.skipChildren();
      return isObject && in.nextToken() == null;
    } catch (JacksonException e) {
      return false;
    }
  }

  private void value(Object value, int depth) {
    switch (value) {
      case Map<?, ?> map -> object(map, depth);
      case List<?> list -> array(list, depth);
      case BigDecimal decimal -> out.writeNumber(decimal);
      case Double number -> number(number);
      case Integer number -> out.writeNumber(number);
      case Long number -> out.writeNumber(number);
      case Boolean truth -> out.writeBoolean(truth);
      case Object o when o == NULL -> out.writeNull();
      default -> out.writeString(value.toString());
    }
  }

  /** JSON has no infinity and no NaN: they are written as text. */
  private void number(double number) {
    if (!Double.isFinite(number)) {
      out.writeString(Double.toString(number));
    } else if (number == Math.rint(number) && Math.abs(number) < 1e15) {
      out.writeNumber((long) number);
    } else {
      out.writeNumber(Double.toString(number));
    }
  }

  private void object(Map<?, ?> map, int depth) {
    lines.flat(depth > 1 && map.values().stream().noneMatch(Json::isNested));
    out.writeStartObject();
    map.forEach((name, value) -> {
      out.writeName(String.valueOf(name));
      value(value, depth + 1);
    });
    out.writeEndObject();
  }

  private void array(List<?> list, int depth) {
    lines.flat(depth > 1 && list.stream().allMatch(Integer.class::isInstance));
    out.writeStartArray();
    list.forEach(item -> value(item, depth + 1));
    out.writeEndArray();
  }

  private static boolean isNested(Object value) {
    return value instanceof Map || value instanceof List;
  }
}
