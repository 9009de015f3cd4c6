package org.kernbench.torch;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.kernbench.machine.CannotFoldException;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;
import org.kernbench.torch.collective.CollectiveOp;
import org.kernbench.torch.collective.ReduceKind;

/**
 * Ranks that communicate with each other ({@code ProcessGroup} in PyTorch). The rank that calls is
 * the one whose body is running. All members make the same calls in the same order; ranks are named
 * by their global numbers.
 *
 * <p>A collective is enqueued when all members have called, on the PEs' communication context,
 * after the kernels that use its tensors; kernels launched later on these tensors, and reads of the
 * host, wait for it. So no call but {@link #barrier} waits for the device. The methods that end in
 * {@code Async} do not wait for the other members either and return a {@link Work} ({@code
 * async_op=True} in PyTorch).
 *
 * <p>Tensors lie on the rank's own device. If they are spread over its PEs, in the same way on all
 * members, every PE exchanges its shard with the PEs at the same place of the other devices.
 * Operations whose ranks own parts of a tensor cut it along its first axis, which must not be
 * spread then.
 *
 * <p>Every method throws {@link CollectiveMismatchException} if members call different things, and
 * {@link SimulationException} if the rank is no member.
 */
public final class ProcessGroup {
  private final Session session;
  private final Messages messages;
  private final Members members;
  private final boolean usable;
  private final boolean apart;

  ProcessGroup(Session session, Messages messages, Members members, boolean usable) {
    this(session, messages, members, usable, false);
  }

  private ProcessGroup(
      Session session, Messages messages, Members members, boolean usable, boolean apart) {
    this.session = session;
    this.messages = messages;
    this.members = members;
    this.usable = usable;
    this.apart = apart;
  }

  /**
   * This group, whose messages go each by itself: none waits for others that are posted at the same
   * time, which {@link #isend} puts together into one kernel. On a PE they follow each other in the
   * order in which they were matched. For programs that order their messages themselves, as a
   * pipeline does.
   */
  public ProcessGroup withMessagesApart() {
    return new ProcessGroup(session, messages, members, usable, true);
  }

  // ---- who ----

  /** Name in reports: {@code world}, {@code group 1}, ... in the order of creation. */
  public String name() {
    return members.name();
  }

  /** Global numbers of the members, ascending. */
  public List<Integer> ranks() {
    return members.ranks();
  }

  /** Number of members. */
  public int size() {
    return members.size();
  }

  /** Whether this is a handle for members and, inside a rank, the rank is one. */
  public boolean isMember() {
    Rank caller = session.current();
    return usable && (caller == null || members.member(caller.number()) >= 0);
  }

  /** The calling rank's number in this group, by ascending global number; -1 if it is not in it. */
  public int rank() {
    Rank caller = session.current();
    return caller == null ? -1 : members.member(caller.number());
  }

  /** The global number of a member. */
  public int globalRank(int member) {
    return members.globalRank(member);
  }

  /** The number in this group of a global rank; -1 if it is not in it. */
  public int groupRank(int globalRank) {
    return members.member(globalRank);
  }

  /** The lead PE of each member, which stands for it in estimates of what it costs to send. */
  public List<Pe> leadPes() {
    return members.pes(Lane.LEAD);
  }

  /** Name of the algorithm that performs all-reduces on the lead PEs. */
  public String algorithm() {
    return members.size() == 1 ? "copy" : members.connected(Lane.LEAD).communicator().algorithm();
  }

  Members members() {
    return members;
  }

  // ---- reductions ----

  /**
   * Replaces each member's tensor by the reduction of all of them ({@code all_reduce}). The order
   * of the reduction is the algorithm's, the same in every run; the result has the same bits on
   * every member.
   */
  public void allReduce(Tensor tensor, ReduceKind reduce) {
    perform(whole(CollectiveOp.ALL_REDUCE, tensor).reducing(reduce));
  }

  /** {@link #allReduce(Tensor, ReduceKind)} with {@link ReduceKind#SUM}. */
  public void allReduce(Tensor tensor) {
    allReduce(tensor, ReduceKind.SUM);
  }

  /** {@link #allReduce(Tensor, ReduceKind)}, without waiting for the others. */
  public Work allReduceAsync(Tensor tensor, ReduceKind reduce) {
    return start(whole(CollectiveOp.ALL_REDUCE, tensor).reducing(reduce));
  }

