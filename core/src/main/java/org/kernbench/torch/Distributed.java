package org.kernbench.torch;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.kernbench.config.Suggest;
import org.kernbench.device.QueueSet;
import org.kernbench.machine.SimulationException;
import org.kernbench.torch.collective.CollectiveBackend;
import org.kernbench.torch.collective.CollectiveRun;
import org.kernbench.torch.collective.ReduceKind;

/**
 * What ranks do together ({@code torch.distributed} in PyTorch). The rank that calls is the one
 * whose body is running; the host program itself is no rank, but may open the process group for the
 * ranks that it spawns afterwards.
 */
public final class Distributed {
  private final Session session;
  private final Groups groups;

  Distributed(Session session, Groups groups) {
    this.session = session;
    this.groups = groups;
  }

  /**
   * Opens the process group: chooses the collective algorithm and installs its message queues, once
   * all kernels under way are done. Either the host program calls it before {@link
   * Multiprocessing#spawn}, or every rank does, and all wait for each other.
   *
   * @param backend name of the backend, {@code ahbm}
   */
  public void initProcessGroup(String backend) {
    CollectiveBackend found = backend(backend);
    Rank caller = session.current();
    Members open = groups.world();
    if (open != null && (caller == null || open.isOpenFor(caller.number()))) {
      throw new SimulationException(
          """
          initProcessGroup: the process group is open already; expected one call, in the host \
          program or in every rank, or destroyProcessGroup before the next\
          """);
    }
    if (caller == null) {
      session.synchronize();
      connect(found);
    } else {
      meet(found, caller);
    }
  }

  /** {@link #initProcessGroup(String)} with the name of the only backend. */
  public void initProcessGroup() {
    initProcessGroup(session.options().collectives().map(CollectiveBackend::name).orElse("ahbm"));
  }

  private void meet(CollectiveBackend found, Rank caller) {
    if (caller.worldSize() != found.worldSize()) {
      throw new SimulationException(
          """
          initProcessGroup: %s ranks were spawned, but the world size is %s; spawn as \
          many, or set world_size of the collective configuration\
          """
              .formatted(caller.worldSize(), found.worldSize()));
    }
    Rendezvous.Fingerprint mine =
        new Rendezvous.Fingerprint("initProcessGroup", "group world", 0, found.name());
    Rendezvous meeting = groups.opening;
    if (meeting == null) {
      int[] all = new int[caller.worldSize()];
      Arrays.setAll(all, i -> i);
      meeting = new Rendezvous(mine, all, session.standIns(all), caller.number(), session.here());
      groups.opening = meeting;
    }
    if (meeting.arrive(caller.number(), mine, null, session::here)) {
      groups.opening = null;
      meeting.endAfter(session.pendingLaunches(), () -> connect(found));
    }
    caller.block(meeting);
  }

  private CollectiveBackend backend(String name) {
    Optional<CollectiveBackend> found = session.options().collectives();
    if (found.isEmpty()) {
      throw new SimulationException(
          "initProcessGroup: no collective backend; open Torch with TorchOptions.withCollectives");
    }
    if (!found.get().name().equals(name)) {
      List<String> known = List.of(found.get().name());
      throw new SimulationException(
          "initProcessGroup: unknown backend \"%s\"%s; expected %s"
              .formatted(name, Suggest.hint(name, known), known.getFirst()));
    }
    return found.get();
  }

  private void connect(CollectiveBackend backend) {
    int size = backend.worldSize();
    int devices = session.deviceCount();
    if (size < 1 || size > devices) {
      throw new SimulationException(
          """
          initProcessGroup: world size %s; expected 1 to %s, one per %s of machine %s\
          """
              .formatted(size, devices, session.rankLevelName(), session.machine().name()));
    }
    groups.open(backend, size);
  }

  // ---- groups ----

  /** The group of all ranks ({@code group.WORLD}). */
  public ProcessGroup world() {
    return open("world").handle();
  }

