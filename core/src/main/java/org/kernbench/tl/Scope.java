package org.kernbench.tl;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Register;

/**
 * Values made between {@link Tl#scope} and {@link #close} are given up at the close: each storage,
 * a TCM range or a message slot, is free as soon as its last reader has finished. Loops that make
 * values in every turn open one in each turn.
 */
public final class Scope implements AutoCloseable {
  private final Tl tl;
  final @Nullable Scope outer;
  final List<Register> made = new ArrayList<>();

  Scope(Tl tl, @Nullable Scope outer) {
    this.tl = tl;
    this.outer = outer;
  }

  void made(Register register) {
    made.add(register);
  }

  /**
   * Takes a value out of this scope, so that it survives the close; it then belongs to the
   * enclosing scope or the kernel. Changes nothing for a value that was made outside this scope.
   */
  public Value keep(Value value) {
    boolean mine = made.remove(value.register);
    if (mine && outer != null) {
      outer.made(value.register);
    }
    return value;
  }

  @Override
  public void close() {
    tl.close(this, made);
  }
}