  /**
   * Gives each member its part of the reduction of all inputs ({@code reduce_scatter_tensor}).
   *
   * @param output {@code [r, ...]}
   * @param input {@code [p r, ...]}; member {@code i} gets rows {@code [i r, (i+1) r)}
   */
  public void reduceScatter(Tensor output, Tensor input, ReduceKind reduce) {
    perform(part(CollectiveOp.REDUCE_SCATTER, input, output, output).reducing(reduce));
  }

  /** {@link #reduceScatter(Tensor, Tensor, ReduceKind)}, without waiting for the others. */
  public Work reduceScatterAsync(Tensor output, Tensor input, ReduceKind reduce) {
    return start(part(CollectiveOp.REDUCE_SCATTER, input, output, output).reducing(reduce));
  }

  /**
   * A reduce-scatter with parts of different sizes.
   *
   * @param rows by member, rows of its part; alike on all members, some may be 0
   */
  public void reduceScatter(Tensor output, Tensor input, ReduceKind reduce, List<Integer> rows) {
    perform(part(CollectiveOp.REDUCE_SCATTER, input, output, output).reducing(reduce).cut(rows));
  }

  /**
   * Replaces the root's tensor by the reduction of all of them ({@code reduce}); the others keep
   * theirs.
   *
   * @param dst global rank of the root
   */
  public void reduce(Tensor tensor, int dst, ReduceKind reduce) {
    perform(toRoot(tensor, dst).reducing(reduce));
  }

  /** {@link #reduce}, without waiting for the others. */
  public Work reduceAsync(Tensor tensor, int dst, ReduceKind reduce) {
    return start(toRoot(tensor, dst).reducing(reduce));
  }

  private CollectiveRequest toRoot(Tensor tensor, int dst) {
    boolean isRoot = isRank(dst);
    return new CollectiveRequest(CollectiveOp.REDUCE, tensor, isRoot ? tensor : null, tensor)
        .rooted(dst);
  }

  // ---- copies ----

  /**
   * Gives every member the concatenation of all inputs ({@code all_gather_into_tensor}).
   *
   * @param output {@code [p r, ...]}; rows {@code [i r, (i+1) r)} come from member {@code i}
   * @param input {@code [r, ...]}
   */
  public void allGather(Tensor output, Tensor input) {
    perform(part(CollectiveOp.ALL_GATHER, input, output, input));
  }

  /** {@link #allGather(Tensor, Tensor)}, without waiting for the others. */
  public Work allGatherAsync(Tensor output, Tensor input) {
    return start(part(CollectiveOp.ALL_GATHER, input, output, input));
  }

  /**
   * An all-gather with parts of different sizes.
   *
   * @param rows by member, rows of its input; alike on all members, some may be 0
   */
  public void allGather(Tensor output, Tensor input, List<Integer> rows) {
    perform(part(CollectiveOp.ALL_GATHER, input, output, input).cut(rows));
  }

  /**
   * Gives every member the root's tensor ({@code broadcast}).
   *
   * @param src global rank of the root
   */
  public void broadcast(Tensor tensor, int src) {
    perform(fromRoot(tensor, src));
  }

  /** {@link #broadcast}, without waiting for the others. */
  public Work broadcastAsync(Tensor tensor, int src) {
    return start(fromRoot(tensor, src));
  }

  private CollectiveRequest fromRoot(Tensor tensor, int src) {
    boolean isRoot = isRank(src);
    return new CollectiveRequest(CollectiveOp.BROADCAST, isRoot ? tensor : null, tensor, tensor)
        .rooted(src);
  }

  /**
   * Gives the root the concatenation of all inputs ({@code gather}): on the root.
   *
   * @param output {@code [p r, ...]}
   * @param input {@code [r, ...]}
   * @param dst global rank of the root, the caller
   */
  public void gather(Tensor output, Tensor input, int dst) {
    perform(part(CollectiveOp.GATHER, input, output, input).rooted(dst));
  }

  /** {@link #gather(Tensor, Tensor, int)} on the other members. */
  public void gather(Tensor input, int dst) {
    perform(new CollectiveRequest(CollectiveOp.GATHER, input, null, input).rooted(dst));
  }

  /** {@link #gather(Tensor, Tensor, int)}, without waiting for the others. */
  public Work gatherAsync(Tensor output, Tensor input, int dst) {
    return start(part(CollectiveOp.GATHER, input, output, input).rooted(dst));
  }

