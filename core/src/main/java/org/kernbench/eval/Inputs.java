package org.kernbench.eval;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.config.FilesRead;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Machines;

/**
 * Machines and collective configurations that a runner has read. Both never change, and the points
 * of a sweep ask for the same few again and again: reading them took two thirds of the time of
 * small points.
 */
final class Inputs {
  private static final int MOST = 64;

  private final Map<List<Object>, FilesRead.Result<?>> known = new LinkedHashMap<>();

  Machine machine(String presetOrPath, List<String> overrides) {
    return get(
        Machine.class,
        List.of("machine", presetOrPath, overrides),
        () -> Machines.load(presetOrPath, overrides));
  }

  CclConfig ccl(Optional<Path> file, List<String> overrides) {
    return get(
        CclConfig.class, List.of("ccl", file, overrides), () -> CclConfig.load(file, overrides));
  }

  private synchronized <T> T get(Class<T> type, List<Object> key, Supplier<T> read) {
    FilesRead.Result<?> value = known.get(key);
    if (value == null) {
      value = FilesRead.during(read);
      if (known.size() >= MOST) {
        known.remove(known.keySet().iterator().next()); // the oldest
      }
      known.put(key, value);
    }
    return type.cast(value.again());
  }
}
