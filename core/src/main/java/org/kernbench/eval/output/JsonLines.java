package org.kernbench.eval.output;

import tools.jackson.core.JsonGenerator;
import tools.jackson.core.PrettyPrinter;

/**
 * Where the lines of a JSON text end: after each name or item, with two spaces of indent for each
 * level, except in what is {@link #flat}; or nowhere but between values.
 */
final class JsonLines implements PrettyPrinter {
  private final boolean indented;
  private boolean nextIsFlat;
  private boolean flat;
  private int depth;

  JsonLines(boolean indented) {
    this.indented = indented;
  }

  /** Whether the object or array that begins now, which holds no others, stays on its line. */
  void flat(boolean isFlat) {
    nextIsFlat = isFlat;
  }

  private void line(JsonGenerator out) {
    if (indented && !flat) {
      out.writeRaw('\n');
      out.writeRaw("  ".repeat(depth));
    }
  }

  private void separate(JsonGenerator out) {
    out.writeRaw(',');
    if (indented && flat) {
      out.writeRaw(' ');
    }
    line(out);
  }

  private void begin(JsonGenerator out, char bracket) {
    out.writeRaw(bracket);
    depth++;
    flat = nextIsFlat;
  }

  private void end(JsonGenerator out, int items, char bracket) {
    depth--;
    if (items > 0) {
      line(out);
    }
    out.writeRaw(bracket);
    flat = false;
  }

  @Override
  public void writeRootValueSeparator(JsonGenerator out) {
    out.writeRaw(",\n");
  }

  @Override
  public void writeStartObject(JsonGenerator out) {
    begin(out, '{');
  }

  @Override
  public void beforeObjectEntries(JsonGenerator out) {
    line(out);
  }

  @Override
  public void writeObjectNameValueSeparator(JsonGenerator out) {
    out.writeRaw(indented ? ": " : ":");
  }

  @Override
  public void writeObjectEntrySeparator(JsonGenerator out) {
    separate(out);
  }

  @Override
  public void writeEndObject(JsonGenerator out, int entries) {
    end(out, entries, '}');
  }

  @Override
  public void writeStartArray(JsonGenerator out) {
    begin(out, '[');
  }

  @Override
  public void beforeArrayValues(JsonGenerator out) {
    line(out);
  }

  @Override
  public void writeArrayValueSeparator(JsonGenerator out) {
    separate(out);
  }

  @Override
  public void writeEndArray(JsonGenerator out, int items) {
    end(out, items, ']');
  }
}
