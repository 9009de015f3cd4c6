package org.kernbench.config;

/**
 * One thing wrong, or worth a warning, in a configuration.
 *
 * @param file file name as the user gave it, or {@code --set} for an override
 * @param line 1-based line; for {@code --set} the number of the override
 * @param column 1-based column
 * @param path dotted path of the key; may be empty for the whole file
 * @param message what was found, what was expected, how to fix it
 */
public record Problem(String file, int line, int column, String path, String message) {
  Problem(Position at, String path, String message) {
    this(at.file(), at.line(), at.column(), path, message);
  }

  /** {@code file:line:column: path: message}. */
  @Override
  public String toString() {
    String place = file + ":" + line + ":" + column + ": ";
    return path.isEmpty() ? place + message : place + Shown.text(path) + ": " + message;
  }
}
