package org.kernbench.device;

import org.jspecify.annotations.Nullable;

/** Engines to be tried, first come first served, each at most once; linked by themselves. */
final class EngineList {
  private @Nullable Engine first;
  private @Nullable Engine last;

  /** Adds an engine that is not on it yet. */
  void add(Engine engine) {
    if (engine.listed) {
      return;
    }
    engine.listed = true;
    Engine l = last;
    if (l == null) {
      first = engine;
    } else {
      l.nextListed = engine;
    }
    last = engine;
  }

  /** Takes all off. */
  void clear() {
    while (first != null) {
      poll();
    }
  }

  /** Takes the first off; null if there is none. */
  @Nullable Engine poll() {
    Engine engine = first;
    if (engine != null) {
      first = engine.nextListed;
      if (first == null) {
        last = null;
      }
      engine.nextListed = null;
      engine.listed = false;
    }
    return engine;
  }
}
