package org.kernbench.nn.kernels;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.kernbench.nn.kernels.Compute.Matrix;

/** Copies of operands that the next products may need again, and how many are kept. */
final class PanelShelf {
  /** Panels of transposed operands that are kept: those of a layer's input, used apart. */
  private static final int PANELS_KEPT = 6;

  /** Part of a PE's memory that copies of operands may fill at most. */
  private static final int PANELS_SHARE = 8;

  private final Compute compute;

  /** The latest last. */
  private final Deque<Panels> panels = new ArrayDeque<>();

  /** What they take on each PE. */
  private long panelBytes;

  PanelShelf(Compute compute) {
    this.compute = compute;
  }

  /**
   * Copies of an operand: those that are there, or new ones. What the host writes is noticed;
   * kernels do not write an operand again before the end of a backward pass, which {@linkplain
   * #clear forgets} the copies.
   *
   * @param width rows of a panel
   * @param down whether its rows are cut over the rows of cubes, rather than over their columns
   */
  Panels get(String name, Matrix of, int width, boolean down) {
    for (Panels known : panels) {
      if (known.areOf(of, width, down)) {
        return known;
      }
    }
    if (of.kept().isPresent() && !compute.torch().hasGivenBack()) {
      KeptCopies copies = of.kept().get();
      Panels kept =
          copies.get(
              Panels.class,
              of.tensor(),
              c -> c.areFor(of, width, down),
              () -> {
                Panels made = Panels.of(compute, name, of, width, down);
                compute.torch().givesBack(copies::giveBack);
                return made;
              });
      kept.renew(compute, name);
      return kept;
    }
    Panels made = Panels.of(compute, name, of, width, down);
    made.make(compute, name);
    keep(made);
    return made;
  }

  /** Copies that the kernel which makes the operand is to write. */
  Panels ahead(String name, Matrix of, int width, boolean down) {
    Panels made = Panels.ahead(compute, name, of, width, down);
    keep(made);
    return made;
  }

  /** Whether copies of so many operands can be there at once. */
  boolean holds(List<Matrix> operands) {
    int copies = Math.max(compute.mesh().axes().get(0).size(), compute.mesh().axes().get(1).size());
    long bytes = Compute.bytes(operands.stream().map(Matrix::tensor).toList());
    return operands.size() <= PANELS_KEPT && bytes * copies / compute.places() <= mostBytes();
  }

  private long mostBytes() {
    return compute.torch().machine().hbm().sizeBytes() / PANELS_SHARE;
  }

  private void keep(Panels made) {
    panels.addLast(made);
    panelBytes += made.bytesOnEach();
    if (panels.stream().filter(Panels::isTransposed).count() > PANELS_KEPT) {
      dropFirst(Panels::isTransposed);
    }
    while (panels.size() > 2 && panelBytes > mostBytes()) {
      dropFirst(p -> true);
    }
  }

  private void dropFirst(Predicate<Panels> which) {
    Panels old = panels.stream().filter(which).findFirst().orElseThrow();
    panels.remove(old);
    panelBytes -= old.bytesOnEach();
    old.close();
  }

  /** Copies of the rows of an operand; null if there are none. */
  @Nullable Copies nearest(Matrix of) {
    for (Panels known : panels) {
      if (known.areRowsOf(of)) {
        return known.copies();
      }
    }
    return null;
  }

  /** Operands may be written from now on. */
  void clear() {
    panels.forEach(Panels::close);
    panels.clear();
    panelBytes = 0;
  }
}
