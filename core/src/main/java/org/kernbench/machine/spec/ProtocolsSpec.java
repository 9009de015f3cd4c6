package org.kernbench.machine.spec;

import java.util.List;
import org.kernbench.sim.Rate;

/**
 * The protocols of a machine's collective library and how many channels it opens. A call takes the
 * protocol that is expected to be fastest:
 *
 * <pre>T = base + steps x step + bytes / min(share x link rate, ramp(S))</pre>
 *
 * @param protocols at least one
 * @param rampFrom rate that few channels reach, of the smallest vectors
 * @param rampAtMib rate that the channels opened for 1 MiB reach; it grows with the root of the
 *     size
 */
public record ProtocolsSpec(List<Protocol> protocols, Rate rampFrom, Rate rampAtMib) {
  /**
   * One protocol.
   *
   * @param name {@code ll}, {@code ll128}, {@code simple}, or another
   * @param basePs paid once by each call, ps
   * @param stepPs from one rank to the next along a ring, the wire included, ps
   * @param treeStepPs along a tree, ps
   * @param shareBillionths of the rate of the links that data have, in billionths
   */
  public record Protocol(
      String name, long basePs, long stepPs, long treeStepPs, long shareBillionths) {}

  private static final double MIB = 1 << 20;

  /** Copies the list. */
  public ProtocolsSpec {
    protocols = List.copyOf(protocols);
  }

  /** Bytes per second that the channels opened for a vector of so many bytes can move. */
  public double rampBytesPerSecond(long bytes) {
    double from = rampFrom.bytesPerSecond();
    return from + (rampAtMib.bytesPerSecond() - from) * Math.sqrt(bytes / MIB);
  }
}