  /**
   * Makes a group of some ranks ({@code new_group}). All ranks of the world make the same groups in
   * the same order, also those that are in none of them; or the host program makes them.
   *
   * @param ranks global numbers, each once; their order does not matter
   * @return the group; for a rank that is not in it, a handle that is no member and that no
   *     operation takes
   * @throws CollectiveMismatchException if another rank makes another group, or calls something
   *     else
   */
  public ProcessGroup newGroup(List<Integer> ranks) {
    return newGroup(ranks, "");
  }

  /**
   * {@link #newGroup(List)} with a name for messages ({@code group_desc} of PyTorch).
   *
   * @param description for example {@code tp}; the same on all ranks
   */
  public ProcessGroup newGroup(List<Integer> ranks, String description) {
    Members world = open("newGroup");
    List<Integer> sorted = checked("newGroup", world, ranks);
    return handle(make("newGroup", world, List.of(sorted), description).getFirst());
  }

  /** {@link #newGroup(List)}. */
  public ProcessGroup newGroup(int... ranks) {
    return newGroup(Arrays.stream(ranks).boxed().toList());
  }

  /**
   * Makes several groups at once ({@code new_subgroups_by_enumeration}); otherwise as {@link
   * #newGroup(List)}. Groups of as many ranks go round in the same order, so that ranks of
   * different groups that have the same values have the same sums, with all algorithms but those
   * that add as the links of a group let values come ({@code packed_trees}, {@code
   * double_binary_tree}).
   *
   * @param lists the ranks of each group; no rank in two of them. Ranks in none get no group
   */
  public SubGroups newSubgroupsByEnumeration(List<List<Integer>> lists) {
    return newSubgroupsByEnumeration(lists, "");
  }

  /**
   * {@link #newSubgroupsByEnumeration(List)} with a name for messages ({@code group_desc} of
   * PyTorch).
   *
   * @param description for example {@code tp}; the same on all ranks
   */
  public SubGroups newSubgroupsByEnumeration(List<List<Integer>> lists, String description) {
    String method = "newSubgroupsByEnumeration";
    Members world = open(method);
    if (lists.isEmpty()) {
      throw new SimulationException(method + ": no list of ranks; expected at least one");
    }
    List<List<Integer>> sorted = new ArrayList<>(lists.size());
    int[] listOf = new int[world.size()];
    Arrays.fill(listOf, -1);
    for (int i = 0; i < lists.size(); i++) {
      List<Integer> ranks = checked(method, world, lists.get(i));
      sorted.add(ranks);
      for (int rank : ranks) {
        if (listOf[rank] >= 0) {
          throw new SimulationException(
              """
              %s: rank %s is in list %s, %s, and in list %s, %s; expected each rank in one \
              list at most\
              """
                  .formatted(method, rank, listOf[rank], lists.get(listOf[rank]), i, lists.get(i)));
        }
        listOf[rank] = i;
      }
    }
    List<Members> made = make(method, world, sorted, description);
    Rank caller = session.current();
    List<ProcessGroup> all = new ArrayList<>(made.size());
    for (Members group : made) {
      all.add(handle(group));
    }
    int own = caller == null ? 0 : listOf[caller.number()];
    return new SubGroups(own >= 0 ? all.get(own) : all.getFirst(), all);
  }

  private ProcessGroup handle(Members group) {
    Rank caller = session.current();
    return caller == null ? group.handle() : group.handle(caller.number());
  }

  private List<Members> make(
      String method, Members world, List<List<Integer>> lists, String description) {
    Rank caller = session.current();
    if (caller == null) {
      return groups.make(lists, description);
    }
    Object asked = description.isEmpty() ? lists : List.of(description, lists);
    Rendezvous.Fingerprint mine = world.next(caller.number(), method, asked);
    Rendezvous meeting = world.meet(caller.number(), mine, null);
    if (meeting.isFull()) {
      meeting.make(groups.make(lists, description));
      meeting.end(null);
    }
    caller.block(meeting);
    return meeting.made();
  }

  private static boolean isAscending(List<Integer> ranks) {
    int previous = -1;
    for (int rank : ranks) {
      if (rank <= previous) {
        return false;
      }
      previous = rank;
    }
    return true;
  }

