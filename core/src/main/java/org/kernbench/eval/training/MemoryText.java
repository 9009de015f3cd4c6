package org.kernbench.eval.training;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;
import org.kernbench.torch.placement.MemoryUse;
import org.kernbench.torch.placement.Sizes;

/**
 * What the tensors of a training step take, by what they are for.
 *
 * @param use of the memory of all PEs
 * @param held bytes of all tensors with all copies, by what they are for
 */
record MemoryText(MemoryUse use, Map<Tensor.Purpose, Long> held) {
  /** As it is now. */
  static MemoryText of(Torch torch) {
    return new MemoryText(torch.memory(), torch.memoryByPurpose());
  }

  /**
   * In one line, for example {@code 1.2 GiB of 6 GiB at most on a PE; at the end weights 15 GiB,
   * ...}.
   */
  String line() {
    List<String> parts = new ArrayList<>();
    for (Tensor.Purpose each : Tensor.Purpose.values()) {
      parts.add(word(each) + " " + Sizes.of(held.getOrDefault(each, 0L)));
    }
    return "%s of %s at most on a PE; at the end %s"
        .formatted(Sizes.of(use.mostBytes()), Sizes.of(use.sliceBytes()), String.join(", ", parts));
  }

  private static String word(Tensor.Purpose purpose) {
    return switch (purpose) {
      case PARAMETER -> "weights";
      case GRADIENT -> "gradients";
      case OPTIMIZER -> "optimizer";
      case COPY -> "copies";
      case OTHER -> "activations";
    };
  }
}
