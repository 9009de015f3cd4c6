package org.kernbench.tl;

import org.kernbench.device.Register;

/** Something under way that a kernel can {@link Tl#await}: the acknowledgement of a store. */
public final class Handle {
  final Register token;

  Handle(Register token) {
    this.token = token;
  }
}
