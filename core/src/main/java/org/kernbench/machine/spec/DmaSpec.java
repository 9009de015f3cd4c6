package org.kernbench.machine.spec;

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
    int readQueues, int writeQueues, int messageChannels, long setupPs, long messageOverheadPs) {}
