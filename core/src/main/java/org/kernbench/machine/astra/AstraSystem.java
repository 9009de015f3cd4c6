package org.kernbench.machine.astra;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.config.ConfigMap;
import org.kernbench.config.ConfigTree;
import org.kernbench.config.Problems;
import org.kernbench.config.Suggest;

/** A system file: collectives, what ends of messages cost, and the processor. */
final class AstraSystem {
  /** The operations whose algorithms are taken, by the key that names them. */
  static final Map<String, String> OPERATIONS = operations();

  /** What the tool takes if the file does not say it. */
  private static final BigDecimal USUAL_DELAY_NS = BigDecimal.TEN;

  private static final BigDecimal MOST = BigDecimal.valueOf(1_000_000_000_000L);

  /** Keys that change nothing here, and why. */
  private static final Map<String, String> IDLE = idle();

  private static final List<String> KNOWN =
      List.of(
          "endpoint-delay",
          "local-mem-bw",
          "collective-optimization",
          "preferred-dataset-splits",
          "active-chunks-per-dimension",
          "all-reduce-implementation",
          "reduce-scatter-implementation",
          "all-gather-implementation",
          "all-to-all-implementation",
          "peak-perf",
          "roofline-enabled",
          "scheduling-policy");

  private final Map<String, List<String>> along = new LinkedHashMap<>();
  private boolean whole = true;
  private int splits = 1;
  private int activeChunks = 1;
  private long endpointDelayPs = Decimal.rounded(USUAL_DELAY_NS.movePointRight(3));
  private long memoryBytesPerSecond;
  private double peakFlops;

  private AstraSystem() {}

  private static Map<String, String> operations() {
    Map<String, String> keys = new LinkedHashMap<>();
    keys.put("all-reduce-implementation", "all_reduce");
    keys.put("reduce-scatter-implementation", "reduce_scatter");
    keys.put("all-gather-implementation", "all_gather");
    keys.put("all-to-all-implementation", "all_to_all");
    return Collections.unmodifiableMap(keys);
  }

  private static Map<String, String> idle() {
    Map<String, String> idle = new LinkedHashMap<>();
    idle.put("scheduling-policy", "the order of collectives that wait; each is called here");
    idle.put("boost-mode", "how the tool simulates");
    idle.put("trace-enabled", "what the tool writes");
    idle.put("replay-only", "how the tool takes compute nodes of traces; see kernbench trace");
    idle.put("track-local-mem", "what the tool writes");
    idle.put("local-mem-trace-filename", "what the tool writes");
    return Collections.unmodifiableMap(idle);
  }

  /** Reads a file for a network of so many dimensions. */
  static AstraSystem read(
      ConfigTree tree, List<Integer> sizes, Problems problems, List<ImportedKey> findings) {
    AstraSystem system = new AstraSystem();
    ConfigMap root = tree.root(problems);
    system.ends(root, findings);
    system.chunks(root, findings);
    for (String key : OPERATIONS.keySet()) {
      system.along.put(key, system.implementation(root, key, sizes, findings));
    }
    system.processor(root, findings);
    for (String key : root.keys()) {
      if (IDLE.containsKey(key)) {
        findings.add(ImportedKey.idle(root, key, IDLE.getOrDefault(key, "")));
      } else if (key.equals("model-shared-bus") || List.of("L", "o", "g", "G").contains(key)) {
        system.bus(root, key, findings);
      } else if (key.equals("local-reduction-delay")) {
        findings.add(
            ImportedKey.idle(
                root, key, "the analytical network of the tool does not use it either"));
      } else if (!KNOWN.contains(key)) {
        findings.add(ImportedKey.unknown(root, key, Suggest.hint(key, KNOWN)));
      }
    }
    return system;
  }

