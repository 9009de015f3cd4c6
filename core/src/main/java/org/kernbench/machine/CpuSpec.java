package org.kernbench.machine;

/**
 * The CPU of a PE.
 *
 * @param dispatchPs time to issue one command, ps
 * @param issue whether commands overlap
 */
public record CpuSpec(long dispatchPs, IssuePolicy issue) {}
