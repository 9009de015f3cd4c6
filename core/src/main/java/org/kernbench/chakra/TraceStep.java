package org.kernbench.chakra;

import java.util.List;

/**
 * Something that takes time, once: a computation of a rank, or a collective or message of several.
 *
 * @param id its number among the steps of the graph
 * @param type {@link NodeType#COMP} or a move in memory, {@link NodeType#COMM_COLL}, or {@link
 *     NodeType#COMM_SEND} for a message
 * @param ranks that take part, ascending; of a message, the one that sends, then the one that
 *     receives
 * @param nodes of these ranks, in the same order
 * @param root of a collective that has one, as a rank of the world; else -1
 * @param before steps that must be done before it starts
 */
public record TraceStep(
    int id,
    NodeType type,
    List<Integer> ranks,
    List<TraceNode> nodes,
    int root,
    List<Integer> before) {
  /** Copies the lists. */
  public TraceStep {
    ranks = List.copyOf(ranks);
    nodes = List.copyOf(nodes);
    before = List.copyOf(before);
  }

  /** The node of the first rank. */
  public TraceNode node() {
    return nodes.getFirst();
  }

  /** Bytes of the vector or message, as the trace has them. */
  public long bytes() {
    return node().comm().bytes();
  }

  /** For example {@code all_reduce of 1024 B on ranks 0, 1: node 7 "grad"}. */
  @Override
  public String toString() {
    String where = ranks.size() > 8 ? ranks.size() + " ranks" : "ranks " + ranks;
    return switch (type) {
      case COMM_COLL ->
          "%s of %s B on %s: %s".formatted(node().comm().collective(), bytes(), where, node());
      case COMM_SEND ->
          "message of %s B from rank %s to %s: %s"
              .formatted(bytes(), ranks.get(0), ranks.get(1), node());
      case COMP, MEM_LOAD, MEM_STORE, COMM_RECV, INVALID, METADATA, STORAGE, BATCH, CHECKPOINT ->
          "rank %s: %s".formatted(ranks.getFirst(), node());
    };
  }
}