  private void ends(ConfigMap root, List<ImportedKey> findings) {
    if (root.has("endpoint-delay")) {
      BigDecimal ns = number(root, "endpoint-delay", "nanoseconds, 0 or more, e.g. 1");
      endpointDelayPs = Decimal.rounded(ns.movePointRight(3));
      findings.add(
          ImportedKey.taken(
              root, "endpoint-delay", "endpoint_delay of the algorithms in ccl.yaml"));
    } else {
      findings.add(ImportedKey.missing(root, "endpoint-delay", "10 ns, as the tool takes it"));
    }
    if (root.has("local-mem-bw")) {
      BigDecimal rate = number(root, "local-mem-bw", "10^9 bytes per second, 0 or more, e.g. 50");
      memoryBytesPerSecond = Decimal.rounded(rate.movePointRight(9));
      findings.add(
          ImportedKey.taken(
              root,
              "local-mem-bw",
              memoryBytesPerSecond == 0
                  ? "0: reductions cost nothing"
                  : "memory_bandwidth of the algorithms: two reads and a write for each reduction"));
    } else {
      findings.add(ImportedKey.missing(root, "local-mem-bw", "reductions cost nothing"));
    }
  }

  private static BigDecimal number(ConfigMap root, String key, String expected) {
    BigDecimal number = Decimal.of(root.text(key));
    if (number != null && number.signum() >= 0 && number.compareTo(MOST) <= 0) {
      return number;
    }
    root.problem(key, "got \"" + root.text(key) + "\"; expected " + expected);
    return BigDecimal.ZERO;
  }

  private void chunks(ConfigMap root, List<ImportedKey> findings) {
    if (root.has("collective-optimization")) {
      String word = root.text("collective-optimization");
      List<String> words = List.of("localBWAware", "baseline");
      if (!words.contains(word)) {
        root.problem(
            "collective-optimization",
            "got \"%s\"; expected localBWAware or baseline%s"
                .formatted(word, Suggest.hint(word, words)));
      }
      whole = word.equals("baseline");
      findings.add(
          ImportedKey.taken(
              root,
              "collective-optimization",
              whole
                  ? "vectors: whole, an all-reduce along each dimension"
                  : "vectors: scattered along all dimensions but the last"));
    } else {
      findings.add(
          ImportedKey.missing(
              root, "collective-optimization", "baseline, as the tool takes it: vectors: whole"));
    }
    if (root.has("preferred-dataset-splits")) {
      splits = root.integer("preferred-dataset-splits", 1, 1 << 20);
      findings.add(
          ImportedKey.taken(
              root, "preferred-dataset-splits", "splits of the algorithms, chunks of the vector"));
    }
    if (root.has("active-chunks-per-dimension")) {
      activeChunks = root.integer("active-chunks-per-dimension", 1, 1 << 10);
      findings.add(
          ImportedKey.taken(
              root,
              "active-chunks-per-dimension",
              "active_chunks of the algorithms: %s under way along a dimension at a time"
                  .formatted(activeChunks == 1 ? "one is" : activeChunks + " are")));
    } else {
      findings.add(
          ImportedKey.missing(root, "active-chunks-per-dimension", "1, as the tool takes it"));
    }
  }

  private List<String> implementation(
      ConfigMap root, String key, List<Integer> sizes, List<ImportedKey> findings) {
    boolean exchange = key.equals("all-to-all-implementation");
    String usual = exchange ? "direct" : "ring";
    if (!root.has(key)) {
      findings.add(ImportedKey.missing(root, key, usual + " along each dimension"));
      return Collections.nCopies(sizes.size(), usual);
    }
    List<String> words = root.texts(key);
    if (words.size() != sizes.size()) {
      root.problem(
          key,
          "got %s entries for %s dimensions of the network; expected one for each"
              .formatted(words.size(), sizes.size()));
      return Collections.nCopies(sizes.size(), usual);
    }
    List<String> steps = new ArrayList<>();
    List<String> replaced = new ArrayList<>();
    for (int d = 0; d < words.size(); d++) {
      boolean turns = key.startsWith("all-reduce") && (whole || d == words.size() - 1);
      String word = words.get(d);
      String step = step(word);
      String why = whyNot(step, exchange, turns, sizes.get(d));
      if (!why.isEmpty()) {
        step = word.startsWith("direct") || exchange ? "direct" : "ring";
        replaced.add("%s as %s%s".formatted(word, step, why));
      }
      steps.add(step);
    }
    String taken = OPERATIONS.get(key) + " along: [" + String.join(", ", steps) + "]";
    findings.add(
        replaced.isEmpty()
            ? ImportedKey.taken(root, key, taken)
            : ImportedKey.different(root, key, taken + "; " + String.join(", ", replaced)));
    return steps;
  }

