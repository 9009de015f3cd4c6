package org.kernbench.torch;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.QueueSet;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;
import org.kernbench.torch.collective.CollectiveBackend;

/** The world and the groups that were made of its ranks. */
final class Groups {
  /** Sets of ranks that messages go between and that are remembered. */
  private static final int KNOWN_PAIRS = 4096;

  private final Session session;
  private final Collectives collectives;
  private final Messages messages;
  private final Set<Members> subgroups = new LinkedHashSet<>();
  private final Set<Members> ofHost = new HashSet<>();
  private final Map<List<Integer>, Map<Lane, Members.Connected>> pairs = new LinkedHashMap<>();
  private @Nullable CollectiveBackend backend;
  private @Nullable Members world;
  private @Nullable QueueSet ownQueues;
  private int made;

  /** The ranks that have called initProcessGroup while others have not yet. */
  @Nullable Rendezvous opening;

  private boolean worldOfHost;

  Groups(Session session) {
    this.session = session;
    this.collectives = new Collectives(session);
    this.messages = new Messages(session, collectives, this::pairs);
  }

  /** Messages between ranks of these groups. */
  Messages messages() {
    return messages;
  }

  /** What these groups have handed to the device. */
  Collectives collectives() {
    return collectives;
  }

  @Nullable Members world() {
    return world;
  }

  /** Opens the world of the first devices. */
  void open(CollectiveBackend with, int size) {
    int[] ranks = new int[size];
    Arrays.setAll(ranks, i -> i);
    Members opened = members(with, Members.WORLD, "", ranks, List.of());
    opened.connected(Lane.LEAD).communicator().firstQueues().ifPresent(collectives::install);
    backend = with;
    world = opened;
    worldOfHost = !session.hasRanks();
    session.logRanks(size);
  }

  private Members members(
      CollectiveBackend with, String name, String description, int[] ranks, List<Integer> order) {
    return new Members(session, collectives, messages, with, name, description, ranks, order);
  }

  /**
   * Groups of some ranks of the world, each ascending, with a name for messages, or none. Those of
   * as many ranks have one order.
   */
  List<Members> make(List<List<Integer>> lists, String description) {
    CollectiveBackend with = Objects.requireNonNull(backend);
    Map<Integer, List<Integer>> orders =
        lists.stream()
            .collect(
                Collectors.groupingBy(
                    List::size,
                    Collectors.mapping(
                        this::leads,
                        Collectors.collectingAndThen(Collectors.toList(), with::commonOrder))));
    return lists.stream()
        .map(ranks -> make(with, ranks, description, orders.getOrDefault(ranks.size(), List.of())))
        .toList();
  }

  private List<Pe> leads(List<Integer> ranks) {
    return ranks.stream().map(rank -> Lane.LEAD.on(session.device(rank))).toList();
  }

  private Members make(
      CollectiveBackend with, List<Integer> ranks, String description, List<Integer> order) {
    made++;
    int[] sorted = ranks.stream().mapToInt(Integer::intValue).toArray();
    Members group = members(with, "group " + made, description, sorted, order);
    subgroups.add(group);
    if (!session.hasRanks()) {
      ofHost.add(group);
    }
    return group;
  }

  /** Everybody has left the group. */
  void close(Members group) {
    group.close();
    subgroups.remove(group);
    ofHost.remove(group);
    if (group == world) {
      for (Members each : List.copyOf(subgroups)) {
        close(each);
      }
      world = null;
      made = 0;
      pairs.clear();
      collectives.uninstallIdle();
      QueueSet own = ownQueues;
      if (own != null && !own.isInUse()) {
        session.simulator().uninstall(own);
      }
      ownQueues = null;
    }
  }

  /** A rank leaves the world, and with it all its groups. */
  void leaveWorld(int rank) {
    Members w = Objects.requireNonNull(world);
    for (Members each : List.copyOf(subgroups)) {
      if (each.isOpenFor(rank) && each.leave(rank)) {
        close(each);
      }
    }
    if (w.leave(rank)) {
      close(w);
    }
  }

  /** Groups in which some members wait for others, and the meetings where. */
  List<Rendezvous> openMeetings() {
    List<Rendezvous> meetings = new ArrayList<>();
    Members w = world;
    if (w != null) {
      meetings.addAll(w.openMeetings());
    }
    for (Members each : subgroups) {
      meetings.addAll(each.openMeetings());
    }
    return meetings;
  }

  /** What ranks have opened ends with them; what the host has opened starts afresh. */
  void endOfSpawn() {
    messages.reset();
    session.forgetWorks();
    opening = null;
    Members w = world;
    if (w == null) {
      return;
    }
    if (!worldOfHost) {
      close(w);
      return;
    }
    w.reset();
    for (Members each : List.copyOf(subgroups)) {
      if (ofHost.contains(each)) {
        each.reset();
      } else {
        close(each);
      }
    }
  }

  /** Queues for kernels of the program, connected as those of the world's all-reduces. */
  QueueSet ownQueues() {
    QueueSet own = ownQueues;
    if (own == null) {
      Members w = Objects.requireNonNull(world);
      own =
          w.connected(Lane.LEAD)
              .communicator()
              .firstQueues()
              .map(session.simulator()::installApart)
              .orElseThrow(() ->
                  new SimulationException(
                      """
                      queues: algorithm %s has none before its first call; install a QueuePlan of \
                      your own with simulator().install\
                      """
                          .formatted(w.handle().algorithm())));
      ownQueues = own;
    }
    return own;
  }

  /** A lane of ranks that only send each other messages. */
  private Members.Connected pairs(List<Integer> ranks, Lane lane) {
    Members w = Objects.requireNonNull(world);
    if (ranks.size() == w.size()) {
      return w.connected(lane);
    }
    if (pairs.size() >= KNOWN_PAIRS) {
      pairs.clear();
    }
    return pairs
        .computeIfAbsent(ranks, r -> new LinkedHashMap<>())
        .computeIfAbsent(
            lane,
            l -> {
              List<Pe> leads = new ArrayList<>();
              for (int rank : ranks) {
                leads.add(l.on(session.device(rank)));
              }
              return new Members.Connected(leads, Objects.requireNonNull(backend).connect(leads));
            });
  }
}
