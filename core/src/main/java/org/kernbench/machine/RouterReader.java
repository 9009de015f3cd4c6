package org.kernbench.machine;

import java.util.Optional;
import org.kernbench.config.ConfigMap;
import org.kernbench.machine.spec.HbmSpec;
import org.kernbench.machine.spec.RouterAllocator;
import org.kernbench.machine.spec.RouterSpec;

/** Reads {@code fabric.router}: what happens inside routers that are clocked. */
final class RouterReader {
  private static final String KEY = "router";
  private static final int MOST_CYCLES = 1000;
  private static final int MOST_SPEED_UP = 8;
  private static final long MOST_HZ = 1_000_000_000_000L;

  private RouterReader() {}

  /** The routers, if the file describes them. */
  static Optional<RouterSpec> router(ConfigMap fabric, HbmSpec hbm) {
    if (!fabric.has(KEY) || fabric.isText(KEY, "none")) {
      return Optional.empty();
    }
    if (hbm.isBanked()) {
      fabric.problem(
          KEY,
          """
          routers that are clocked do not know banked memories; expected cube.hbm.fidelity: \
          flat, or fabric.router: none\
          """);
    }
    ConfigMap map = fabric.map(KEY);
    long clock = map.frequency("clock");
    if (clock > MOST_HZ) {
      map.problem("clock", "got " + clock + " Hz; expected at most 1000 GHz, a cycle of 1 ps");
      clock = MOST_HZ;
    }
    int route = cycles(map, "route_computation");
    int channel = cycles(map, "channel_allocation");
    int crossbar = cycles(map, "switch_allocation");
    int traversal = cycles(map, "traversal");
    RouterAllocator allocator = map.choice("allocator", RouterAllocator.values());
    int speedUp = map.integer("speed_up", 1, MOST_SPEED_UP);
    int credit = cycles(map, "credit_delay");
    int reuse = cycles(map, "channel_reuse");
    map.done();
    return Optional.of(
        new RouterSpec(
            clock, route, channel, crossbar, traversal, allocator, speedUp, credit, reuse));
  }

  private static int cycles(ConfigMap map, String key) {
    return map.integer(key, 0, MOST_CYCLES);
  }
}
