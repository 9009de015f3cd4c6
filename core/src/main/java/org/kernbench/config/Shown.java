package org.kernbench.config;

import java.util.Locale;

/**
 * Words of a user's in a message: those that are very long are shortened, and what would steer a
 * terminal is written as an escape.
 */
public final class Shown {
  private static final int MOST = 200;
  private static final int KEPT = 60;

  private Shown() {}

  /** One value, in at most {@value #MOST} characters or a little more. */
  public static String text(String value) {
    String kept =
        value.length() <= MOST
            ? value
            : value.substring(0, KEPT) + "… (" + value.length() + " characters)";
    return escaped(kept, false);
  }

  /** A message of any length; line ends and tabs stay. */
  public static String message(String text) {
    return escaped(text, true);
  }

  private static String escaped(String text, boolean lines) {
    StringBuilder out = null;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      boolean steers = c < ' ' || (c >= 0x7f && c < 0xa0);
      if (steers && !(lines && (c == '\n' || c == '\t'))) {
        out = out == null ? new StringBuilder(text.substring(0, i)) : out;
        out.append(String.format(Locale.ROOT, "\\u%04x", (int) c));
      } else if (out != null) {
        out.append(c);
      }
    }
    return out == null ? text : out.toString();
  }
}
