package org.kernbench.torch;

import java.util.BitSet;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Launch;

/**
 * A meeting of all ranks of a group. Every rank yields here, also the last, so that all go on in
 * rank order; they go on when all have arrived and the device work that the meeting starts is done.
 */
final class Rendezvous implements Wait {
  private final Fingerprint fingerprint;
  private final int size;
  private final int firstRank;
  private final String firstPlace;
  private final BitSet arrived = new BitSet();
  private final @Nullable Tensor[] tensors;
  private int count;
  private @Nullable List<Launch> launches;
  private Runnable completion = () -> {};
  private boolean over;

  Rendezvous(Fingerprint fingerprint, int size, int firstRank) {
    this.fingerprint = fingerprint;
    this.size = size;
    this.firstRank = firstRank;
    this.firstPlace = CallSite.here();
    this.tensors = new Tensor[size];
  }

  /**
   * A rank arrives.
   *
   * @return whether all have now arrived
   * @throws CollectiveMismatchException if it came for something else than the first did
   */
  boolean arrive(int rank, Fingerprint mine, @Nullable Tensor tensor) {
    if (!mine.equals(fingerprint)) {
      throw new CollectiveMismatchException(
          "ranks disagree on what they do together:\n  rank "
              + firstRank
              + ": "
              + fingerprint
              + ", at "
              + firstPlace
              + "\n  rank "
              + rank
              + ": "
              + mine
              + ", at "
              + CallSite.here()
              + "\n  expected the same operation, shape, dtype and reduction on every rank of the"
              + " group, in the same order");
    }
    if (arrived.get(rank)) {
      throw new IllegalStateException("rank " + rank + " arrives twice at " + fingerprint);
    }
    arrived.set(rank);
    tensors[rank] = tensor;
    return ++count == size;
  }

  /** The tensor that a rank brought. */
  Tensor tensor(int rank) {
    Tensor t = tensors[rank];
    if (t == null) {
      throw new IllegalStateException("rank " + rank + " brought no tensor to " + fingerprint);
    }
    return t;
  }

  /** All have arrived: the meeting is over when these are done and then {@code last} has run. */
  void begin(List<Launch> started, Runnable last) {
    launches = started;
    completion = last;
  }

  @Override
  public boolean isOver() {
    return over;
  }

  @Override
  public boolean advance(Session session) {
    List<Launch> started = launches;
    if (started == null) {
      return false;
    }
    if (!over) {
      for (Launch launch : started) {
        session.drive(launch);
      }
      over = true;
      completion.run();
    }
    return true;
  }

  @Override
  public String describe(Scheduler scheduler) {
    BitSet missing = new BitSet();
    missing.set(0, size);
    missing.andNot(arrived);
    String what = missing.isEmpty() ? "its kernel" : scheduler.ranks(missing);
    return fingerprint + ", which waits for " + what;
  }
}
