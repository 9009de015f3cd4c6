package org.kernbench.device;

import org.kernbench.device.fabric.FabricRoute;

/**
 * The ways between a PE and a memory.
 *
 * @param there for written data, ending with the memory's port
 * @param back for read data, beginning with the memory's port
 * @param requestPs latency of a command to the memory, without the memory's own access time
 * @param replyPs latency of an acknowledgement from the memory
 */
record MemoryPath(FabricRoute there, FabricRoute back, long requestPs, long replyPs) {}
