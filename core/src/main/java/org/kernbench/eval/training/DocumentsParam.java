package org.kernbench.eval.training;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.kernbench.config.UnreadableException;
import org.kernbench.config.UsageException;
import org.kernbench.config.UserFile;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.nn.parallel.Documents;

/** The parameter that packs documents into each sequence, drawn at random or listed in a file. */
final class DocumentsParam {
  private static final String NONE = "none";
  private static final long SEED = 7;
  private static final long LONGEST = 64 << 20;
  private static final String EXPECTED =
      "none, a mean length from 1, perhaps with a seed, e.g. 512 or 512:3, or a file.csv of lengths";

  static final Param<String> PARAM =
      Param.word(
          "documents",
          NONE,
          EXPECTED,
          "documents packed into each sequence, attention inside of each");

  private DocumentsParam() {}

  /**
   * The documents of every sample.
   *
   * @param word what a user chose
   * @param tokens of a sample
   * @throws UsageException if these cannot be
   */
  static Optional<Documents> of(String word, int tokens) {
    if (word.equals(NONE)) {
      return Optional.empty();
    }
    return Optional.of(word.endsWith(".csv") ? listed(word, tokens) : drawn(word, tokens));
  }

  /** Lengths whose mean is about that asked for: exponential, from 1, the last one cut. */
  private static Documents drawn(String word, int tokens) {
    String[] parts = word.split(":", -1);
    Long mean = parts.length > 2 ? null : number(parts[0]);
    Long seed = parts.length == 1 ? (Long) SEED : number(parts[1]);
    if (mean == null || seed == null || mean < 1) {
      throw new UsageException("documents: got \"%s\"; expected %s".formatted(word, EXPECTED));
    }
    SplittableRandom random = new SplittableRandom(seed);
    List<Integer> lengths = new ArrayList<>();
    for (int left = tokens; left > 0; left -= lengths.getLast()) {
      double length = Math.ceil(-mean * StrictMath.log1p(-random.nextDouble()));
      lengths.add((int) Math.clamp(length, 1, left));
    }
    return documents(lengths);
  }

  private static @Nullable Long number(String digits) {
    return digits.matches("[0-9]{1,15}") ? Long.valueOf(digits) : null;
  }

  private static Documents listed(String file, int tokens) {
    String text;
    try {
      text = UserFile.text(UserFile.path(file), LONGEST, "lengths of documents");
    } catch (UnreadableException e) {
      throw new UsageException("documents: " + file + ": " + e.getMessage());
    }
    List<Integer> lengths = new ArrayList<>();
    long all = 0;
    String[] lines = text.split("\n", -1);
    for (int i = 0; i < lines.length; i++) {
      for (String cell : lines[i].strip().split(",", -1)) {
        if (!cell.isBlank()) {
          Long length = number(cell.strip());
          if (length == null || length < 1 || length > tokens) {
            throw new UsageException(
                "documents: %s:%s: got \"%s\"; expected the length of a document, 1 to %s"
                    .formatted(file, i + 1, cell.strip(), tokens));
          }
          lengths.add(Math.toIntExact(length));
          all += length;
        }
      }
    }
    if (all != tokens) {
      throw new UsageException(
          "documents: %s: %s documents of %s tokens in all; expected tokens=%s, the length of a sample"
              .formatted(file, lengths.size(), all, tokens));
    }
    return documents(lengths);
  }

  private static Documents documents(List<Integer> lengths) {
    return Documents.ofLengths(lengths.stream().mapToInt(Integer::intValue).toArray());
  }

  /** Says what there is. */
  static void conditions(Outcome outcome, Documents documents) {
    List<Integer> lengths = lengths(documents);
    outcome
        .condition("documents_of_sample", lengths.size())
        .condition(
            "longest_document", lengths.stream().mapToInt(Integer::intValue).max().orElse(0));
  }

  private static List<Integer> lengths(Documents documents) {
    List<Integer> at = documents.cumulative();
    List<Integer> lengths = new ArrayList<>();
    for (int i = 1; i < at.size(); i++) {
      lengths.add(at.get(i) - at.get(i - 1));
    }
    return lengths;
  }

  /** How many keys a query sees on average: those of its document up to itself. */
  static double keys(Optional<Documents> documents, int tokens) {
    List<Integer> all = documents.map(DocumentsParam::lengths).orElse(List.of(tokens));
    return all.stream().mapToDouble(n -> n * (n + 1.0) / 2).sum() / tokens;
  }
}
