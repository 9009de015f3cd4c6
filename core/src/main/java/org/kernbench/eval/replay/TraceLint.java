package org.kernbench.eval.replay;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.kernbench.chakra.NodeType;
import org.kernbench.chakra.RankTrace;
import org.kernbench.chakra.Repairs;
import org.kernbench.chakra.TraceGraph;
import org.kernbench.chakra.TraceNode;
import org.kernbench.chakra.TraceStep;
import org.kernbench.chakra.Workload;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.output.Numbers;
import org.kernbench.eval.output.TextTable;

/**
 * {@code kernbench trace lint}: what is in traces, what was mended, and that all of it can be done.
 */
public final class TraceLint {
  private final Workload workload;
  private final TraceGraph graph;

  private TraceLint(Workload workload, TraceGraph graph) {
    this.workload = workload;
    this.graph = graph;
  }

  /**
   * Checks traces.
   *
   * @throws org.kernbench.chakra.TraceException if they cannot be run, with the reason
   */
  public static TraceLint of(Workload workload) {
    TraceGraph graph = TraceGraph.of(workload);
    graph.inOrder(step -> 1);
    return new TraceLint(workload, graph);
  }

  /** For people. */
  public String text() {
    StringBuilder text = new StringBuilder();
    text.append(
        "%s ranks, %s nodes; %s steps that take time, none waits for ever%n%n"
            .formatted(graph.ranks(), nodes(), graph.steps().size()));
    TextTable ranks =
        new TextTable(
            List.of(
                "rank",
                "nodes",
                "computations",
                "computing_us",
                "collectives",
                "messages",
                "recorded_us"));
    for (Map<String, Object> row : ranks()) {
      ranks.add(row.values().stream().map(String::valueOf).toList());
    }
    text.append(ranks).append('\n');
    if (!communication().isEmpty()) {
      TextTable kinds = new TextTable(List.of("operation", "ranks", "bytes", "calls")).left(0);
      for (Map<String, Object> row : communication()) {
        kinds.add(row.values().stream().map(String::valueOf).toList());
      }
      text.append(kinds).append('\n');
    }
    if (workload.repairs().count() == 0) {
      return text.append("nothing had to be mended\n").toString();
    }
    text.append("mended\n");
    for (Repairs.Line line : workload.repairs().lines()) {
      text.append(String.format(Locale.ROOT, "  %,d x %s%n", line.count(), line.repair().text()));
      if (!line.names().isEmpty()) {
        text.append("      ").append(String.join(", ", line.names())).append('\n');
      }
      text.append("      first: ").append(line.first()).append('\n');
    }
    return text.toString();
  }

  /** For programs. */
  public String json() {
    Map<String, Object> all = new LinkedHashMap<>();
    all.put("nodes", nodes());
    all.put("steps", graph.steps().size());
    all.put("ranks", ranks());
    all.put("communication", communication());
    List<Map<String, Object>> mended = new ArrayList<>();
    for (Repairs.Line line : workload.repairs().lines()) {
      Map<String, Object> row = new LinkedHashMap<>();
      row.put("repair", line.repair().name().toLowerCase(Locale.ROOT));
      row.put("count", line.count());
      row.put("text", line.repair().text());
      row.put("names", line.names());
      row.put("first", line.first());
      mended.add(row);
    }
    all.put("mended", mended);
    return Json.write(all);
  }

  private long nodes() {
    return workload.traces().stream().mapToLong(RankTrace::size).sum();
  }

  private List<Map<String, Object>> ranks() {
    List<Map<String, Object>> rows = new ArrayList<>();
    for (RankTrace trace : workload.traces()) {
      Map<NodeType, Integer> counts = new EnumMap<>(NodeType.class);
      long computing = 0;
      long first = Long.MAX_VALUE;
      long last = 0;
      for (TraceNode node : trace.nodes()) {
        counts.merge(node.type(), 1, Integer::sum);
        computing += node.isWork() && node.type().isLocalWork() ? node.durationPs() : 0;
        if (node.startMicros() > 0) {
          first = Math.min(first, node.startMicros());
          last = Math.max(last, node.startMicros() + node.durationPs() / 1_000_000);
        }
      }
      Map<String, Object> row = new LinkedHashMap<>();
      row.put("rank", trace.rank());
      row.put("nodes", trace.size());
      row.put("computations", counts.getOrDefault(NodeType.COMP, 0));
      row.put("computing_us", Numbers.rounded(computing / 1e6));
      row.put("collectives", counts.getOrDefault(NodeType.COMM_COLL, 0));
      row.put(
          "messages",
          counts.getOrDefault(NodeType.COMM_SEND, 0) + counts.getOrDefault(NodeType.COMM_RECV, 0));
      row.put("recorded_us", last == 0 ? 0 : last - first);
      rows.add(row);
    }
    return rows;
  }

  private List<Map<String, Object>> communication() {
    Map<List<Object>, Long> calls = new LinkedHashMap<>();
    for (TraceStep step : graph.steps()) {
      if (step.type().isCommunication()) {
        Object what =
            step.type() == NodeType.COMM_SEND ? "message" : step.node().comm().collective();
        calls.merge(List.of(what.toString(), step.ranks().size(), step.bytes()), 1L, Long::sum);
      }
    }
    List<Map<String, Object>> rows = new ArrayList<>();
    calls.forEach((key, count) -> {
      Map<String, Object> row = new LinkedHashMap<>();
      row.put("operation", key.get(0));
      row.put("ranks", key.get(1));
      row.put("bytes", key.get(2));
      row.put("calls", count);
      rows.add(row);
    });
    return rows;
  }
}
