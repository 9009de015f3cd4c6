package org.kernbench.machine.spec;

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
    long dispatchPs,
    IssuePolicy issue,
    int commandWindow,
    int contexts,
    long schedulerDispatchPs) {}
