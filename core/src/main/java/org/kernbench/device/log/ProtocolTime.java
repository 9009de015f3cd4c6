package org.kernbench.device.log;

import java.util.Optional;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.ProtocolsSpec;

/**
 * What the protocol of a machine's collective library takes, as a function of the machine: once for
 * a call, before a message for the step, and for the bytes that are handed to the wire. So an
 * explanation knows what another machine would take.
 *
 * @param protocol its place among those of {@code software.collective.protocols}
 * @param begins whether the call's base is part of it
 * @param steps whether the latency of a step is
 * @param bytes that are handed to the wire
 * @param wire which they are handed to
 */
public record ProtocolTime(int protocol, boolean begins, boolean steps, long bytes, Wire wire) {
  /**
   * How fast a call's bytes go.
   *
   * @param vectorBytes of the call on one rank: the channels go by it
   * @param from a rank's PE, and one that it sends to: the slowest link between them counts
   * @param to see {@code from}
   * @param lanes how many times that link's rate there is
   * @param tree whether steps go along a tree
   */
  public record Wire(long vectorBytes, Pe from, Pe to, double lanes, boolean tree) {
    /** {@code min(share x link rate, ramp(S))}, bytes per second. */
    public double bytesPerSecond(Machine machine, ProtocolsSpec spec, int protocol) {
      double links = lanes * machine.route(from, to).narrowest().bytesPerSecond();
      double share = spec.protocols().get(protocol).shareBillionths() / 1e9;
      return Math.min(links * share, spec.rampBytesPerSecond(vectorBytes));
    }

    /** From one rank to the next, picoseconds. */
    public long stepPs(ProtocolsSpec spec, int protocol) {
      ProtocolsSpec.Protocol of = spec.protocols().get(protocol);
      return tree ? of.treeStepPs() : of.stepPs();
    }
  }

  /** On a machine, picoseconds, if that has the protocol. */
  public Optional<Long> on(Machine machine) {
    return machine
        .software()
        .collective()
        .filter(spec -> protocol < spec.protocols().size())
        .map(spec -> ps(spec, 1e12 / wire.bytesPerSecond(machine, spec, protocol)));
  }

  /**
   * On a machine of which the rate is known, picoseconds.
   *
   * @param psPerByte of {@link Wire#bytesPerSecond}
   */
  public long ps(ProtocolsSpec spec, double psPerByte) {
    return (begins ? spec.protocols().get(protocol).basePs() : 0)
        + (steps ? wire.stepPs(spec, protocol) : 0)
        + Math.round(bytes * psPerByte);
  }
}
