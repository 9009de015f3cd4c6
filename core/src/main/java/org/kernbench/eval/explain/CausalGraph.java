package org.kernbench.eval.explain;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.kernbench.device.log.Cost;
import org.kernbench.machine.Machine;

/**
 * Why a run ended when it ended: moments, and for each the moments that it followed from at once,
 * with what lay between as a {@link Cost}.
 *
 * <p>A moment is the start or end of a launch or an operation, the moment a send left its channel,
 * the begin or end of a fragment, or a chunk's head or tail entering a link. Each is the maximum
 * over what it waited for, so each has at least one predecessor that it followed <em>tightly</em>:
 * its time is the predecessor's plus the cost. Walking back over tight predecessors from the end to
 * the root gives a critical path; where two predecessors are tight, links of equal rate in a row
 * for example, there are several of equal length.
 *
 * <p>Two uses. {@link CriticalPath} follows the first predecessor of each moment and gives the
 * segments that a report shows. {@link #lengthOn} computes the longest path for the costs of
 * another machine: what the run would take there as long as its critical path stays among those
 * that the graph has. Costs sum to times exactly; where nothing says why time passed, the rest is a
 * {@link Cost.Fixed}.
 *
 * <p>This class holds moments, edges and costs; what a moment followed from is for its {@link
 * Rules} to say, which are asked once for each moment that the end depends on. Everything lies in
 * flat arrays: a run of a million operations has tens of millions of edges.
 */
final class CausalGraph {
  /** The beginning; all moments before it are the same to the graph. */
  static final int ROOT = 0;

  /** Stands for no edge. */
  static final int NONE = -1;

  /** Says what moments followed from. */
  interface Rules {
    /** When a moment was, picoseconds. */
    long timePs(long key);

    /** Adds the edges of a moment to the graph, the one to be shown first. */
    void expand(int moment, long key);
  }

  /** A cost on the way between two moments, what it is called, and whose it is. */
  record Piece(Cost cost, PathCause cause, int op) {}

  // an edge: predecessor, cost, cause, operation, next edge of the same moment
  private static final int EDGE = 5;
  private static final PathCause[] CAUSES = PathCause.values();

  private final Machine machine;

  // moments
  private long[] keys = new long[64];
  private long[] times = new long[64];
  private int[] firstEdge = new int[64];
  private int momentCount;

  // by key: the moment, with linear probing; 0 where there is none
  private int[] table = new int[256];
  private int tableCount;

  // edges
  private int[] edges = new int[64 * EDGE];
  private int edgeCount;

  // costs
  private final List<Cost> costs = new ArrayList<>();
  private long[] costPs = new long[64];
  private final Map<Cost, Integer> costIds = new HashMap<>();

  private final Rules rules;
  private final int end;
  private final int[] order;

  /**
   * A graph of all moments that one followed from, back to a root.
   *
   * @param beginPs when the root is
   * @param rules what says so, of this graph
   * @param endKey the last moment
   */
  CausalGraph(Machine machine, long beginPs, Function<CausalGraph, Rules> rules, long endKey) {
    this.machine = machine;
    newMoment(Moment.BETWEEN.of(0), beginPs);
    this.rules = rules.apply(this);
    this.end = moment(endKey);
    this.order = sorted();
  }

  // ---- moments ----

  /** The last moment. */
  int end() {
    return end;
  }

  long timePs(int moment) {
    return times[moment];
  }

  Moment kind(int moment) {
    return Moment.kind(keys[moment]);
  }

  /** The row that a moment belongs to. */
  int index(int moment) {
    return Moment.index(keys[moment]);
  }

  /** The moment of a key; the root if it was before that. */
  int moment(long key) {
    int at = place(key);
    if (table[at] != 0) {
      return table[at];
    }
    long time = rules.timePs(key);
    if (time <= times[ROOT]) {
      return ROOT;
    }
    int made = newMoment(key, time);
    table[at] = made;
    if (++tableCount * 2 > table.length) {
      int[] old = table;
      table = new int[old.length * 2];
      for (int m : old) {
        if (m != 0) {
          table[place(keys[m])] = m;
        }
      }
    }
    return made;
  }

  private int place(long key) {
    int mask = table.length - 1;
    long mixed = key * 0x9E3779B97F4A7C15L;
    int at = (int) (mixed >>> 32) & mask;
    while (table[at] != 0 && keys[table[at]] != key) {
      at = (at + 1) & mask;
    }
    return at;
  }

  private int newMoment(long key, long timePs) {
    if (momentCount == keys.length) {
      keys = Arrays.copyOf(keys, momentCount * 2);
      times = Arrays.copyOf(times, momentCount * 2);
      firstEdge = Arrays.copyOf(firstEdge, momentCount * 2);
    }
    keys[momentCount] = key;
    times[momentCount] = timePs;
    firstEdge[momentCount] = NONE;
    return momentCount++;
  }

  // ---- edges ----

  /** The first edge of a moment, the one that is shown; {@link #NONE} before it was expanded. */
  int firstEdge(int moment) {
    return firstEdge[moment];
  }

  /** The moment that an edge leads back to. */
  int from(int edge) {
    return edges[edge * EDGE];
  }

  Cost cost(int edge) {
    return costs.get(edges[edge * EDGE + 1]);
  }

