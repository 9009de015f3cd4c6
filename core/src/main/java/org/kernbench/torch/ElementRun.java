package org.kernbench.torch;

/**
 * Elements of a tensor that lie together on a PE.
 *
 * @param start the first, in row-major order
 * @param count how many
 */
public record ElementRun(int start, int count) {}
