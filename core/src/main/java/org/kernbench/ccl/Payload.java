package org.kernbench.ccl;

import org.kernbench.tl.Shard;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;

/** One rank's vector: where a kernel takes its contribution from and puts the result. */
public interface Payload {
  /** Elements {@code [start, start + count)} of the contribution, as a vector. */
  Value read(Tl tl, int start, int count);

  /** Ends the use of a value that {@link #read} gave, and of all views of it. */
  default void giveBack(Tl tl, Value read) {
    tl.release(read);
  }

  /** Puts elements {@code [start, start + count)} of the result in place. */
  void write(Tl tl, int start, int count, Value value);

  /** A tensor in memory, overwritten with the result. */
  static Payload of(Shard shard) {
    return new Payload() {
      @Override
      public Value read(Tl tl, int start, int count) {
        return tl.load(shard.range(start, count));
      }

      @Override
      public void write(Tl tl, int start, int count, Value value) {
        tl.store(shard.range(start, count), value);
      }
    };
  }
}
