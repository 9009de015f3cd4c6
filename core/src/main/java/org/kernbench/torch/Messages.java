package org.kernbench.torch;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BiFunction;
import org.kernbench.device.Launch;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.LanePlan;
import org.kernbench.torch.collective.Message;

/**
 * Messages between ranks. A send and a receive between the same two ranks are matched in the order
 * of the calls. What is matched is handed to the device when no rank can run, before time moves:
 * all messages that hang together by a common rank in one kernel, so that the order in which ranks
 * send and receive cannot deadlock; those of {@link ProcessGroup#withMessagesApart} each in a
 * kernel of its own. These cannot deadlock either: whatever a launch waits for was handed over
 * before it.
 */
final class Messages {
  private final Session session;
  private final Collectives collectives;
  private final BiFunction<List<Integer>, Lane, Members.Connected> lanesOf;
  private final Map<Way, ArrayDeque<Post>> unmatched = new LinkedHashMap<>();
  private final Map<Way, int[]> posted = new HashMap<>();
  private final List<Pair> matched = new ArrayList<>();

  /**
   * No messages yet.
   *
   * @param lanesOf gives a lane of ranks that only send each other messages
   */
  Messages(
      Session session,
      Collectives collectives,
      BiFunction<List<Integer>, Lane, Members.Connected> lanesOf) {
    this.session = session;
    this.collectives = collectives;
    this.lanesOf = lanesOf;
  }

  /** From one global rank to another, in a group. */
  private record Way(Members group, int src, int dst) {}

  private record Pair(Post send, Post receive) {}

  /** How many messages a rank has posted at its end of a way. */
  int next(Members group, boolean isSend, int src, int dst) {
    int[] counts = posted.computeIfAbsent(new Way(group, src, dst), w -> new int[2]);
    return counts[isSend ? 0 : 1]++;
  }

  /**
   * Adds one end of a message.
   *
   * @throws CollectiveMismatchException if the other end has another dtype or shape
   */
  void post(Post post) {
    Way way = new Way(post.group, post.src(), post.dst());
    ArrayDeque<Post> others = unmatched.computeIfAbsent(way, w -> new ArrayDeque<>());
    Post other = others.peekFirst();
    if (other == null || other.isSend == post.isSend) {
      others.add(post);
      return;
    }
    others.removeFirst();
    if (!other.operands.equals(post.operands)) {
      throw Rendezvous.mismatch(other.rank, other, other.place, post.rank, post, post.place);
    }
    matched.add(post.isSend ? new Pair(post, other) : new Pair(other, post));
  }

  /** A post whose other end never came. */
  List<Post> unmatched() {
    List<Post> posts = new ArrayList<>();
    unmatched.values().forEach(posts::addAll);
    return posts;
  }

  /** Forgets everything. */
  void reset() {
    unmatched.clear();
    posted.clear();
    matched.clear();
  }

  /** Hands what is matched to the device. */
  void flush() {
    if (matched.isEmpty()) {
      return;
    }
    List<Pair> pairs = new ArrayList<>();
    List<Pair> apart = new ArrayList<>();
    matched.forEach(p -> (p.send.apart || p.receive.apart ? apart : pairs).add(p));
    matched.clear();
    apart.forEach(p -> launch(List.of(p)));
    Map<Integer, Integer> parent = new HashMap<>();
    for (Pair p : pairs) {
      parent.merge(root(parent, p.send.src()), root(parent, p.send.dst()), (a, b) -> b);
    }
    Map<Integer, List<Pair>> components = new TreeMap<>();
    for (Pair p : pairs) {
      components.computeIfAbsent(root(parent, p.send.src()), r -> new ArrayList<>()).add(p);
    }
    components.values().forEach(this::launch);
  }

  private static int root(Map<Integer, Integer> parent, int rank) {
    int at = rank;
    while (true) {
      int up = parent.getOrDefault(at, at);
      if (up == at) {
        parent.put(at, at);
        return at;
      }
      at = up;
    }
  }

  private void launch(List<Pair> pairs) {
    TreeSet<Integer> ranks = new TreeSet<>();
    for (Pair p : pairs) {
      ranks.add(p.send.rank);
      ranks.add(p.receive.rank);
    }
    List<Integer> members = List.copyOf(ranks);
    Map<Lane, List<Message>> lanes = new LinkedHashMap<>();
    List<Tensor> tensors = new ArrayList<>();
    for (Pair p : pairs) {
      tensors.add(p.send.tensor);
      tensors.add(p.receive.tensor);
      List<Lane> of = Lane.of(p.send.tensor, session.device(p.send.rank));
      for (int i = 0; i < of.size(); i++) {
        if (p.send.tensor.shards().get(i).shape().elements() > 0) {
          lanes
              .computeIfAbsent(of.get(i), l -> new ArrayList<>())
              .add(
                  new Message(
                      Collections.binarySearch(members, p.send.rank),
                      Collections.binarySearch(members, p.receive.rank),
                      p.send.tensor.shards().get(i),
                      p.receive.tensor.shards().get(i)));
        }
      }
    }
    List<LanePlan> plans = new ArrayList<>();
    lanes.forEach((lane, messages) -> {
      Members.Connected connected = lanesOf.apply(members, lane);
      CollectiveCall call = CollectiveCall.messages(members.size(), messages);
      plans.add(new LanePlan(connected.leads(), call, connected.communicator().plan(call)));
    });
    Launch launch =
        collectives.perform(
            CollectiveOp.POINT_TO_POINT,
            pairs.getFirst().send.group.name(),
            members,
            plans,
            tensors,
            pairs.getFirst().receive.tensor.name());
    for (Pair p : pairs) {
      p.send.end(launch);
      p.receive.end(launch);
    }
  }
}
