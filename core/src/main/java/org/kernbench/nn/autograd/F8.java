package org.kernbench.nn.autograd;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.kernbench.torch.ProcessGroup;

/**
 * Linear layers of blocks multiply 8-bit floating-point numbers: inputs and weights in f8e4m3,
 * gradients in f8e5m2, which has the wider range (the hybrid format of Transformer Engine). Each
 * tensor has one scale, from its own largest value now, which the ranks that share it agree on, or
 * from its largest values in earlier steps.
 *
 * @param rows groups whose ranks have other rows of activations, and with them the largest value of
 *     all of these; empty for each by itself
 * @param parts groups whose ranks have other parts of weights, inputs or gradients
 * @param history of earlier steps, if scales come from these: then nothing is agreed on within a
 *     step
 */
public record F8(List<ProcessGroup> rows, List<ProcessGroup> parts, Optional<F8History> history) {
  /** Scales from what tensors are now. */
  public F8(List<ProcessGroup> rows, List<ProcessGroup> parts) {
    this(rows, parts, Optional.empty());
  }

  /** Scales from what tensors were in earlier steps; {@link F8History#step} ends each. */
  public static F8 delayed(F8History history) {
    return new F8(List.of(), List.of(), Optional.of(history));
  }

  /** Copies the lists. */
  public F8 {
    rows = List.copyOf(rows);
    parts = List.copyOf(parts);
  }

  /** The groups over which the largest value of activations is found. */
  List<ProcessGroup> ofActivations() {
    List<ProcessGroup> all = new ArrayList<>(rows);
    all.addAll(parts);
    return all;
  }
}
