package org.kernbench.cli;

import java.util.Locale;
import org.kernbench.eval.Progress;

/**
 * Shows progress on standard error: one redrawn line on a terminal, otherwise a plain line every
 * ten seconds, so that a log of a short run stays empty.
 */
final class ProgressLine implements Progress {
  private static final long REDRAW_NS = 100_000_000L;
  private static final long PLAIN_NS = 10_000_000_000L;
  private static final int BAR = 24;

  private final Terminal terminal;
  private final long beginNs = System.nanoTime();
  private long lastNs = beginNs;
  private boolean drawn;

  ProgressLine(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public void at(int done, int total, String what) {
    long now = System.nanoTime();
    if (now - lastNs < (terminal.interactive() ? REDRAW_NS : PLAIN_NS) || done >= total) {
      return;
    }
    lastNs = now;
    String text =
        String.format(Locale.ROOT, "%d/%d %s%s", done, total, what, left(done, total, now));
    if (terminal.interactive()) {
      int filled = BAR * done / total;
      terminal
          .err()
          .print("\r\033[K[" + "#".repeat(filled) + "-".repeat(BAR - filled) + "] " + text);
      drawn = true;
    } else {
      terminal.say(text);
    }
    terminal.err().flush();
  }

  private String left(int done, int total, long now) {
    if (done == 0) {
      return "";
    }
    long seconds = Math.round((now - beginNs) / 1e9 / done * (total - done));
    return ", " + seconds + " s left";
  }

  /** Takes the line off the terminal. */
  void clear() {
    if (drawn) {
      terminal.err().print("\r\033[K");
      terminal.err().flush();
      drawn = false;
    }
  }
}
