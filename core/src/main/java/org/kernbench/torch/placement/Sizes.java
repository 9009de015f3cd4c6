package org.kernbench.torch.placement;

import java.util.Locale;

/** Sizes as a person writes them. */
public final class Sizes {
  private static final String[] UNITS = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};

  private Sizes() {}

  /** For example {@code 2 GiB}, {@code 1.5 MiB}, {@code 100 B}. */
  public static String of(long bytes) {
    int unit = 0;
    double value = bytes;
    while (value >= 1024 && unit < UNITS.length - 1) {
      value /= 1024;
      unit++;
    }
    String number = String.format(Locale.ROOT, "%.2f", value).replaceAll("\\.?0+$", "");
    return number + " " + UNITS[unit];
  }
}
