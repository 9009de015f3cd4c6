package org.kernbench.torch.collective;

import java.util.List;
import org.kernbench.device.Launch;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.QueueSet;
import org.kernbench.machine.SimulationException;
import org.kernbench.tensor.DType;

/**
 * A collective that the device performed, or messages that hang together. Times are in picoseconds;
 * in mode {@code values} there are none.
 */
public final class CollectiveRun {
  private final String group;
  private final List<Integer> ranks;
  private final List<Integer> simulated;
  private final int copies;
  private final CollectiveOp op;
  private final ReduceKind reduce;
  private final DType dtype;
  private final long elements;
  private final long bytes;
  private final int lanes;
  private final String algorithm;
  private final String result;
  private final QueueSet queues;
  private final Launch launch;
  private final BusyTimes busy;

  public CollectiveRun(
      String group,
      List<Integer> ranks,
      List<Integer> simulated,
      int copies,
      List<LanePlan> plans,
      String result,
      QueueSet queues,
      Launch launch,
      BusyTimes busy) {
    CollectiveCall first = plans.getFirst().call();
    this.group = group;
    this.ranks = ranks;
    this.simulated = simulated;
    this.copies = copies;
    this.op = first.op();
    this.reduce = first.reduce();
    this.dtype = first.dtype();
    this.elements = plans.stream().mapToLong(p -> p.call().elements()).sum();
    this.bytes = plans.stream().mapToLong(p -> p.call().bytes()).sum();
    this.lanes = plans.size();
    this.algorithm = plans.getFirst().plan().algorithm();
    this.result = result;
    this.queues = queues;
    this.launch = launch;
    this.busy = busy;
  }

  /** Name of the process group. */
  public String group() {
    return group;
  }

  /** Global numbers of the ranks that took part, ascending. */
  public List<Integer> ranks() {
    return ranks;
  }

  /**
   * Groups that did the same, this one among them: more than one only where packages are folded.
   */
  public int copies() {
    return copies;
  }

  /** What was done. */
  public CollectiveOp op() {
    return op;
  }

  /** How elements were combined, if they were. */
  public ReduceKind reduce() {
    return reduce;
  }

  /** Type of the elements; of messages, of the first. */
  public DType dtype() {
    return dtype;
  }

  /** Elements of the whole vector, over all lanes; of messages, of all of them. */
  public long elements() {
    return elements;
  }

  /** {@link #elements} in bytes; messages of one exchange may be of several types. */
  public long bytes() {
    return bytes;
  }

  /** PEs of each device that took part. */
  public int lanes() {
    return lanes;
  }

  /** What performed it, in the first lane. */
  public String algorithm() {
    return algorithm;
  }

  /**
   * Name of the tensor that it writes on the first of its ranks, or reads if it writes none there;
   * empty for a barrier. It tells reports what the collective was for.
   */
  public String result() {
    return result;
  }

  /** The message queues it used. */
  public QueueSet queueSet() {
    return queues;
  }

  /** The plan of its message queues. */
  public QueuePlan queues() {
    return queues.plan();
  }

  /** Its kernel; the time of the collective is {@link Launch#criticalPs}. */
  public Launch launch() {
    return launch;
  }

  /** When it started on all its PEs: all ranks had called, and what it had to wait for was done. */
  public long startPs() {
    return launch.startPs();
  }

  /** When the last of its PEs was done. */
  public long endPs() {
    return launch.endPs();
  }

  /** From start to end. */
  public long durationPs() {
    return endPs() - startPs();
  }

  /**
   * The part of {@link #durationPs} in which no other kernel ran on some rank's device, for the
   * rank where that is longest: what the collective would cost a program that waits for it. A
   * collective whose exposed time is 0 is hidden behind computation everywhere.
   */
  public long exposedPs() {
    if (!launch.isDone()) {
      throw new SimulationException(
          "%s is not done, so nobody knows yet what of it is hidden; synchronize first"
              .formatted(launch.name()));
    }
    long exposed = 0;
    for (int rank : simulated) {
      exposed = Math.max(exposed, durationPs() - busy.busyPs(rank, startPs(), endPs()));
    }
    return exposed;
  }

  /** {@link #durationPs} less {@link #exposedPs}. */
  public long hiddenPs() {
    return durationPs() - exposedPs();
  }

  /** For example {@code allReduce of 4096 B in group world (ring)}. */
  @Override
  public String toString() {
    return op.method() + " of " + bytes() + " B in group " + group + " (" + algorithm + ")";
  }
}
