package org.kernbench.machine;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Which link waits for which: an edge from each link of a route to the next one, each on its
 * virtual channel.
 *
 * <p>With finite buffers a circle of such waits can stop for ever (Dally and Seitz, 1987); routes
 * without a circle cannot. Packages are alike, so every pair of PEs in one package, and between
 * each two packages every PE with one PE of the other, give all edges there are.
 */
public final class ChannelGraph {
  /** Beyond this many packages the pairs are too many for a check of a few seconds. */
  public static final int MAX_SIPS = 64;

  private final Machine machine;

  private final int channels;

  /** Followers of each link and channel; grown as edges are found. */
  private final int[][] next;

  private ChannelGraph(Machine machine) {
    this.machine = machine;
    channels = machine.fabric().virtualChannels();
    next = new int[machine.linkCount() * channels][];
  }

  /** Links that wait for each other in a circle, or an empty list. */
  public static List<Link> findCircle(Machine machine) {
    ChannelGraph graph = new ChannelGraph(machine);
    int inSip = machine.cubesPerSip() * machine.pesPerCube();
    for (int a = 0; a < inSip; a++) {
      for (int b = 0; b < inSip; b++) {
        graph.addRoute(a, b);
      }
    }
    int sips = Math.min(machine.sips(), MAX_SIPS);
    for (int from = 0; from < sips; from++) {
      for (int to = 0; to < sips; to++) {
        for (int pe = 0; pe < inSip && from != to; pe++) {
          graph.addRoute(from * inSip + pe, to * inSip);
          graph.addRoute(from * inSip, to * inSip + pe);
        }
      }
    }
    return graph.circle();
  }

  private void addRoute(int fromPe, int toPe) {
    if (fromPe != toPe) {
      int from = machine.peNode(machine.peAt(fromPe));
      int[] route = machine.route(from, machine.peNode(machine.peAt(toPe))).links();
      int[] channel = machine.virtualChannels(route);
      for (int i = 1; i < route.length; i++) {
        addEdge(route[i - 1] * channels + channel[i - 1], route[i] * channels + channel[i]);
      }
    }
  }

  private void addEdge(int link, int follower) {
    int[] known = next[link];
    if (known == null) {
      next[link] = new int[] {follower};
      return;
    }
    for (int each : known) {
      if (each == follower) {
        return;
      }
    }
    next[link] = Arrays.copyOf(known, known.length + 1);
    next[link][known.length] = follower;
  }

  /** Depth-first search with its own stack; a link met again while on the stack closes a circle. */
  private List<Link> circle() {
    byte[] state = new byte[next.length];
    int[] stack = new int[next.length + 1];
    int[] taken = new int[next.length];
    for (int start = 0; start < next.length; start++) {
      int depth = 0;
      if (state[start] == 0) {
        stack[depth++] = start;
        state[start] = 1;
      }
      while (depth > 0) {
        int link = stack[depth - 1];
        int[] followers = next[link];
        if (followers == null || taken[link] == followers.length) {
          state[link] = 2;
          depth--;
          continue;
        }
        int follower = followers[taken[link]++];
        if (state[follower] == 1) {
          return links(stack, depth, follower);
        }
        if (state[follower] == 0) {
          state[follower] = 1;
          stack[depth++] = follower;
        }
      }
    }
    return List.of();
  }

  private List<Link> links(int[] stack, int depth, int first) {
    List<Link> result = new ArrayList<>();
    for (int i = depth - 1; i >= 0; i--) {
      result.addFirst(machine.link(stack[i] / channels));
      if (stack[i] == first) {
        break;
      }
    }
    return result;
  }
}
