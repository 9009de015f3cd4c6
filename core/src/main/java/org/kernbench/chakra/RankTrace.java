package org.kernbench.chakra;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The trace of one rank: its nodes, in the order of the file, each with an id of its own. */
public final class RankTrace {
  private final int rank;
  private final String file;
  private final Map<Long, TraceNode> byId = new LinkedHashMap<>();

  RankTrace(int rank, String file, List<TraceNode> nodes) {
    this.rank = rank;
    this.file = file;
    for (TraceNode node : nodes) {
      TraceNode other = byId.putIfAbsent(node.id(), node);
      if (other != null) {
        throw new TraceException(
            "%s: %s and %s have one id; expected each id once".formatted(file, other, node));
      }
    }
  }

  /** Its number in the world. */
  public int rank() {
    return rank;
  }

  /** Where it was read from. */
  public String file() {
    return file;
  }

  /** The nodes, in the order of the file. */
  public List<TraceNode> nodes() {
    return Collections.unmodifiableList(new ArrayList<>(byId.values()));
  }

  /** How many there are. */
  public int size() {
    return byId.size();
  }
}
