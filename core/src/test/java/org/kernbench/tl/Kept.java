package org.kernbench.tl;

import java.util.List;
import org.kernbench.device.Register;

/** What a kernel has made and not given up. */
public final class Kept {
  private Kept() {}

  /** Values of some bytes that were made in a scope and are not given up. */
  public static List<Register> in(Scope scope) {
    return scope.made.stream().filter(r -> r.bytes() > 0 && !r.isReleased()).toList();
  }
}
