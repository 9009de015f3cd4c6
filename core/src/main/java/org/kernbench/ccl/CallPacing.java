package org.kernbench.ccl;

import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.config.Suggest;
import org.kernbench.device.log.ProtocolTime;
import org.kernbench.machine.Machine;
import org.kernbench.machine.spec.ProtocolsSpec;
import org.kernbench.tl.Handle;
import org.kernbench.tl.Tl;

/**
 * The protocol that a collective library takes for a call, on machines that have one ({@code
 * software.collective.protocols}): what it costs beside the messages themselves.
 *
 * <p>The kernel that moves the data pays {@code base} once, {@code step} before each of its first
 * sends, so that a chain of them pays each, and cannot hand data to the wire faster than {@code
 * min(share x link rate, ramp(S))}. Messages, queues and links are those of the simulation, so a
 * call is never faster than without. Of several protocols that is taken which
 *
 * <pre>T = base + steps x step + bytes / rate</pre>
 *
 * says is fastest, as the tuning model of NCCL does.
 */
public final class CallPacing {
  /** In {@code ccl.yaml}: no protocol, whatever the machine says. */
  public static final String NONE = "none";

  private final ProtocolsSpec spec;
  private final int protocol;
  private final ProtocolTime.Wire wire;
  private final double psPerByte;
  private final double expectedPs;

  private CallPacing(Machine machine, ProtocolsSpec spec, int protocol, Question question) {
    this.spec = spec;
    this.protocol = protocol;
    this.wire = question.wire;
    this.psPerByte = 1e12 / wire.bytesPerSecond(machine, spec, protocol);
    this.expectedPs =
        spec.protocols().get(protocol).basePs()
            + (double) question.steps * wire.stepPs(spec, protocol)
            + question.sentBytes * psPerByte;
  }

  /**
   * What the choice among protocols depends on.
   *
   * @param sentBytes that the busiest rank sends
   * @param steps one after the other
   * @param wire how fast the bytes go
   */
  public record Question(double sentBytes, int steps, ProtocolTime.Wire wire) {}

  /**
   * The pacing of a call; empty on machines without protocols.
   *
   * @throws CollectiveException if the configuration names a protocol that the machine has not
   */
  public static Optional<CallPacing> of(
      Machine machine, AlgorithmConfig config, Question question) {
    Optional<String> wanted = config.protocol();
    Optional<ProtocolsSpec> spec = machine.software().collective();
    if (spec.isEmpty() && wanted.isPresent() && !wanted.get().equals(NONE)) {
      throw new CollectiveException(
          "algorithms.%s.protocol: got \"%s\"; machine %s has no software.collective.protocols: expected machine or none"
              .formatted(config.name(), wanted.get(), machine.name()));
    }
    if (spec.isEmpty() || wanted.equals(Optional.of(NONE))) {
      return Optional.empty();
    }
    CallPacing best = null;
    List<ProtocolsSpec.Protocol> protocols = spec.get().protocols();
    for (int i = 0; i < protocols.size(); i++) {
      if (wanted.isEmpty() || wanted.get().equals(protocols.get(i).name())) {
        CallPacing pacing = new CallPacing(machine, spec.get(), i, question);
        best = best == null || pacing.expectedPs < best.expectedPs ? pacing : best;
      }
    }
    if (best == null) {
      var names = protocols.stream().map(ProtocolsSpec.Protocol::name).toList();
      throw new CollectiveException(
          "algorithms.%s.protocol: got \"%s\"; expected machine, none or one of %s%s"
              .formatted(
                  config.name(),
                  wanted.orElseThrow(),
                  String.join(", ", names),
                  Suggest.hint(wanted.orElseThrow(), names)));
    }
    return Optional.of(best);
  }

  /** Name of the protocol. */
  public String protocol() {
    return spec.protocols().get(protocol).name();
  }

  /** The time that the tuning model expects, in picoseconds. */
  public double expectedPs() {
    return expectedPs;
  }

  /** Time in which a rank hands a byte to the wire, in picoseconds. */
  public double psPerByte() {
    return psPerByte;
  }

  /** Before a rank does anything. */
  public void begin(Tl tl) {
    let(tl, time(true, false, 0));
  }

  /**
   * Before a message is sent.
   *
   * @param bytes of it
   * @param first whether nothing hides the latency of its step
   */
  public void beforeSend(Tl tl, long bytes, boolean first) {
    let(tl, time(false, first, bytes));
  }

  private ProtocolTime time(boolean begins, boolean steps, long bytes) {
    return new ProtocolTime(protocol, begins, steps, bytes, wire);
  }

  /**
   * What several rings share: the copies of all of them are one after the other, but beside all
   * else that the kernel does, as threads of their own make them. So a message may leave when the
   * copies before it and its own have had their time.
   */
  public final class Copies {
    private final Tl tl;
    private @Nullable Handle before;

    /** Of the kernel of one rank. */
    public Copies(Tl tl) {
      this.tl = tl;
    }

    /**
     * Before a message is sent.
     *
     * @param bytes of it
     * @param first whether nothing hides the latency of its step
     */
    public void beforeSend(long bytes, boolean first) {
      if (before == null) {
        let(tl, time(false, false, bytes));
      } else {
        tl.await(before);
      }
      let(tl, time(false, first, 0));
      ProtocolTime copy = time(false, false, bytes);
      before = tl.elapseInProtocol(Math.max(1, ps(copy)), copy);
    }
  }

  private long ps(ProtocolTime time) {
    return time.ps(spec, psPerByte);
  }

  private void let(Tl tl, ProtocolTime time) {
    long ps = ps(time);
    if (ps > 0) {
      tl.await(tl.elapseInProtocol(ps, time));
    }
  }
}
