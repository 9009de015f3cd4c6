package org.kernbench.chakra;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;

/**
 * An order in which the nodes of one rank can be done: dependencies first, among those that are
 * free the one that was recorded to start first, then the one that stands first in the file.
 */
final class RankOrder {
  private final RankTrace trace;
  private final List<TraceNode> nodes;
  private final int[][] before;
  private final int[] order;

  RankOrder(RankTrace trace, Repairs repairs) {
    this.trace = trace;
    this.nodes = trace.nodes();
    this.before = edges(repairs);
    this.order = sorted();
  }

  TraceNode node(int at) {
    return nodes.get(at);
  }

  /** Positions of the nodes before one. */
  int[] before(int at) {
    return before[at];
  }

  /** Positions of all nodes, in an order in which they can be done. */
  int[] order() {
    return order;
  }

  private int[][] edges(Repairs repairs) {
    Map<Long, Integer> position = new HashMap<>();
    for (int i = 0; i < nodes.size(); i++) {
      position.put(nodes.get(i).id(), i);
    }
    List<Set<Integer>> all = new ArrayList<>(nodes.size());
    for (TraceNode node : nodes) {
      Set<Integer> own = new LinkedHashSet<>();
      for (long id : node.before()) {
        Integer at = position.get(id);
        if (at == null) {
          repairs.add(Repair.DEPENDENCY_ABSENT, trace.file() + ": " + node);
        } else {
          own.add(at);
        }
      }
      all.add(own);
    }
    addStreams(all, repairs);
    return all.stream()
        .map(s -> s.stream().mapToInt(Integer::intValue).toArray())
        .toArray(int[][]::new);
  }

  /** Kernels of one stream ran one after the other, though no dependency may say so. */
  private void addStreams(List<Set<Integer>> all, Repairs repairs) {
    Map<Long, List<Integer>> streams = new LinkedHashMap<>();
    for (int i = 0; i < nodes.size(); i++) {
      TraceNode node = nodes.get(i);
      if (node.isWork() && node.stream().isPresent() && node.startMicros() > 0) {
        streams.computeIfAbsent(node.stream().getAsLong(), s -> new ArrayList<>()).add(i);
      }
    }
    for (List<Integer> stream : streams.values()) {
      stream.sort(Comparator.comparingLong(i -> nodes.get(i).startMicros()));
      for (int i = 1; i < stream.size(); i++) {
        int earlier = stream.get(i - 1);
        int later = stream.get(i);
        boolean isLater = nodes.get(earlier).startMicros() < nodes.get(later).startMicros();
        if (isLater && !all.get(earlier).contains(later) && all.get(later).add(earlier)) {
          repairs.add(Repair.STREAM_ORDER, trace.file() + ": " + nodes.get(later));
        }
      }
    }
  }

  private int[] sorted() {
    int n = nodes.size();
    int[] missing = new int[n];
    List<List<Integer>> after = new ArrayList<>(n);
    for (int i = 0; i < n; i++) {
      after.add(new ArrayList<>(2));
    }
    PriorityQueue<Integer> free =
        new PriorityQueue<>(
            Comparator.comparingLong((Integer i) -> nodes.get(i).startMicros())
                .thenComparingInt(i -> i));
    for (int i = 0; i < n; i++) {
      missing[i] = before[i].length;
      for (int each : before[i]) {
        after.get(each).add(i);
      }
      if (missing[i] == 0) {
        free.add(i);
      }
    }
    int[] sorted = new int[n];
    int count = 0;
    while (!free.isEmpty()) {
      int at = free.remove();
      sorted[count++] = at;
      for (int next : after.get(at)) {
        if (--missing[next] == 0) {
          free.add(next);
        }
      }
    }
    if (count < n) {
      throw new TraceException(
          "%s: nodes that wait for each other: %s; expected dependencies without a cycle"
              .formatted(trace.file(), cycle(missing)));
    }
    return sorted;
  }

  /** A cycle among the nodes that were never free, each before the next. */
  private String cycle(int[] missing) {
    int at = 0;
    while (missing[at] == 0) {
      at++;
    }
    Set<Integer> seen = new LinkedHashSet<>();
    while (seen.add(at)) {
      at = Arrays.stream(before[at]).filter(i -> missing[i] > 0).findFirst().orElseThrow();
    }
    ArrayDeque<String> names = new ArrayDeque<>();
    boolean inside = false;
    for (int each : seen) {
      inside |= each == at;
      if (inside) {
        names.addFirst(nodes.get(each).toString());
      }
    }
    names.addFirst(names.getLast());
    return String.join(" -> ", names);
  }
}
