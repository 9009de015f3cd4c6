package org.kernbench.eval;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.kernbench.config.Suggest;
import org.kernbench.config.UsageException;

/** The values of a bench's parameters in one run. */
public final class Params {
  private final Map<Param<?>, Object> values;
  private final Set<Param<?>> given;

  private Params(Map<Param<?>, Object> values, Set<Param<?>> given) {
    this.given = Set.copyOf(given);
    this.values = values;
  }

  /**
   * Reads what the user gave; the rest are defaults.
   *
   * @param given {@code name=value} each, every name once
   * @throws UsageException with every problem, one per line
   */
  public static Params read(Bench bench, List<String> given) {
    Map<String, Param<?>> known = new LinkedHashMap<>();
    Map<Param<?>, Object> values = new LinkedHashMap<>();
    for (Param<?> p : bench.params()) {
      known.put(p.name(), p);
      values.put(p, p.defaultValue());
    }
    List<String> problems = new ArrayList<>();
    Map<Param<?>, String> texts = new HashMap<>();
    for (String each : given) {
      int equals = each.indexOf('=');
      if (equals < 1) {
        problems.add("--param " + each + ": expected name=value, e.g. --param " + example(bench));
        continue;
      }
      String name = each.substring(0, equals);
      Param<?> param = known.get(Suggest.fold(name));
      if (param == null) {
        problems.add(unknown(bench, name, known));
        continue;
      }
      String text = each.substring(equals + 1);
      String before = texts.putIfAbsent(param, text);
      if (before != null) {
        problems.add(
            "--param %s: given twice, \"%s\" and \"%s\"; expected one value"
                .formatted(param.name(), before, text));
        continue;
      }
      try {
        values.put(param, param.read(text));
      } catch (IllegalArgumentException e) {
        problems.add("--param " + param.name() + ": " + e.getMessage());
      }
    }
    if (!problems.isEmpty()) {
      throw new UsageException(String.join("\n", problems));
    }
    return new Params(values, texts.keySet());
  }

  private static String example(Bench bench) {
    for (Param<?> p : bench.params()) {
      return p.name() + "=" + (p.defaultText().startsWith("from ") ? "…" : p.defaultText());
    }
    return "name=value";
  }

  private static String unknown(Bench bench, String name, Map<String, Param<?>> known) {
    String hint = Suggest.hint(name, known.keySet());
    String list = known.isEmpty() ? "none" : String.join(", ", known.keySet());
    return "--param %s: unknown parameter of bench %s%s%s"
        .formatted(name, bench.name(), hint, hint.isEmpty() ? "; expected one of " + list : "");
  }

  /** Whether the user gave a parameter, be it its default. */
  public boolean isGiven(Param<?> param) {
    return given.contains(param);
  }

  /** The value of a parameter that the bench declares. */
  public <T> T get(Param<T> param) {
    Object value = values.get(param);
    if (value == null) {
      throw new IllegalStateException("the bench does not declare its parameter " + param.name());
    }
    @SuppressWarnings("unchecked") // read() stores under a parameter only what that parameter read
    T typed = (T) value;
    return typed;
  }

  /**
   * Names and values for the result; values that come from elsewhere and were not given are left
   * out.
   */
  Map<String, Object> forResult() {
    Map<String, Object> result = new LinkedHashMap<>();
    values.forEach((param, value) -> {
      if (value instanceof Optional<?> optional) {
        optional.ifPresent(v -> result.put(param.name(), Param.shown(v)));
      } else {
        result.put(param.name(), Param.shown(value));
      }
    });
    return result;
  }
}
