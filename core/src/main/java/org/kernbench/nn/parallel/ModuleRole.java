package org.kernbench.nn.parallel;

import java.util.Locale;

/** Which of two modules of a model. */
public enum ModuleRole {
  /** Makes what the language model takes in beside text. */
  ENCODER,
  /** The language model; a model of one module is that. */
  LANGUAGE;

  /** Its name in reports and layouts. */
  public String token() {
    return name().toLowerCase(Locale.ROOT);
  }

  @Override
  public String toString() {
    return token();
  }
}