  private static List<Integer> checked(String method, Members world, List<Integer> ranks) {
    List<Integer> sorted =
        isAscending(ranks) ? List.copyOf(ranks) : ranks.stream().sorted().toList();
    if (sorted.isEmpty()) {
      throw new SimulationException(
          method + ": an empty list of ranks; expected at least one rank");
    }
    if (sorted.size() > world.size()) {
      throw new SimulationException(
          "%s: %s ranks; expected at most the %s of the world"
              .formatted(method, sorted.size(), world.size()));
    }
    for (int i = 0; i < sorted.size(); i++) {
      int rank = sorted.get(i);
      if (rank < 0 || rank >= world.size()) {
        throw new SimulationException(
            method + ": rank " + rank + "; expected 0 to " + (world.size() - 1));
      }
      if (i > 0 && rank == sorted.get(i - 1)) {
        throw new SimulationException(
            method + ": rank " + rank + " twice in one list; expected each rank once");
      }
    }
    return sorted;
  }

  /** Whether there is a process group, for the rank that asks or, in the host program, at all. */
  public boolean isInitialized() {
    Members world = groups.world();
    Rank caller = session.current();
    return world != null && (caller == null || world.isOpenFor(caller.number()));
  }

  /**
   * Leaves the world and all groups. A group ends when all its ranks have left it; in the host
   * program, at once. What is left open when a spawn ends, and was opened in it, ends with it.
   */
  public void destroyProcessGroup() {
    Members world = open("destroyProcessGroup");
    Rank caller = session.current();
    if (caller == null) {
      session.synchronize();
      groups.close(world);
    } else {
      groups.leaveWorld(caller.number());
    }
  }

  /** Leaves one group; the world as well as {@link #destroyProcessGroup()}. */
  public void destroyProcessGroup(ProcessGroup group) {
    Members world = open("destroyProcessGroup");
    Rank caller = session.current();
    if (group.members() == world) {
      destroyProcessGroup();
    } else if (caller == null) {
      groups.close(group.members());
    } else if (!group.isMember()) {
      throw new SimulationException(
          "rank " + caller.number() + ": destroyProcessGroup of " + group + "; expected a member");
    } else if (group.members().leave(caller.number())) {
      groups.close(group.members());
    }
  }

  // ---- who ----

  /** The number of the rank that asks ({@code get_rank}). */
  public int getRank() {
    open("getRank");
    return caller("getRank").number();
  }

  /** The number in a group of the rank that asks; -1 if it is no member. */
  public int getRank(ProcessGroup group) {
    return group.rank();
  }

  /** How many ranks the world has ({@code get_world_size}). */
  public int getWorldSize() {
    return open("getWorldSize").size();
  }

  /** Name of the backend ({@code get_backend}). */
  public String getBackend() {
    return open("getBackend").backend();
  }

  /** Name of the algorithm that performs all-reduces in the world. */
  public String algorithm() {
    return open("algorithm").handle().algorithm();
  }

  /**
   * Message queues for kernels of the program, to be given to {@link Torch#launch(String,
   * org.kernbench.tl.Kernel, QueueSet, Tensor, Tensor...)}: connected as those of the world's
   * all-reduces, but of their own, so that they never meet a message of a collective.
   */
  public QueueSet queues() {
    open("queues");
    return groups.ownQueues();
  }

  // ---- the world's operations; those of other groups are on ProcessGroup ----

  /** {@link ProcessGroup#allReduce(Tensor, ReduceKind)} in the world. */
  public void allReduce(Tensor tensor, ReduceKind reduce) {
    of("allReduce").allReduce(tensor, reduce);
  }

  /** {@link #allReduce(Tensor, ReduceKind)} with {@link ReduceKind#SUM}. */
  public void allReduce(Tensor tensor) {
    allReduce(tensor, ReduceKind.SUM);
  }

  /** {@link ProcessGroup#allReduceAsync} in the world. */
  public Work allReduceAsync(Tensor tensor, ReduceKind reduce) {
    return of("allReduce").allReduceAsync(tensor, reduce);
  }

