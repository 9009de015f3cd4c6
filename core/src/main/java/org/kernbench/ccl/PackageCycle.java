package org.kernbench.ccl;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.kernbench.machine.Machine;
import org.kernbench.machine.spec.DimensionKind;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.machine.spec.LinkSpec;

/**
 * A cycle of all packages over links that work, the slowest of which is as quick as can be: a ring
 * waits for its slowest hop at every step. Needed only where links differ; among equal links the
 * cycle of the grid is as good as any.
 *
 * <p>Whether there is such a cycle is a hard question in general. Turned, mirrored and shifted
 * copies of the grid's own cycle are tried first, which avoids one link of a torus of any size;
 * then a search that goes to the package with the fewest ways on, for a bounded number of steps. If
 * neither finds one, the grid's cycle stays, and messages go round what is dead.
 */
final class PackageCycle {
  /** Steps of the search; a few milliseconds. */
  private static final int MOST_STEPS = 200_000;

  /** The message by which a slow link is compared with a far one. */
  private static final long MESSAGE_BYTES = 64 << 10;

  private static final long NONE = Long.MAX_VALUE;

  private final Machine machine;
  private final int sips;

  /** By package and package: time of a message over their link; {@link #NONE} without one. */
  private final long[][] ps;

  private int stepsLeft;

  private PackageCycle(Machine machine) {
    this.machine = machine;
    this.sips = machine.sips();
    this.ps = new long[sips][sips];
    for (long[] row : ps) {
      Arrays.fill(row, NONE);
    }
    for (int id = 0; id < machine.linkCount(); id++) {
      if (machine.linkKind(id) == LinkKind.SIP_TO_SIP && !machine.isDead(id)) {
        int from = machine.packageOf(machine.linkFrom(id));
        int to = machine.packageOf(machine.linkTo(id));
        LinkSpec spec = machine.specOf(id);
        ps[from][to] =
            Math.min(ps[from][to], spec.latencyPs() + spec.rate().durationPs(MESSAGE_BYTES));
      }
    }
  }

  /**
   * By position the package there.
   *
   * @param usual the cycle to keep if none is quicker
   */
  static int[] quickest(Machine machine, int[] usual) {
    boolean switched =
        machine.nodes().isPresent()
            || machine.dimensions().stream().anyMatch(d -> d.kind() == DimensionKind.SWITCH);
    return machine.hasUnequalSipLinks() && machine.sips() > 2 && !switched
        ? new PackageCycle(machine).quickest(usual)
        : usual;
  }

  private int[] quickest(int[] usual) {
    long worst = worstPs(usual);
    TreeSet<Long> times = new TreeSet<>();
    for (long[] row : ps) {
      for (long each : row) {
        if (each < worst) {
          times.add(each);
        }
      }
    }
    List<int[]> copies = copies(usual);
    for (long most : times) { // from the quickest links on, until there are enough
      for (int[] copy : copies) {
        if (worstPs(copy) <= most) {
          return copy;
        }
      }
      int[] found = search(most);
      if (found.length > 0) {
        return found;
      }
    }
    return usual;
  }

  private long worstPs(int[] cycle) {
    long worst = 0;
    for (int i = 0; i < sips; i++) {
      worst = Math.max(worst, ps[cycle[i]][cycle[(i + 1) % sips]]);
    }
    return worst;
  }

  /** The cycle mirrored, shifted and the other way round; turned, where the grid is square. */
  private List<int[]> copies(int[] cycle) {
    int width = machine.sipTopology().isGrid() ? machine.sipGridWidth() : sips;
    int height = sips / width;
    List<int[]> all = new ArrayList<>();
    for (int how = 0; how < 8; how++) {
      boolean turned = (how & 4) != 0;
      if (turned && width != height) {
        break;
      }
      int[] copy = new int[sips];
      for (int i = 0; i < sips; i++) {
        int x = cycle[i] % width;
        int y = cycle[i] / width;
        x = (how & 1) != 0 ? width - 1 - x : x;
        y = (how & 2) != 0 ? height - 1 - y : y;
        copy[i] = turned ? x * width + y : y * width + x;
      }
      addShifted(all, copy, width, height);
    }
    return all;
  }

  private void addShifted(List<int[]> all, int[] cycle, int width, int height) {
    for (int dy = 0; dy < Math.min(height, 4); dy++) {
      for (int dx = 0; dx < Math.min(width, 4); dx++) {
        int[] shifted = new int[sips];
        int[] back = new int[sips];
        for (int i = 0; i < sips; i++) {
          int x = (cycle[i] % width + dx) % width;
          int y = (cycle[i] / width + dy) % height;
          shifted[i] = y * width + x;
          back[sips - 1 - i] = shifted[i];
        }
        all.add(shifted);
        all.add(back);
      }
    }
  }

  // ---- the search ----

  /** A cycle over links of at most this time; empty if none is found. */
  private int[] search(long most) {
    int[][] next = new int[sips][];
    int[][] before = new int[sips][];
    for (int sip = 0; sip < sips; sip++) {
      next[sip] = among(sip, most, true);
      before[sip] = among(sip, most, false);
      if (next[sip].length == 0 || before[sip].length == 0) {
        return new int[0];
      }
    }
    stepsLeft = MOST_STEPS;
    int[] path = new int[sips];
    boolean[] visited = new boolean[sips];
    visited[0] = true;
    return sips <= 1024 && goOn(path, 1, visited, next, before) ? path : new int[0];
  }

  private int[] among(int sip, long most, boolean on) {
    return IntStream.range(0, sips)
        .filter(other -> (on ? ps[sip][other] : ps[other][sip]) <= most)
        .toArray();
  }

  private boolean goOn(int[] path, int length, boolean[] visited, int[][] next, int[][] before) {
    int last = path[length - 1];
    if (length == sips) {
      return Arrays.stream(next[last]).anyMatch(to -> to == path[0]);
    }
    if (stepsLeft-- <= 0) {
      return false;
    }
    int[] ways =
        Arrays.stream(next[last])
            .filter(to -> !visited[to])
            .boxed()
            .sorted(
                Comparator.comparingLong(
                    to -> Arrays.stream(next[to]).filter(x -> !visited[x]).count()))
            .mapToInt(Integer::intValue)
            .toArray();
    for (int to : ways) {
      visited[to] = true;
      path[length] = to;
      if (!isCutOff(to, visited, next, before, path[0])
          && goOn(path, length + 1, visited, next, before)) {
        return true;
      }
      visited[to] = false;
    }
    return false;
  }

  /** Whether a package that is left has no way in or out any more. */
  private boolean isCutOff(int at, boolean[] visited, int[][] next, int[][] before, int first) {
    for (int other : next[at]) {
      if (!visited[other]) {
        boolean in = Arrays.stream(before[other]).anyMatch(x -> x == at || !visited[x]);
        boolean out = Arrays.stream(next[other]).anyMatch(x -> x == first || !visited[x]);
        if (!in || !out) {
          return true;
        }
      }
    }
    return false;
  }
}