  PathCause cause(int edge) {
    return CAUSES[edges[edge * EDGE + 2]];
  }

  /** The operation that the cost is for; -1 if it is none's. */
  int op(int edge) {
    return edges[edge * EDGE + 3];
  }

  private int next(int edge) {
    return edges[edge * EDGE + 4];
  }

  private void addEdge(int to, int from, Cost cost, PathCause cause, int op) {
    if ((edgeCount + 1) * EDGE > edges.length) {
      edges = Arrays.copyOf(edges, edges.length * 2);
    }
    int at = edgeCount * EDGE;
    edges[at] = from;
    edges[at + 1] = costId(cost);
    edges[at + 2] = cause.ordinal();
    edges[at + 3] = op;
    edges[at + 4] = NONE;
    int last = firstEdge[to];
    if (last == NONE) {
      firstEdge[to] = edgeCount;
    } else {
      while (next(last) != NONE) {
        last = next(last);
      }
      edges[last * EDGE + 4] = edgeCount;
    }
    edgeCount++;
  }

  private int costId(Cost cost) {
    return costIds.computeIfAbsent(
        cost,
        c -> {
          if (costs.size() == costPs.length) {
            costPs = Arrays.copyOf(costPs, costPs.length * 2);
          }
          costPs[costs.size()] = c.on(machine);
          costs.add(c);
          return costs.size() - 1;
        });
  }

  /** What a cost takes on the machine of the run. */
  long psOf(Cost cost) {
    int id = costId(cost); // may make the list longer
    return costPs[id];
  }

  /** Joins a moment to one before it; what the pieces do not cover is called {@code rest}. */
  void join(int to, int before, PathCause rest, int restOp, Piece... pieces) {
    int from = times[before] > times[to] ? ROOT : before; // it was not this that it waited for
    long length = times[to] - times[from];
    long known = 0;
    for (Piece p : pieces) {
      known += psOf(p.cost);
    }
    if (known > length || pieces.length == 0) { // begins before the time that is explained
      PathCause cause = pieces.length == 0 ? rest : pieces[pieces.length - 1].cause;
      addEdge(to, from, new Cost.Fixed(length), cause, restOp);
      return;
    }
    int at = to;
    for (int i = pieces.length - 1; i >= 0; i--) {
      boolean first = i == 0 && known == length;
      long between = Moment.BETWEEN.of(momentCount);
      int next = first ? from : newMoment(between, times[at] - psOf(pieces[i].cost));
      addEdge(at, next, pieces[i].cost, pieces[i].cause, pieces[i].op);
      at = next;
    }
    if (at != from) {
      addEdge(at, from, new Cost.Fixed(length - known), rest, restOp);
    }
  }

  /** Joins a moment to another at the same time. */
  void same(int to, int from, int op) {
    join(to, from, PathCause.OTHER, op);
  }

  // ---- the graph as a whole ----

  /** Expands everything that the end follows from, and orders it: predecessors first. */
  private int[] sorted() {
    int[] done = new int[64];
    int doneCount = 0;
    int[] stack = new int[64];
    int depth = 0;
    int[] nextEdge = new int[Math.max(64, momentCount)];
    boolean[] seen = new boolean[Math.max(64, momentCount)];
    stack[depth++] = end;
    seen = enter(end, seen);
    nextEdge = withEdge(nextEdge, end);
    while (depth > 0) {
      int m = stack[depth - 1];
      int e = nextEdge[m];
      if (e == NONE) {
        if (doneCount == done.length) {
          done = Arrays.copyOf(done, doneCount * 2);
        }
        done[doneCount++] = m;
        depth--;
        continue;
      }
      nextEdge[m] = next(e);
      int from = from(e);
      if (from >= seen.length || !seen[from]) {
        seen = enter(from, seen);
        nextEdge = withEdge(nextEdge, from);
        if (depth == stack.length) {
          stack = Arrays.copyOf(stack, depth * 2);
        }
        stack[depth++] = from;
      }
    }
    return Arrays.copyOf(done, doneCount);
  }

  private boolean[] enter(int m, boolean[] seen) {
    if (m != ROOT && firstEdge[m] == NONE) {
      rules.expand(m, keys[m]);
    }
    boolean[] room = m < seen.length ? seen : Arrays.copyOf(seen, Math.max(m + 1, seen.length * 2));
    room[m] = true;
    return room;
  }

  private int[] withEdge(int[] next, int m) {
    int[] room = m < next.length ? next : Arrays.copyOf(next, Math.max(m + 1, next.length * 2));
    room[m] = firstEdge[m];
    return room;
  }

  /** The time from root to end if each cost were what it is on another machine, picoseconds. */
  long lengthOn(Machine other) {
    long[] ps = new long[costs.size()];
    for (int i = 0; i < ps.length; i++) {
      ps[i] = costs.get(i).on(other);
    }
    long[] length = new long[momentCount];
    for (int m : order) {
      long longest = m == ROOT ? 0 : Long.MIN_VALUE;
      for (int e = firstEdge[m]; e != NONE; e = next(e)) {
        longest = Math.max(longest, length[from(e)] + ps[edges[e * EDGE + 1]]);
      }
      length[m] = longest;
    }
    return length[end];
  }
}
