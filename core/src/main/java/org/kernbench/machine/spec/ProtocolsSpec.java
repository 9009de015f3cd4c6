package org.kernbench.machine.spec;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.config.ConfigMap;
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

  /** Reads protocols and channels of {@code software.collective}. */
  static ProtocolsSpec read(ConfigMap collective) {
    ConfigMap all = collective.map("protocols");
    List<ProtocolsSpec.Protocol> protocols = new ArrayList<>();
    for (String name : all.keys()) {
      ConfigMap one = all.map(name);
      protocols.add(
          new ProtocolsSpec.Protocol(
              name,
              one.time("base"),
              one.time("step"),
              one.has("tree_step") ? one.time("tree_step") : one.time("step"),
              one.billionths("share")));
      one.done();
    }
    if (protocols.isEmpty()) {
      collective.problem(
          "protocols",
          "got none; expected at least one, e.g. {simple: {base: 8.4 us, step: 3.4 us, share: 0.8}}");
    }
    ConfigMap channels = collective.map("channels");
    long from = channels.bandwidth("from");
    long atMib = channels.bandwidth("at_1mib");
    channels.done();
    if (atMib < from) {
      channels.problem(
          "at_1mib", "got less than channels.from; expected at least the rate of small vectors");
    }
    return new ProtocolsSpec(protocols, Rate.ofBytesPerSecond(from), Rate.ofBytesPerSecond(atMib));
  }

  /** Bytes per second that the channels opened for a vector of so many bytes can move. */
  public double rampBytesPerSecond(long bytes) {
    double from = rampFrom.bytesPerSecond();
    return from + (rampAtMib.bytesPerSecond() - from) * Math.sqrt(bytes / MIB);
  }
}
