package org.kernbench.ccl.algorithms;

import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.kernbench.ccl.CallPacing;
import org.kernbench.ccl.CollectiveException;
import org.kernbench.ccl.Payload;
import org.kernbench.ccl.Reduction;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;

/**
 * What one rank does in a switch: piece by piece it gives to the stations that it gives to, and
 * takes from those that it takes from, {@code ahead} pieces later.
 */
final class InSwitchRank {
  private final Tl tl;
  private final int rank;
  private final CollectiveCall call;
  private final Payload vector;
  private final Reduction reduction;
  private final InSwitchQueues queues;
  private final List<Pieces> pieces;
  private final int ahead;
  private final Optional<CallPacing> pacing;
  private boolean begun;

  /**
   * A rank's part.
   *
   * @param pieces by station, what goes through it
   */
  InSwitchRank(
      Tl tl,
      int rank,
      CollectiveCall call,
      Payload vector,
      Reduction reduction,
      InSwitchQueues queues,
      List<Pieces> pieces,
      int ahead,
      Optional<CallPacing> pacing) {
    this.tl = tl;
    this.rank = rank;
    this.call = call;
    this.vector = vector;
    this.reduction = reduction;
    this.queues = queues;
    this.pieces = pieces;
    this.ahead = ahead;
    this.pacing = pacing;
  }

  void run() {
    int[] gives = stations(true);
    int[] takes = stations(false);
    int most = pieces.stream().mapToInt(Pieces::pieces).max().orElse(0);
    for (int k = 0; k < most + ahead; k++) {
      for (int station : takes) {
        if (k >= ahead && pieces.get(station).count(k - ahead) > 0) {
          take(station, k - ahead);
        }
      }
      for (int station : gives) {
        if (pieces.get(station).count(k) > 0) {
          give(station, k);
        }
      }
    }
  }

  /** The stations that this rank gives to, or takes from, in the order in which all go to them. */
  private int[] stations(boolean gives) {
    int[] all = IntStream.range(0, pieces.size()).toArray();
    int[] own = {rank};
    int[] none = {};
    boolean isRoot = rank == call.root();
    return switch (call.op()) {
      case ALL_REDUCE -> all;
      case REDUCE_SCATTER -> gives ? all : own;
      case ALL_GATHER -> gives ? own : IntStream.of(all).filter(s -> s != rank).toArray();
      case REDUCE -> gives || isRoot ? all : none;
      case BROADCAST -> gives == isRoot ? all : none;
      case GATHER, SCATTER, ALL_TO_ALL, POINT_TO_POINT, BARRIER ->
          throw new CollectiveException(InSwitch.NAME + " has no " + call.op().word());
    };
  }

  private void give(int station, int k) {
    Pieces part = pieces.get(station);
    Value given = vector.read(tl, part.start(k), part.count(k));
    long bytes = (long) part.count(k) * call.dtype().sizeBytes();
    pacing.ifPresent(by -> by.beforeSend(tl, bytes, !begun));
    begun = true;
    tl.send(queues.up(station), given);
    if (call.op() == CollectiveOp.ALL_GATHER) {
      vector.write(tl, part.start(k), part.count(k), given); // its own part, of which no copy comes
    }
    vector.giveBack(tl, given);
  }

  private void take(int station, int k) {
    Pieces part = pieces.get(station);
    Value made = tl.recv(queues.down(station), Shape.of(part.count(k)), call.dtype());
    Value result = call.op().reduces() ? reduction.finish(tl, made) : made;
    vector.write(tl, part.start(k), part.count(k), result);
    tl.release(result);
  }
}