  /** {@link #gather(Tensor, int)}, without waiting for the others. */
  public Work gatherAsync(Tensor input, int dst) {
    return start(new CollectiveRequest(CollectiveOp.GATHER, input, null, input).rooted(dst));
  }

  /**
   * Gives each member its part of the root's input ({@code scatter}): on the root.
   *
   * @param output {@code [r, ...]}
   * @param input {@code [p r, ...]}
   * @param src global rank of the root, the caller
   */
  public void scatter(Tensor output, Tensor input, int src) {
    perform(part(CollectiveOp.SCATTER, input, output, output).rooted(src));
  }

  /** {@link #scatter(Tensor, Tensor, int)} on the other members. */
  public void scatter(Tensor output, int src) {
    perform(new CollectiveRequest(CollectiveOp.SCATTER, null, output, output).rooted(src));
  }

  /** {@link #scatter(Tensor, Tensor, int)}, without waiting for the others. */
  public Work scatterAsync(Tensor output, Tensor input, int src) {
    return start(part(CollectiveOp.SCATTER, input, output, output).rooted(src));
  }

  /** {@link #scatter(Tensor, int)}, without waiting for the others. */
  public Work scatterAsync(Tensor output, int src) {
    return start(new CollectiveRequest(CollectiveOp.SCATTER, null, output, output).rooted(src));
  }

  /**
   * Sends block {@code j} of the input to member {@code j} and puts what comes from member {@code
   * i} at block {@code i} of the output ({@code all_to_all_single}).
   *
   * @param output {@code [p r, ...]}
   * @param input {@code [p r, ...]}
   */
  public void allToAll(Tensor output, Tensor input) {
    perform(exchange(output, input));
  }

  /** {@link #allToAll(Tensor, Tensor)}, without waiting for the others. */
  public Work allToAllAsync(Tensor output, Tensor input) {
    return start(exchange(output, input));
  }

  /**
   * An all-to-all with blocks of different sizes.
   *
   * @param outputRows by member, rows that come from it; some may be 0
   * @param inputRows by member, rows that go to it
   */
  public void allToAll(
      Tensor output, Tensor input, List<Integer> outputRows, List<Integer> inputRows) {
    perform(exchange(output, input).split(inputRows, outputRows));
  }

  /** {@link #allToAll(Tensor, Tensor, List, List)}, without waiting for the others. */
  public Work allToAllAsync(
      Tensor output, Tensor input, List<Integer> outputRows, List<Integer> inputRows) {
    return start(exchange(output, input).split(inputRows, outputRows));
  }

  private CollectiveRequest exchange(Tensor output, Tensor input) {
    return new CollectiveRequest(CollectiveOp.ALL_TO_ALL, input, output, input);
  }

  // ---- messages ----

  /**
   * Sends a tensor to a rank ({@code send}); returns when that rank has called {@link #recv}.
   *
   * @param dst global rank, another member
   */
  public void send(Tensor tensor, int dst) {
    isend(tensor, dst).await();
  }

  /**
   * Receives a tensor from a rank ({@code recv}); returns when that rank has called {@link #send}.
   *
   * @param src global rank, another member
   */
  public void recv(Tensor tensor, int src) {
    irecv(tensor, src).await();
  }

  /** {@link #send}, without waiting for the other rank. */
  public Work isend(Tensor tensor, int dst) {
    return post(true, tensor, dst);
  }

  /** {@link #recv}, without waiting for the other rank. */
  public Work irecv(Tensor tensor, int src) {
    return post(false, tensor, src);
  }

  /**
   * Posts messages ({@code batch_isend_irecv}). The order of sends and receives does not matter:
   * whatever is matched when no rank can run goes at once.
   */
  public List<Work> batchIsendIrecv(List<P2POp> ops) {
    List<Work> works = new ArrayList<>(ops.size());
    for (P2POp op : ops) {
      works.add(post(op.isSend(), op.tensor(), op.peer()));
    }
    return works;
  }

