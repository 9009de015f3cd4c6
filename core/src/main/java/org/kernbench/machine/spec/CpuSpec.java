package org.kernbench.machine.spec;

import org.kernbench.config.ConfigMap;

/**
 * The CPU of a PE.
 *
 * @param dispatchPs time to issue one command, ps
 * @param issue whether commands overlap
 * @param commandWindow commands that may be issued and not yet complete before the kernel is held
 *     up
 * @param contexts programs that one PE runs at the same time, one per stream
 * @param schedulerDispatchPs time in which the tile scheduler issues one command of a composite
 *     operation, ps
 */
public record CpuSpec(
    long dispatchPs, IssuePolicy issue, int commandWindow, int contexts, long schedulerDispatchPs) {
  /** Reads {@code pe.cpu}. */
  public static CpuSpec read(ConfigMap map) {
    CpuSpec spec =
        new CpuSpec(
            map.time("dispatch"),
            map.choice("issue", IssuePolicy.values()),
            map.integer("command_window", 2, 1 << 20),
            map.integer("contexts", 1, 8),
            map.time("scheduler_dispatch"));
    map.done();
    return spec;
  }
}
