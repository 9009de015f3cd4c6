package org.kernbench.config;

import java.util.Collection;
import java.util.Locale;
import java.util.Optional;

/** Finds the name a user probably meant. */
public final class Suggest {
  private static final int LONGEST = 200;

  private Suggest() {}

  /**
   * The known name nearest to {@code word} by Damerau-Levenshtein distance (insert, delete,
   * replace, swap of neighbours), ignoring case and the difference of {@code -} and {@code _}; the
   * first of equals. Empty if even the nearest differs in more than a third of its letters (at
   * least two, but of a word of three letters or fewer only one).
   */
  public static Optional<String> nearest(String word, Collection<String> known) {
    String wanted = fold(word);
    Optional<String> best = Optional.empty();
    int bestDistance = Integer.MAX_VALUE;
    for (String candidate : known) {
      int shorter = Math.min(word.length(), candidate.length());
      int longer = Math.max(word.length(), candidate.length());
      int limit = shorter <= 3 ? 1 : Math.max(2, longer / 3);
      if (longer - shorter > limit || longer > LONGEST) {
        continue; // so much must at least be inserted; and nobody mistypes a page
      }
      int distance = distance(wanted, fold(candidate));
      if (distance < bestDistance && distance <= limit) {
        best = Optional.of(candidate);
        bestDistance = distance;
      }
    }
    return best;
  }

  /** {@code "; did you mean NAME?"}, or nothing if no known name is near. */
  public static String hint(String word, Collection<String> known) {
    return nearest(word, known).map(name -> "; did you mean " + name + "?").orElse("");
  }

  /** A name in the form in which names are compared. */
  public static String fold(String name) {
    return name.toLowerCase(Locale.ROOT).replace('-', '_');
  }

  static int distance(String a, String b) {
    int[] beforeLast = new int[b.length() + 1];
    int[] last = new int[b.length() + 1];
    int[] now = new int[b.length() + 1];
    for (int j = 0; j <= b.length(); j++) {
      last[j] = j;
    }
    for (int i = 1; i <= a.length(); i++) {
      now[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int replace = last[j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        now[j] = Math.min(replace, 1 + Math.min(last[j], now[j - 1]));
        boolean swapped =
            i > 1
                && j > 1
                && a.charAt(i - 1) == b.charAt(j - 2)
                && a.charAt(i - 2) == b.charAt(j - 1);
        if (swapped) {
          now[j] = Math.min(now[j], beforeLast[j - 2] + 1);
        }
      }
      int[] spare = beforeLast;
      beforeLast = last;
      last = now;
      now = spare;
    }
    return last[b.length()];
  }
}
