package org.kernbench.machine.astra;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.kernbench.config.ConfigMap;
import org.kernbench.config.ConfigTree;
import org.kernbench.config.Problems;
import org.kernbench.config.Suggest;

/** A network file: one entry per dimension in each of its lists, innermost first. */
final class AstraNetwork {
  /** Bytes in what the file calls a GB. */
  private static final BigDecimal GIB = BigDecimal.valueOf(1L << 30);

  private static final int MOST_DIMENSIONS = 8;
  private static final BigDecimal MOST_RATE = BigDecimal.valueOf(1_000_000_000L);
  private static final BigDecimal MOST_LATENCY = BigDecimal.valueOf(1_000_000_000_000L);

  /** As many as a machine can have. */
  private static final long MOST_PACKAGES = 1 << 24;

  /** As many as can be joined each to each. */
  private static final int MOST_PEERS = 1024;

  private static final List<String> KINDS = List.of("Ring", "FullyConnected", "Switch");

  /**
   * A dimension.
   *
   * @param kind as the file has it
   * @param bytesPerSecond of a link, per direction
   * @param latencyPs of a link
   */
  record Dimension(String kind, int size, long bytesPerSecond, long latencyPs) {
    boolean isSwitch() {
      return kind.equals("Switch");
    }
  }

  private final List<Dimension> dimensions = new ArrayList<>();

  private AstraNetwork() {}

  /** Reads a file; what is wrong goes to {@code problems}, what became of its keys to the rest. */
  static AstraNetwork read(ConfigTree tree, Problems problems, List<ImportedKey> findings) {
    AstraNetwork network = new AstraNetwork();
    ConfigMap root = tree.root(problems);
    List<String> kinds = root.texts("topology");
    List<String> sizes = root.texts("npus_count");
    List<String> rates = root.texts("bandwidth");
    List<String> latencies = root.texts("latency");
    if (kinds.size() > MOST_DIMENSIONS) {
      root.problem(
          "topology", "got " + kinds.size() + " dimensions; expected at most " + MOST_DIMENSIONS);
    }
    checkLength(root, "npus_count", sizes, kinds, problems);
    checkLength(root, "bandwidth", rates, kinds, problems);
    checkLength(root, "latency", latencies, kinds, problems);
    if (!problems.isEmpty()) {
      return network;
    }
    for (int d = 0; d < kinds.size(); d++) {
      network.dimensions.add(
          new Dimension(
              kind(root, kinds.get(d)),
              size(root, kinds.get(d), sizes.get(d)),
              rate(root, rates.get(d)),
              latency(root, latencies.get(d))));
    }
    if (network.packages() > MOST_PACKAGES) {
      root.problem(
          "npus_count",
          "got %s, more packages together than a machine can have; expected %s at most"
              .formatted(String.join(", ", sizes), MOST_PACKAGES));
    }
    network.report(root, findings);
    for (String key : root.keys()) {
      if (!List.of("topology", "npus_count", "bandwidth", "latency").contains(key)) {
        findings.add(
            ImportedKey.unknown(root, key, Suggest.hint(key, List.of("topology", "npus_count"))));
      }
    }
    return network;
  }

  private static void checkLength(
      ConfigMap root, String key, List<String> values, List<String> kinds, Problems problems) {
    if (problems.isClean(key, "topology") && values.size() != kinds.size()) {
      root.problem(
          key,
          "got %s entries for the %s of topology; expected one for each dimension"
              .formatted(values.size(), kinds.size()));
    }
  }

  private static String kind(ConfigMap root, String word) {
    for (String kind : KINDS) {
      if (kind.equals(word)) {
        return kind;
      }
    }
    root.problem(
        "topology",
        "got \"%s\"; expected %s%s"
            .formatted(word, String.join(", ", KINDS), Suggest.hint(word, KINDS)));
    return KINDS.getFirst();
  }

  private static int size(ConfigMap root, String kind, String text) {
    boolean isEachToEach = kind.equals("FullyConnected");
    long most = isEachToEach ? MOST_PEERS : MOST_PACKAGES;
    if (text.matches("\\d{1,8}") && Integer.parseInt(text) > 1 && Integer.parseInt(text) <= most) {
      return Integer.parseInt(text);
    }
    root.problem(
        "npus_count",
        "got \"%s\"; expected a whole number from 2 to %s%s"
            .formatted(text, most, isEachToEach ? " (FullyConnected)" : ""));
    return 2;
  }

  private static long rate(ConfigMap root, String text) {
    BigDecimal rate = Decimal.of(text);
    if (rate == null || rate.signum() <= 0 || rate.compareTo(MOST_RATE) > 0) {
      root.problem(
          "bandwidth",
          "got \"%s\"; expected a number above 0, in 2^30 bytes per second, e.g. 50"
              .formatted(text));
      return 1;
    }
    return Math.max(1, Decimal.rounded(rate.multiply(GIB)));
  }

  private static long latency(ConfigMap root, String text) {
    BigDecimal latency = Decimal.of(text);
    if (latency == null || latency.signum() < 0 || latency.compareTo(MOST_LATENCY) > 0) {
      root.problem(
          "latency", "got \"%s\"; expected nanoseconds, 0 or more, e.g. 500".formatted(text));
      return 0;
    }
    return Decimal.rounded(latency.multiply(BigDecimal.valueOf(1000)));
  }

  private void report(ConfigMap root, List<ImportedKey> findings) {
    List<String> words = dimensions.stream().map(d -> word(d.kind())).toList();
    findings.add(
        ImportedKey.taken(root, "topology", "system.network kind: " + String.join(", ", words)));
    findings.add(
        ImportedKey.taken(root, "npus_count", "system.network size, " + packages() + " sips"));
    findings.add(
        ImportedKey.taken(
            root, "bandwidth", "system.network bandwidth, as 2^30 bytes per second for each GB/s"));
    String sides =
        dimensions.stream().anyMatch(Dimension::isSwitch)
            ? "system.network latency; of a switch on each of its two sides"
            : "system.network latency";
    findings.add(ImportedKey.taken(root, "latency", sides));
    if (dimensions.stream().anyMatch(d -> d.latencyPs() < AstraImport.LEAST_LATENCY_PS)) {
      findings.add(
          ImportedKey.different(
              root,
              "latency",
              "a message takes at least " + AstraImport.LEAST_LATENCY_PS + " ps here"));
    }
  }

  /** The word for a kind in a machine file. */
  static String word(String kind) {
    return kind.equals("FullyConnected") ? "fully_connected" : kind.toLowerCase(Locale.ROOT);
  }

  List<Dimension> dimensions() {
    return dimensions;
  }

  long packages() {
    long packages = 1;
    for (Dimension each : dimensions) {
      packages = packages > MOST_PACKAGES ? packages : packages * each.size();
    }
    return packages;
  }
}
