package org.kernbench.eval.program;

import java.util.Map;
import org.kernbench.eval.output.JsonObject;

/** The author of a program, who is asked how it goes on. */
public interface Asker {
  /** Puts a question and goes on; its answer has to be heard before the next is put. */
  void put(Map<String, Object> question);

  /** Waits for the answer to the question that was put last. */
  JsonObject hear();

  /** Puts a question and waits for the answer. */
  default JsonObject ask(Map<String, Object> question) {
    put(question);
    return hear();
  }
}