  /** Why a step cannot be taken along a dimension; empty if it can. */
  private static String whyNot(String step, boolean exchange, boolean turns, int size) {
    return switch (step) {
      case "" -> ", which is not known here";
      case "halving_doubling" ->
          exchange
              ? ", for the tool stops at it in an all-to-all"
              : Integer.bitCount(size) == 1 ? "" : ", for " + size + " is no power of two";
      case "double_binary_tree" ->
          !turns
              ? ", for the tool does an all-reduce there"
              : Integer.bitCount(size) == 1 ? "" : ", for " + size + " is no power of two";
      default -> "";
    };
  }

  /** The word for an algorithm along a dimension; empty for one that there is not. */
  private static String step(String word) {
    return switch (word) {
      case "ring" -> "ring";
      case "direct" -> "direct";
      case "halvingDoubling" -> "halving_doubling";
      case "doubleBinaryTree" -> "double_binary_tree";
      default -> "";
    };
  }

  private void processor(ConfigMap root, List<ImportedKey> findings) {
    boolean roofline = true;
    if (root.has("roofline-enabled")) {
      String text = root.text("roofline-enabled");
      roofline = text.equals("1") || text.equals("true");
      if (!roofline && !text.equals("0") && !text.equals("false")) {
        root.problem("roofline-enabled", "got \"" + text + "\"; expected 0 or 1");
      }
      findings.add(
          ImportedKey.taken(
              root,
              "roofline-enabled",
              roofline ? "see peak-perf" : "peak-perf is left out; collectives do not ask for it"));
    }
    if (root.has("peak-perf")) {
      BigDecimal tera = number(root, "peak-perf", "10^12 operations per second, e.g. 312");
      peakFlops = roofline ? tera.doubleValue() * 1e12 : 0;
      findings.add(
          roofline && peakFlops > 0
              ? ImportedKey.taken(root, "peak-perf", "pe.gemm, at its peak whatever the shape")
              : ImportedKey.idle(
                  root,
                  "peak-perf",
                  roofline ? "0: it says no peak" : "the roofline is switched off"));
    }
  }

  private void bus(ConfigMap root, String key, List<ImportedKey> findings) {
    String text = root.text("model-shared-bus");
    boolean off = !root.has("model-shared-bus") || text.equals("0") || text.equals("false");
    findings.add(
        off
            ? ImportedKey.idle(root, key, "the shared bus is switched off")
            : ImportedKey.different(
                root, key, "there is no shared bus here; ends of messages wait alone"));
  }

  /** The steps along each dimension of the operation that a key names. */
  List<String> along(String key) {
    return along.getOrDefault(key, List.of());
  }

  boolean whole() {
    return whole;
  }

  int splits() {
    return splits;
  }

  /** Chunks that are under way along one dimension at a time. */
  int activeChunks() {
    return activeChunks;
  }

  long endpointDelayPs() {
    return endpointDelayPs;
  }

  /** 0 if reductions cost nothing. */
  long memoryBytesPerSecond() {
    return memoryBytesPerSecond;
  }

  /** 0 if it is not said. */
  double peakFlops() {
    return peakFlops;
  }
}