  /** {@link ProcessGroup#reduceScatter(Tensor, Tensor, ReduceKind)} in the world. */
  public void reduceScatter(Tensor output, Tensor input, ReduceKind reduce) {
    of("reduceScatter").reduceScatter(output, input, reduce);
  }

  /** {@link ProcessGroup#allGather(Tensor, Tensor)} in the world. */
  public void allGather(Tensor output, Tensor input) {
    of("allGather").allGather(output, input);
  }

  /** {@link ProcessGroup#broadcast} in the world. */
  public void broadcast(Tensor tensor, int src) {
    of("broadcast").broadcast(tensor, src);
  }

  /** {@link ProcessGroup#reduce} in the world. */
  public void reduce(Tensor tensor, int dst, ReduceKind reduce) {
    of("reduce").reduce(tensor, dst, reduce);
  }

  /** {@link ProcessGroup#gather(Tensor, Tensor, int)} in the world, on the root. */
  public void gather(Tensor output, Tensor input, int dst) {
    of("gather").gather(output, input, dst);
  }

  /** {@link ProcessGroup#gather(Tensor, int)} in the world, on the other ranks. */
  public void gather(Tensor input, int dst) {
    of("gather").gather(input, dst);
  }

  /** {@link ProcessGroup#scatter(Tensor, Tensor, int)} in the world, on the root. */
  public void scatter(Tensor output, Tensor input, int src) {
    of("scatter").scatter(output, input, src);
  }

  /** {@link ProcessGroup#scatter(Tensor, int)} in the world, on the other ranks. */
  public void scatter(Tensor output, int src) {
    of("scatter").scatter(output, src);
  }

  /** {@link ProcessGroup#allToAll(Tensor, Tensor)} in the world. */
  public void allToAll(Tensor output, Tensor input) {
    of("allToAll").allToAll(output, input);
  }

  /** {@link ProcessGroup#allToAll(Tensor, Tensor, List, List)} in the world. */
  public void allToAll(
      Tensor output, Tensor input, List<Integer> outputRows, List<Integer> inputRows) {
    of("allToAll").allToAll(output, input, outputRows, inputRows);
  }

  /** {@link ProcessGroup#send} in the world. */
  public void send(Tensor tensor, int dst) {
    of("send").send(tensor, dst);
  }

  /** {@link ProcessGroup#recv} in the world. */
  public void recv(Tensor tensor, int src) {
    of("recv").recv(tensor, src);
  }

  /** {@link ProcessGroup#isend} in the world. */
  public Work isend(Tensor tensor, int dst) {
    return of("isend").isend(tensor, dst);
  }

  /** {@link ProcessGroup#irecv} in the world. */
  public Work irecv(Tensor tensor, int src) {
    return of("irecv").irecv(tensor, src);
  }

  /** {@link ProcessGroup#batchIsendIrecv} in the world. */
  public List<Work> batchIsendIrecv(List<P2POp> ops) {
    return of("batchIsendIrecv").batchIsendIrecv(ops);
  }

  /** {@link ProcessGroup#barrier} in the world. */
  public void barrier() {
    of("barrier").barrier();
  }

  // ---- what happened ----

  /** Every collective that was handed to the device since {@link Torch#open}, in order. */
  public List<CollectiveRun> history() {
    return groups.collectives().history();
  }

  private ProcessGroup of(String op) {
    caller(op);
    return open(op).handle();
  }

  private Members open(String op) {
    Members world = groups.world();
    Rank caller = session.current();
    if (world == null || (caller != null && !world.isOpenFor(caller.number()))) {
      throw new SimulationException(
          op + ": there is no process group; call initProcessGroup first");
    }
    return world;
  }

  private Rank caller(String op) {
    Rank caller = session.current();
    if (caller == null) {
      throw new SimulationException(
          """
          %s in the host program, which is no rank; call it in a body given to \
          multiprocessing().spawn\
          """
              .formatted(op));
    }
    return caller;
  }
}
