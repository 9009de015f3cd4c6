package org.kernbench.machine.spec;

import org.kernbench.config.ConfigMap;

/**
 * The DMA of a PE.
 *
 * @param readQueues loads in progress at once
 * @param writeQueues stores in progress at once
 * @param messageChannels messages being sent at once
 * @param setupPs time per load or store command before its first byte moves, ps
 * @param messageOverheadPs channel time per message besides its payload, ps
 */
public record DmaSpec(
    int readQueues, int writeQueues, int messageChannels, long setupPs, long messageOverheadPs) {
  /** Reads {@code pe.dma}. */
  public static DmaSpec read(ConfigMap map) {
    DmaSpec spec =
        new DmaSpec(
            map.integer("read_queues", 1, 1024),
            map.integer("write_queues", 1, 1024),
            map.integer("message_channels", 1, 1024),
            map.time("setup"),
            map.time("message_overhead"));
    map.done();
    return spec;
  }
}
