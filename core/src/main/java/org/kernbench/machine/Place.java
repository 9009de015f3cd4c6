package org.kernbench.machine;

import org.kernbench.machine.spec.BufferKind;

/**
 * What a physical address names.
 *
 * @param nodeId the memory's node; for TCM the PE's node
 * @param kind kind of memory
 * @param offset byte in that memory
 */
public record Place(int nodeId, BufferKind kind, long offset) {}