  private Work post(boolean isSend, Tensor tensor, int peer) {
    String method = isSend ? "send" : "recv";
    Rank caller = caller(method);
    int rank = caller.number();
    if (members.member(peer) < 0 || peer == rank) {
      throw members.error(
          method,
          rank,
          "peer " + peer + "; expected the global rank of another member, of " + members.shown());
    }
    if (!session.isSimulated(peer)) {
      throw new CannotFoldException(
          "%s with rank %s, which rank %s stands for; messages between packages are not folded, run with --fold off"
              .formatted(method, peer, session.standIn(peer)));
    }
    TensorChecks.check(session, session.device(rank), method, rank, tensor);
    Operands operands =
        new Operands(
            tensor.dtype(),
            tensor.shape(),
            Optional.empty(),
            -1,
            List.of(),
            TensorChecks.places(tensor, session.device(rank)));
    int src = isSend ? rank : peer;
    int dst = isSend ? peer : rank;
    int sequence = messages.next(members, isSend, src, dst);
    Post post =
        new Post(isSend, rank, peer, members, sequence, tensor, operands, session.here(), apart);
    session.checkNotWritten(List.of(tensor), method);
    Work work =
        new Work(session, rank, post, post, post.place, List.of(tensor), isSend ? null : tensor);
    session.begin(work);
    messages.post(post);
    return work;
  }

  // ---- barrier ----

  /**
   * Returns when all members have called, all kernels launched before on their devices are done,
   * and the barrier itself has been performed on the device, in simulated time. A member that does
   * not come is named by the error, as {@code monitored_barrier} of PyTorch does.
   */
  public void barrier() {
    Rank caller = caller("barrier");
    int member = members.member(caller.number());
    Rendezvous meeting =
        members.meet(member, members.next(member, CollectiveOp.BARRIER.method(), ""), null);
    if (meeting.isFull()) {
      meeting.end(members.barrier());
    }
    caller.block(meeting);
    meeting
        .launch()
        .ifPresentOrElse(session::await, () -> session.synchronizeDevice(caller.number()));
  }

  // ---- how ----

  private boolean isRank(int globalRank) {
    Rank caller = session.current();
    return caller != null && caller.number() == globalRank;
  }

  private CollectiveRequest whole(CollectiveOp op, Tensor tensor) {
    return new CollectiveRequest(op, tensor, tensor, tensor);
  }

  private CollectiveRequest part(CollectiveOp op, Tensor input, Tensor output, Tensor part) {
    return new CollectiveRequest(op, input, output, part);
  }

  private void perform(CollectiveRequest r) {
    Rank caller = caller(r.op().method());
    Rendezvous meeting = meet(r, caller, "");
    caller.block(meeting);
    meeting.launch().ifPresent(launch -> r.tensors().forEach(t -> t.usedBy(launch)));
  }

  private Work start(CollectiveRequest r) {
    Rank caller = caller(r.op().method());
    String place = session.here();
    Rendezvous meeting = meet(r, caller, place);
    Work work =
        new Work(
            session, caller.number(), meeting, meeting.fingerprint(), place, r.tensors(), r.out());
    session.begin(work);
    return work;
  }

  private Rendezvous meet(CollectiveRequest r, Rank caller, String place) {
    int rank = caller.number();
    int member = members.member(rank);
    String method = r.op().method();
    Operands operands = r.checked(session, members, rank);
    String line = place.isEmpty() && r.isSplit() ? session.here() : place;
    Rendezvous.Fingerprint mine = members.next(member, method, operands);
    Rendezvous meeting = members.meet(member, mine, r.contribution(line));
    if (meeting.isFull()) {
      if (r.isSplit()) {
        Calls.checkSplits(meeting);
      }
      meeting.end(members.perform(r.op(), meeting));
    }
    return meeting;
  }

  /** The rank that calls, if it may. */
  private Rank caller(String method) {
    Rank caller = session.current();
    if (caller == null) {
      throw new SimulationException(
          """
          %s in the host program, which is no rank; call it in a body given to \
          multiprocessing().spawn\
          """
              .formatted(method));
    }
    if (!usable || members.member(caller.number()) < 0) {
      throw members.error(
          method,
          caller.number(),
          """
          the rank is not a member, of %s; check isMember() before, or give the rank a \
          group of its own\
          """
              .formatted(members.shown()));
    }
    if (!members.isOpenFor(caller.number())) {
      throw members.error(method, caller.number(), "the group has been destroyed");
    }
    return caller;
  }

  /** For example {@code group tp [0, 2]}. */
  @Override
  public String toString() {
    return members.told() + (usable ? "" : " (not a member)");
  }
}
