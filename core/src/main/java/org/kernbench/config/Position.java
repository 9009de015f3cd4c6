package org.kernbench.config;

/**
 * Where a key or value stands.
 *
 * @param file file name as the user gave it, {@code preset sip-2026}, or {@code --set}
 * @param line 1-based line; for {@code --set} the number of the override
 * @param column 1-based column
 */
public record Position(String file, int line, int column) {}
