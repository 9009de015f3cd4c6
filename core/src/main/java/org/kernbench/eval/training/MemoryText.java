package org.kernbench.eval.training;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.torch.placement.MemoryUse;
import org.kernbench.torch.placement.Sizes;

/** What the tensors of a training step take, by kind, in one line. */
final class MemoryText {
  private MemoryText() {}

  /**
   * For example {@code 1.2 GiB of 6 GiB at most on a PE; at the end of the step weights 15 GiB,
   * ...}.
   */
  static String of(MemoryUse use) {
    Map<String, Long> byKind = new LinkedHashMap<>();
    for (String kind : List.of("weights", "gradients", "optimizer", "copies", "activations")) {
      byKind.put(kind, 0L);
    }
    use.byTensor().forEach((name, bytes) -> byKind.merge(kind(name), bytes, Long::sum));
    List<String> parts = new ArrayList<>();
    byKind.forEach((kind, bytes) -> parts.add(kind + " " + Sizes.of(bytes)));
    return "%s of %s at most on a PE; at the end %s"
        .formatted(Sizes.of(use.mostBytes()), Sizes.of(use.sliceBytes()), String.join(", ", parts));
  }

  private static String kind(String tensor) {
    if (tensor.endsWith(".master") || tensor.endsWith(".mean") || tensor.endsWith(".square")) {
      return "optimizer";
    }
    if (tensor.startsWith("gradients.") || tensor.startsWith("own gradients.")) {
      return "gradients";
    }
    if (tensor.endsWith(".weight")
        || tensor.endsWith(".bias")
        || tensor.startsWith("parameters.")
        || tensor.startsWith("own parameters.")) {
      return "weights";
    }
    return tensor.endsWith("-left") || tensor.endsWith("-right") || tensor.endsWith("-by-head")
        ? "copies"
        : "activations";
  }
}
