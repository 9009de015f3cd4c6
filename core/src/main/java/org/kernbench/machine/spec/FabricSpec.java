package org.kernbench.machine.spec;

import java.util.Optional;
import org.kernbench.machine.Machine;

/**
 * How transfers share links.
 *
 * @param chunkBytes largest piece that holds a link at once; a power of two
 * @param bufferBytes room at the end of each link, per virtual channel, for what cannot go on;
 *     {@link #UNLIMITED} or a multiple of the flit
 * @param flitBytes unit of flow control with finite buffers; a power of two
 * @param virtualChannels separate buffers per link, with finite buffers; 0 for as many as routes
 *     need, see {@link Machine#virtualChannels}
 * @param router what happens inside routers, with finite buffers; empty for routers that take no
 *     time of their own and pass on whatever can go
 */
public record FabricSpec(
    long chunkBytes,
    long bufferBytes,
    long flitBytes,
    int virtualChannels,
    Optional<RouterSpec> router) {
  /** As much room as ever needed. */
  public static final long UNLIMITED = Long.MAX_VALUE;

  /** Without routers of their own time. */
  public FabricSpec(long chunkBytes, long bufferBytes, long flitBytes, int virtualChannels) {
    this(chunkBytes, bufferBytes, flitBytes, virtualChannels, Optional.empty());
  }

  /** A copy with another number of virtual channels. */
  public FabricSpec withVirtualChannels(int count) {
    return new FabricSpec(chunkBytes, bufferBytes, flitBytes, count, router);
  }

  /** Whether buffers are finite, so that links wait for room behind them. */
  public boolean isBuffered() {
    return bufferBytes != UNLIMITED;
  }
}
