package org.kernbench.ccl.library;

import java.nio.file.Path;
import java.util.EnumMap;
import java.util.LinkedHashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.Group;
import org.kernbench.config.ConfigMap;
import org.kernbench.config.ConfigTree;
import org.kernbench.config.Problems;
import org.kernbench.config.Suggest;
import org.kernbench.config.UnreadableException;
import org.kernbench.config.UserFile;
import org.kernbench.machine.Machine;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.placement.RankLevel;

/**
 * Which algorithm is the fastest at which size, by simulation, on one machine and for one group:
 * what {@code kernbench tune} writes and {@code defaults.table} of {@code ccl.yaml} names.
 *
 * <pre>
 * machine: 4af6ecc8fbd9
 * rank_level: sip
 * ranks: 6
 * all_reduce: {16 B: exchange, 96 KiB: torus_bidirectional, 64 MiB: packed_trees}
 * </pre>
 *
 * <p>A call takes the algorithm of the smallest size that is not below its own; beyond the largest
 * that of the largest.
 */
public final class TuningTable {
  private final String machineHash;
  private final RankLevel level;
  private final int ranks;
  private final Map<CollectiveOp, TreeMap<Long, String>> entries =
      new EnumMap<>(CollectiveOp.class);

  /** An empty table for a group. */
  public TuningTable(Machine machine, RankLevel level, int ranks) {
    this(shortHash(machine), level, ranks);
  }

  private TuningTable(String machineHash, RankLevel level, int ranks) {
    this.machineHash = machineHash;
    this.level = level;
    this.ranks = ranks;
  }

  private static String shortHash(Machine machine) {
    return machine.hash().substring(0, 12);
  }

  /** Notes the fastest algorithm for a size. */
  public void put(CollectiveOp op, long bytes, String algorithm) {
    entries.computeIfAbsent(op, o -> new TreeMap<>()).put(bytes, algorithm);
  }

  /** The algorithm for a call, if the operation is in the table. */
  Optional<String> algorithm(CollectiveOp op, long bytes) {
    TreeMap<Long, String> sizes = entries.get(op);
    if (sizes == null || sizes.isEmpty()) {
      return Optional.empty();
    }
    Map.Entry<Long, String> entry = sizes.ceilingEntry(bytes);
    return Optional.of(entry == null ? sizes.lastEntry().getValue() : entry.getValue());
  }

  /**
   * Whether the table speaks of a group; sub-groups of another size go by the closed forms.
   *
   * @throws CollectiveException if it was made for another machine
   */
  boolean isFor(Group group) {
    String hash = shortHash(group.machine());
    if (!machineHash.equals(hash)) {
      throw new CollectiveException(
          """
          defaults.table: made for machine %s, this one (%s) is %s; run kernbench tune \
          for it, or leave the table out\
          """
              .formatted(machineHash, group.machine().name(), hash));
    }
    return group.level() == level && group.size() == ranks;
  }

  /** The text of the file. */
  public String text() {
    StringBuilder text = new StringBuilder();
    text.append(
            "# The fastest algorithm up to each size, by simulation (kernbench tune). To use it: in\n")
        .append("# ccl.yaml, defaults: {algorithm: auto, table: THIS FILE}\n")
        .append("machine: ")
        .append(machineHash)
        .append("\nrank_level: ")
        .append(level.name().toLowerCase(Locale.ROOT))
        .append("\nranks: ")
        .append(ranks)
        .append('\n');
    entries.forEach((op, sizes) -> {
      text.append(op.word()).append(":\n");
      sizes.forEach((bytes, name) ->
          text.append("  ").append(bytes).append(" B: ").append(name).append('\n'));
    });
    return text.toString();
  }

  /**
   * Reads a table.
   *
   * @param ccl where the algorithms that it names are configured
   * @throws org.kernbench.config.ConfigException with every problem found
   */
  public static TuningTable read(Path file, CclConfig ccl) {
    Problems problems = new Problems();
    String yaml;
    try {
      yaml = UserFile.text(file, "a table that kernbench tune --out FILE wrote");
    } catch (UnreadableException e) {
      throw new CollectiveException("defaults.table: " + file + ": " + e.getMessage());
    }
    ConfigMap root = ConfigTree.parse(file.toString(), yaml, problems).root(problems);
    String hash = root.text("machine");
    RankLevel level = root.choice("rank_level", RankLevel.values());
    int ranks = root.integer("ranks", 1, Integer.MAX_VALUE);
    TuningTable table = new TuningTable(hash, level, ranks);
    for (CollectiveOp op : CollectiveOp.values()) {
      if (root.has(op.word())) {
        ConfigMap sizes = root.map(op.word());
        for (String size : sizes.keys()) {
          String[] words = size.split(" ");
          if (words.length != 2 || !words[1].equals("B") || !words[0].matches("\\d{1,15}")) {
            sizes.problem(size, "expected a size in bytes, e.g. \"2048 B\"");
            continue;
          }
          String name = sizes.text(size);
          Set<String> known = new LinkedHashSet<>(ccl.names(op));
          known.remove(Auto.NAME);
          if (!known.contains(name)) {
            sizes.problem(size, unknown(name, known));
          }
          table.put(op, Long.parseLong(words[0]), name);
        }
        sizes.done();
      }
    }
    root.done();
    problems.throwIfAny();
    return table;
  }

  private static String unknown(String name, Set<String> known) {
    return "got \"%s\"; expected one of %s%s"
        .formatted(name, String.join(", ", known), Suggest.hint(name, known));
  }
}
