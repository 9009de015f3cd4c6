package org.kernbench.nn.kernels;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.kernbench.torch.Tensor;

/**
 * Copies of a parameter that stay with it from step to step (ADR 0171), as long as nothing else
 * needs their room (ADR 0202).
 */
public final class KeptCopies {
  /** Copies for one use, which make themselves anew where the parameter has changed. */
  interface Kept extends AutoCloseable {
    /** Whether they are of this tensor, rather than of one in whose place it has come. */
    boolean isOf(Tensor value);

    /** Whether they can be made anew at any time, and are worth giving back. */
    boolean isSpare();

    @Override
    void close();
  }

  private final List<Kept> all = new ArrayList<>();

  /**
   * The copies of a kind for some use.
   *
   * @param value of the parameter now
   * @param making makes some if there are none
   */
  <T extends Kept> T get(Class<T> kind, Tensor value, Predicate<T> use, Supplier<T> making) {
    for (Kept old : List.copyOf(all)) {
      if (!old.isOf(value)) {
        old.close();
        all.remove(old);
      }
    }
    for (Kept known : all) {
      if (kind.isInstance(known) && use.test(kind.cast(known))) {
        return kind.cast(known);
      }
    }
    T made = making.get();
    all.add(made);
    return made;
  }

  /** Gives back what others may need the room of more. */
  void giveBack() {
    for (Kept one : List.copyOf(all)) {
      if (one.isSpare()) {
        one.close();
        all.remove(one);
      }
    }
  }
}
