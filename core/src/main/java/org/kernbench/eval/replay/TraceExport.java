package org.kernbench.eval.replay;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;
import org.kernbench.chakra.CollectiveType;
import org.kernbench.chakra.NodeType;
import org.kernbench.chakra.TraceNode;
import org.kernbench.chakra.TraceNode.Communication;
import org.kernbench.chakra.TraceWriter;
import org.kernbench.config.UsageException;
import org.kernbench.device.log.LaunchLog;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.log.RankExchange;
import org.kernbench.device.log.RankExchange.Hop;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.output.WholeFile;

/**
 * A run of ours as Chakra execution traces, one for each rank: kernels as computations that last as
 * long as they did, collectives and messages by what was exchanged, and what each launch came
 * after: what it waited for, what the host had waited for, and what ran before it on its PEs.
 */
public final class TraceExport {
  private static final long PS_PER_MICRO = 1_000_000;

  private final LaunchLog launches;
  private final KernelWork work;
  private final int ranks;
  private final List<List<TraceNode>> nodes = new ArrayList<>();
  private final List<Map<Integer, List<Long>>> idsByLaunch = new ArrayList<>();
  private final Map<List<Integer>, String> groups = new LinkedHashMap<>();
  private int left;

  /**
   * What was written.
   *
   * @param ranks files
   * @param nodes of all of them
   * @param left kernels on PEs that no rank owns, which are in no file
   * @param isCounted whether kernels have num_ops and tensor_size
   * @param algorithms what performed the collectives
   */
  public record Written(
      int ranks, long nodes, int left, boolean isCounted, Set<String> algorithms) {
    /** For people. */
    public String text() {
      String by = algorithms.isEmpty() ? "" : "; collectives by " + String.join(", ", algorithms);
      String lost = left == 0 ? "" : "; kernels on PEs of no rank left out: " + left;
      return String.format(Locale.ROOT, "%,d nodes of %,d ranks", nodes, ranks)
          + by
          + lost
          + (isCounted ? "" : "; no num_ops and tensor_size: not all operations were kept");
    }
  }

  private TraceExport(OpLog log) {
    this.launches = log.launches();
    this.work = new KernelWork(log);
    this.ranks = Math.max(1, launches.ranks());
    for (int rank = 0; rank < ranks; rank++) {
      nodes.add(new ArrayList<>());
      idsByLaunch.add(new LinkedHashMap<>());
    }
    for (int launch = 0; launch < launches.size(); launch++) {
      add(launch);
    }
  }

  /**
   * Writes {@code name.<rank>.et} and, if there are groups of some ranks, {@code name.groups.json}.
   *
   * @param folder is there
   * @throws UsageException if the run has kept no launches, or not all
   */
  public static Written write(RunResult result, Path folder) {
    OpLog log =
        result
            .log()
            .filter(l -> l.launches().size() > 0)
            .orElseThrow(() ->
                new UsageException(
                    """
                    --export-chakra: bench %s keeps no launches; expected one of a single run, \
                    such as ccl-allreduce or train-step, in mode full or time\
                    """
                        .formatted(result.bench())));
    if (log.packagesPerRow() > 1) {
      throw new UsageException(
          "--export-chakra: one package was simulated for all; run with --fold off");
    }
    if (log.launches().ranks() == 0 && log.completed(OpKind.SEND) > 0) {
      throw new UsageException(
          """
          --export-chakra: the messages of bench %s are between PEs, a trace has those between \
          ranks; expected a bench with ranks, such as ccl-allreduce or train-step\
          """
              .formatted(result.bench()));
    }
    if (!log.launches().isComplete()) {
      throw new UsageException(
          """
          --export-chakra: the run has more launches than are kept; expected a shorter one, e.g. \
          fewer layers\
          """);
    }
    return new TraceExport(log).write(folder, name(result.bench()));
  }

