package org.kernbench.machine.spec;

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
 */
public record FabricSpec(long chunkBytes, long bufferBytes, long flitBytes, int virtualChannels) {
  /** As much room as ever needed. */
  public static final long UNLIMITED = Long.MAX_VALUE;

  /** Whether buffers are finite, so that links wait for room behind them. */
  public boolean isBuffered() {
    return bufferBytes != UNLIMITED;
  }
}
