package org.kernbench.machine;

/**
 * How transfers share links.
 *
 * @param chunkBytes largest piece that holds a link at once; a power of two
 */
public record FabricSpec(long chunkBytes) {}
