package org.kernbench.ccl;

import java.util.Optional;
import org.kernbench.tl.Shard;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;
import org.kernbench.torch.collective.CollectiveCall;
import org.kernbench.torch.collective.CollectiveOp;

/**
 * One rank's data: where a kernel takes its contribution from and puts the result. Positions are
 * those of the call's whole vector, whatever part of it the rank holds; in an all-to-all, those of
 * the rank's own input and output.
 */
public interface Payload {
  /** Elements {@code [start, start + count)} of the contribution, as a vector. */
  Value read(Tl tl, int start, int count);

  /** Ends the use of a value that {@link #read} gave, and of all views of it. */
  default void giveBack(Tl tl, Value read) {
    tl.release(read);
  }

  /** Puts elements {@code [start, start + count)} of the result in place. */
  void write(Tl tl, int start, int count, Value value);

  /** Elements {@code [start, start + count)} of the result, which have been written. */
  default Value readBack(Tl tl, int start, int count) {
    return read(tl, start, count);
  }

  /** A vector in memory, overwritten with the result. */
  static Payload of(Shard shard) {
    return of(Optional.of(shard), 0, Optional.of(shard), 0);
  }

  /** What a rank gives to a call and gets from it. */
  static Payload of(CollectiveCall call, int rank) {
    CollectiveOp op = call.op();
    int part = Math.toIntExact(call.parts().get(rank).start());
    boolean readsPart = op == CollectiveOp.ALL_GATHER || op == CollectiveOp.GATHER;
    boolean writesPart = op == CollectiveOp.REDUCE_SCATTER || op == CollectiveOp.SCATTER;
    return of(
        call.inputs().get(rank), readsPart ? part : 0,
        call.outputs().get(rank), writesPart ? part : 0);
  }

  private static Payload of(Optional<Shard> in, int inStart, Optional<Shard> out, int outStart) {
    return new Payload() {
      @Override
      public Value read(Tl tl, int start, int count) {
        return tl.load(held(in, "gives").range(start - inStart, count));
      }

      @Override
      public void write(Tl tl, int start, int count, Value value) {
        tl.store(held(out, "gets").range(start - outStart, count), value);
      }

      @Override
      public Value readBack(Tl tl, int start, int count) {
        return tl.load(held(out, "gets").range(start - outStart, count));
      }
    };
  }

  private static Shard held(Optional<Shard> shard, String does) {
    return shard.orElseThrow(() ->
        new CollectiveException("the algorithm asks for data of a rank that " + does + " nothing"));
  }
}
