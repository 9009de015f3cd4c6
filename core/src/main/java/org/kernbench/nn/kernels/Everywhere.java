package org.kernbench.nn.kernels;

import java.util.List;
import org.kernbench.device.Mode;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.placement.Layout;

/**
 * Copies of a parameter's vector on all PEs that compute, made again where it may have changed; by
 * the host where only the host has written it.
 */
final class Everywhere implements KeptCopies.Kept {
  private final Tensor of;
  private final Tensor copies;
  private int changes = -1;

  private Everywhere(Tensor of, Tensor copies) {
    this.of = of;
    this.copies = copies;
  }

  /** Room for copies. */
  static Everywhere of(Compute compute, String name, Tensor value) {
    Layout all = Layout.all(compute.mesh(), new Layout.Replicate());
    Shape shape = value.shape();
    return new Everywhere(value, compute.torch().empty(shape, value.dtype(), all, name));
  }

  @Override
  public void close() {
    copies.close();
  }

  @Override
  public boolean isOf(Tensor value) {
    return value == of;
  }

  @Override
  public boolean isSpare() {
    return false; // a vector on each PE
  }

  /** The copies, with the present elements. */
  Tensor renewed(Compute compute, String name) {
    int now = of.changes();
    if (changes != now) {
      if (!of.isOfHost()) {
        compute.owners(
            name,
            List.of(copies),
            List.of(of),
            true,
            (tl, run) -> {
              int count = run.count();
              compute.copy(tl, of, copies, run.start(), count, new Pace(tl, false));
            });
      } else if (compute.torch().simulator().mode() != Mode.TIME) {
        copies.copyInPlace(of.toDoubles());
      }
      changes = now;
    }
    return copies;
  }
}