  private static String name(String bench) {
    return bench.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]+", "-");
  }

  private Written write(Path folder, String name) {
    Map<String, WholeFile.Content> files = new LinkedHashMap<>();
    long count = 0;
    for (int rank = 0; rank < ranks; rank++) {
      List<TraceNode> of = nodes.get(rank);
      count += of.size();
      files.put(name + "." + rank + ".et", to -> TraceWriter.write(of, to));
    }
    if (!groups.isEmpty()) {
      String text =
          groups.entrySet().stream()
              .map(e -> Json.compact(e.getValue()) + ": " + e.getKey())
              .collect(Collectors.joining(",\n ", "{", "}\n"));
      files.put(
          name + ".groups.json",
          to -> {
            PrintStream out = new PrintStream(to, false, StandardCharsets.UTF_8);
            out.print(text);
            out.flush();
          });
    }
    WholeFile.writeAll(folder, files);
    Set<String> algorithms = new LinkedHashSet<>();
    for (int launch = 0; launch < launches.size(); launch++) {
      launches.exchange(launch).map(RankExchange::algorithm).ifPresent(algorithms::add);
    }
    return new Written(ranks, count, left, work.isComplete(), algorithms);
  }

  // ---- nodes ----

  private void add(int launch) {
    Optional<RankExchange> exchange = launches.exchange(launch);
    if (exchange.isEmpty()) {
      addComputation(launch);
    } else if (exchange.get().messages().isEmpty()) {
      addCollective(launch, exchange.get());
    } else {
      for (Hop hop : exchange.get().messages()) {
        Communication comm =
            new Communication(
                CollectiveType.BARRIER,
                hop.bytes(),
                "",
                OptionalLong.empty(),
                hop.source(),
                hop.target(),
                launch);
        add(hop.source(), launch, NodeType.COMM_SEND, 0, Optional.of(comm));
        add(hop.target(), launch, NodeType.COMM_RECV, 0, Optional.of(comm));
      }
    }
  }

  /** A kernel lasts on each rank until the last of the rank's PEs is done. */
  private void addComputation(int launch) {
    long[] endPs = new long[ranks];
    boolean isOwned = false;
    for (int row = launches.firstRow(launch);
        row != LaunchLog.NONE && row < launches.endRow(launch);
        row++) {
      int rank = rank(row);
      if (rank >= 0) {
        endPs[rank] = Math.max(endPs[rank], launches.doneTherePs(row));
        isOwned = true;
      }
    }
    left += isOwned ? 0 : 1;
    for (int rank = 0; rank < ranks; rank++) {
      if (endPs[rank] > 0) {
        long ps = endPs[rank] - launches.startPs(launch);
        add(rank, launch, NodeType.COMP, ps, Optional.empty());
      }
    }
  }

  private void addCollective(int launch, RankExchange exchange) {
    CollectiveType type = type(exchange.operation());
    boolean isPart = type == CollectiveType.ALL_GATHER || type == CollectiveType.GATHER;
    int members = exchange.ranks().size();
    String group =
        members == ranks
            ? ""
            : groups.computeIfAbsent(exchange.ranks(), r -> Integer.toString(groups.size() + 1));
    for (int rank : exchange.ranks()) {
      Communication comm =
          new Communication(
              type,
              isPart ? exchange.bytes() / members : exchange.bytes(),
              group,
              exchange.root() < 0 ? OptionalLong.empty() : OptionalLong.of(exchange.root()),
              rank,
              rank,
              0);
      add(rank, launch, NodeType.COMM_COLL, 0, Optional.of(comm));
    }
  }

  private static CollectiveType type(String operation) {
    for (CollectiveType type : CollectiveType.values()) {
      if (type.toString().equals(operation)) {
        return type;
      }
    }
    throw new IllegalStateException("bug: no type of collective " + operation);
  }

  private void add(
      int rank, int launch, NodeType type, long durationPs, Optional<Communication> comm) {
    List<TraceNode> of = nodes.get(rank);
    long id = of.size() + 1L;
    KernelWork.Sum did = type == NodeType.COMP ? work.of(launch, rank) : KernelWork.Sum.NONE;
    of.add(
        new TraceNode(
            id,
            launches.name(launch),
            type,
            before(rank, launch),
            launches.startPs(launch) / PS_PER_MICRO,
            durationPs,
            false,
            did.operations(),
            did.memoryBytes(),
            OptionalLong.empty(),
            comm));
    idsByLaunch.get(rank).computeIfAbsent(launch, l -> new ArrayList<>()).add(id);
  }

  /** Nodes of a rank that a launch came after. */
  private List<Long> before(int rank, int launch) {
    Set<Integer> earlier = new LinkedHashSet<>(launches.after(launch));
    earlier.add(launches.hostWaitedFor(launch));
    for (int row = launches.firstRow(launch);
        row != LaunchLog.NONE && row < launches.endRow(launch);
        row++) {
      int before = launches.before(row);
      if (before != LaunchLog.NONE && rank(row) == rank) {
        earlier.add(launches.launch(before));
      }
    }
    List<Long> ids = new ArrayList<>();
    for (int each : earlier) {
      ids.addAll(idsByLaunch.get(rank).getOrDefault(each, List.of()));
    }
    return ids.stream().sorted().toList();
  }

  private int rank(int row) {
    return launches.ranks() == 0 ? 0 : launches.rank(row);
  }
}
