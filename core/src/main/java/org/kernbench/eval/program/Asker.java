package org.kernbench.eval.program;

import java.util.Map;
import org.kernbench.eval.output.JsonObject;

/** The author of a program, who is asked how it goes on. */
@FunctionalInterface
public interface Asker {
  /** Puts a question and waits for the answer. */
  JsonObject ask(Map<String, Object> question);
}
