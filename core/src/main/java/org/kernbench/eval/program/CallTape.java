package org.kernbench.eval.program;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.config.UsageException;
import org.kernbench.eval.output.JsonObject;
import org.kernbench.tensor.DType;
import org.kernbench.tensor.Shape;

/**
 * Calls of the kernel language, in order.
 *
 * @param calls what was called, with operands by number
 */
record CallTape(List<Call> calls) {
  /**
   * One call.
   *
   * @param name of the method, for example {@code add}
   * @param line where it stands in the author's source
   * @param out number of the value that it makes, or -1
   * @param fields the operands
   */
  record Call(String name, String line, int out, JsonObject fields) {}

  /** Reads {@code tape}, a list of calls, and {@code lines}, which these name by number. */
  static CallTape of(JsonObject answer) {
    List<String> lines = answer.texts("lines");
    List<Call> calls = new ArrayList<>();
    for (JsonObject call : answer.objects("tape")) {
      int line = call.whole("l");
      if (line < 0 || line >= lines.size()) {
        throw new UsageException(
            "message: l: got " + line + "; expected a line of " + lines.size());
      }
      calls.add(
          new Call(call.text("c"), lines.get(line), call.has("o") ? call.whole("o") : -1, call));
    }
    return new CallTape(calls);
  }

  void playOn(Player player) {
    for (Call call : calls) {
      player.play(call);
    }
  }

  static Shape shape(List<Integer> dims) {
    return Shape.of(ints(dims));
  }

  static int[] ints(List<Integer> list) {
    return list.stream().mapToInt(Integer::intValue).toArray();
  }

  /** A type by its code. */
  static DType dtype(String code) {
    try {
      return DType.parse(code);
    } catch (IllegalArgumentException e) {
      throw new UsageException(String.valueOf(e.getMessage()));
    }
  }

  static UsageException unknown(String field, String got) {
    return new UsageException(
        "message: %s: got \"%s\", which this version does not know".formatted(field, got));
  }
}
