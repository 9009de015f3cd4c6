package org.kernbench.torch;

import java.util.BitSet;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Launch;

/** One end of a message: a send or a receive that a rank has posted. */
final class Post implements Wait {
  final boolean isSend;
  final int rank;
  final int peer;
  final Members group;
  final int sequence;
  final Tensor tensor;
  final Operands operands;
  final String place;
  final boolean apart;
  private @Nullable Launch launch;
  private boolean over;

  /**
   * A post.
   *
   * @param sequence how many messages between these two, in this direction, came before
   * @param apart whether it goes in a kernel of its own
   */
  Post(
      boolean isSend,
      int rank,
      int peer,
      Members group,
      int sequence,
      Tensor tensor,
      Operands operands,
      String place,
      boolean apart) {
    this.isSend = isSend;
    this.rank = rank;
    this.peer = peer;
    this.group = group;
    this.sequence = sequence;
    this.tensor = tensor;
    this.operands = operands;
    this.place = place;
    this.apart = apart;
  }

  int src() {
    return isSend ? rank : peer;
  }

  int dst() {
    return isSend ? peer : rank;
  }

  /** The message has been handed to the device, or there was nothing to move. */
  void end(@Nullable Launch started) {
    launch = started;
    over = true;
  }

  @Override
  public Optional<Launch> launch() {
    return Optional.ofNullable(launch);
  }

  @Override
  public boolean isOver() {
    return over;
  }

  @Override
  public Optional<Launch> awaits() {
    return Optional.empty();
  }

  @Override
  public boolean endIfDone() {
    return over;
  }

  @Override
  public BitSet missing() {
    BitSet missing = new BitSet();
    missing.set(peer);
    return missing;
  }

  @Override
  public String describe() {
    return this + ", which waits for rank " + peer;
  }

  /** For example {@code send #0 to rank 3 of group world: f32[8]}. */
  @Override
  public String toString() {
    return "%s%s%s%s of %s: %s"
        .formatted(
            isSend ? "send #" : "recv #",
            sequence,
            isSend ? " to rank " : " from rank ",
            peer,
            group.told(),
            operands);
  }
}
