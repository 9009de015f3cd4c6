package org.kernbench.config;

import java.io.IOException;

/**
 * A file of the user's that cannot be read. The message is the end of a sentence that begins with
 * the name of the file: what it is, and what was expected.
 */
public final class UnreadableException extends IOException {
  private static final long serialVersionUID = 1L;

  private final boolean missing;

  UnreadableException(boolean missing, String message) {
    super(message);
    this.missing = missing;
  }

  /** Whether there is nothing of that name, or nothing could have that name. */
  public boolean isMissing() {
    return missing;
  }
}
