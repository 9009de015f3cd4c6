package org.kernbench.eval;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.kernbench.nn.compare.StepCheck;
import org.kernbench.nn.compare.StepRecord;

/** Puts the comparisons of single tensors together for a result. */
final class ComparedSteps {
  private final List<StepCheck.Compared> parts;

  private ComparedSteps(List<StepCheck.Compared> parts) {
    this.parts = parts;
  }

  /** One check of all of them. */
  static ValueCheck of(List<StepCheck.Compared> parts) {
    return new ComparedSteps(parts).check();
  }

  private ValueCheck check() {
    long checked = 0;
    long wrong = 0;
    StepCheck.Compared worst = parts.getFirst();
    Optional<StepCheck.Compared> first = Optional.empty();
    for (StepCheck.Compared part : parts) {
      checked += part.values();
      wrong += part.wrong();
      worst = part.of() > worst.of() ? part : worst;
      if (first.isEmpty() && part.wrong() > 0) {
        first = Optional.of(part);
      }
    }
    return new ValueCheck(
        checked,
        wrong,
        worst.error(),
        worst.allowed(),
        first.map(ComparedSteps::mismatch),
        kinds());
  }

  private static ValueCheck.Mismatch mismatch(StepCheck.Compared part) {
    return new ValueCheck.Mismatch(
        part.rank(), part.first(), part.got(), part.expected(), name(part), part.allowed());
  }

  /** For example {@code gradient of layers.0.mlp.up.weight}. */
  private static String name(StepCheck.Compared part) {
    return switch (part.kind()) {
      case OUTPUT, LOSS -> part.name();
      case INPUT_GRADIENT, GRADIENT -> "gradient of " + part.name();
      case NORM -> "norm of " + part.name();
      case PARAMETER -> "stepped " + part.name();
    };
  }

  private List<ValueCheck.Compared> kinds() {
    Map<StepRecord.Kind, List<StepCheck.Compared>> byKind = new EnumMap<>(StepRecord.Kind.class);
    parts.forEach(p -> byKind.computeIfAbsent(p.kind(), k -> new ArrayList<>()).add(p));
    List<ValueCheck.Compared> kinds = new ArrayList<>();
    byKind.forEach((kind, of) -> {
      Set<String> names = new HashSet<>();
      StepCheck.Compared worst = of.getFirst();
      long values = 0;
      for (StepCheck.Compared part : of) {
        names.add(part.name());
        values += part.values();
        worst = part.of() > worst.of() ? part : worst;
      }
      kinds.add(
          new ValueCheck.Compared(kind.words(), names.size(), values, worst.of(), name(worst)));
    });
    return kinds;
  }
}
