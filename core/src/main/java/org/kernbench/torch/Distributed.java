package org.kernbench.torch;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import org.kernbench.config.Suggest;
import org.kernbench.device.SimulationException;
import org.kernbench.machine.Pe;

/**
 * What ranks do together ({@code torch.distributed} in PyTorch). The rank that calls is the one
 * whose body is running; the host program itself is no rank, but may open the process group for the
 * ranks that it spawns afterwards.
 */
public final class Distributed {
  private final Session session;

  Distributed(Session session) {
    this.session = session;
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
    Worker worker = session.current();
    ProcessGroup open = session.group;
    if (open != null && (worker == null || open.isMember(worker.rank()))) {
      throw new SimulationException(
          "initProcessGroup: the process group is open already; expected one call, in the host"
              + " program or in every rank, or destroyProcessGroup before the next");
    }
    if (worker == null) {
      session.synchronize();
      connect(found);
    } else {
      meet(found, worker);
    }
  }

  private void meet(CollectiveBackend found, Worker worker) {
    if (worker.worldSize() != found.worldSize()) {
      throw new SimulationException(
          "initProcessGroup: "
              + worker.worldSize()
              + " ranks were spawned, but the world size is "
              + found.worldSize()
              + "; spawn as many, or set world_size of the collective"
              + " configuration");
    }
    Fingerprint mine = new Fingerprint("initProcessGroup", "world", 0, found.name());
    Rendezvous meeting = session.opening;
    if (meeting == null) {
      meeting = new Rendezvous(mine, worker.worldSize(), worker.rank());
      session.opening = meeting;
    }
    if (meeting.arrive(worker.rank(), mine, null)) {
      session.opening = null;
      meeting.begin(session.pendingLaunches(), () -> connect(found));
    }
    worker.block(meeting);
  }

  private CollectiveBackend backend(String name) {
    Optional<CollectiveBackend> found = session.options.collectives();
    if (found.isEmpty()) {
      throw new SimulationException(
          "initProcessGroup: no collective backend; open Torch with TorchOptions.withCollectives");
    }
    if (!found.get().name().equals(name)) {
      List<String> known = List.of(found.get().name());
      throw new SimulationException(
          "initProcessGroup: unknown backend \""
              + name
              + "\""
              + Suggest.hint(name, known)
              + "; expected "
              + known.getFirst());
    }
    return found.get();
  }

  private void connect(CollectiveBackend backend) {
    int size = backend.worldSize();
    int devices = session.deviceCount();
    if (size < 1 || size > devices) {
      throw new SimulationException(
          "initProcessGroup: world size "
              + size
              + "; expected 1 to "
              + devices
              + ", one per "
              + session.rankLevelName()
              + " of machine "
              + session.machine.name());
    }
    List<Pe> leads = new ArrayList<>(size);
    for (int rank = 0; rank < size; rank++) {
      leads.add(session.device(rank).lead());
    }
    Communicator communicator = backend.connect(Collections.unmodifiableList(leads));
    communicator.firstQueues().ifPresent(session::install);
    session.group = new ProcessGroup(session, backend.name(), leads, communicator);
  }

  /** Whether there is a process group, for the rank that asks or, in the host program, at all. */
  public boolean isInitialized() {
    ProcessGroup group = session.group;
    Worker worker = session.current();
    return group != null && (worker == null || group.isMember(worker.rank()));
  }

  /**
   * Leaves the process group. It ends when all ranks have left it; in the host program, at once.
   * What is left open when a rank ends is closed with it.
   */
  public void destroyProcessGroup() {
    ProcessGroup group = group("destroyProcessGroup");
    Worker worker = session.current();
    if (worker == null || group.leave(worker.rank())) {
      session.group = null;
    }
  }

  /** The number of the rank that asks ({@code get_rank}). */
  public int getRank() {
    group("getRank");
    return worker("getRank").rank();
  }

  /** How many ranks the process group has ({@code get_world_size}). */
  public int getWorldSize() {
    return group("getWorldSize").size();
  }

  /** Name of the backend ({@code get_backend}). */
  public String getBackend() {
    return group("getBackend").backend();
  }

  /** Name of the collective algorithm in use. */
  public String algorithm() {
    return group("algorithm").algorithm();
  }

  /**
   * Replaces each rank's tensor by the reduction of all of them ({@code all_reduce}). The order of
   * the reduction is the algorithm's, the same in every run; the result is the same on every rank.
   *
   * @param tensor on the lead PE of the rank's device; dtype and shape alike on all ranks
   * @throws CollectiveMismatchException if ranks disagree
   */
  public void allReduce(Tensor tensor, ReduceKind reduce) {
    group("allReduce").allReduce(worker("allReduce"), tensor, reduce);
  }

  /** {@link #allReduce(Tensor, ReduceKind)} with {@link ReduceKind#SUM}. */
  public void allReduce(Tensor tensor) {
    allReduce(tensor, ReduceKind.SUM);
  }

  /**
   * Returns when all ranks have called and all kernels launched before are done. The host does it:
   * it takes no simulated time of its own.
   */
  public void barrier() {
    group("barrier").barrier(worker("barrier"));
  }

  /** Every collective that the device performed since {@link Torch#open}, in order. */
  public List<CollectiveRun> history() {
    return Collections.unmodifiableList(session.history);
  }

  private ProcessGroup group(String op) {
    ProcessGroup group = session.group;
    Worker worker = session.current();
    if (group == null || (worker != null && !group.isMember(worker.rank()))) {
      throw new SimulationException(
          op + ": there is no process group; call initProcessGroup first");
    }
    return group;
  }

  private Worker worker(String op) {
    Worker worker = session.current();
    if (worker == null) {
      throw new SimulationException(
          op
              + " in the host program, which is no rank; call it in a body given to"
              + " multiprocessing().spawn");
    }
    return worker;
  }
}
