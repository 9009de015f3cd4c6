package org.kernbench.device;

import java.util.List;
import java.util.Optional;
import org.kernbench.machine.Pe;

/**
 * What to launch, where, and after what.
 *
 * @param name of the kernel, for reports
 * @param pes where it runs; each once
 * @param stream which of the PEs' program contexts it takes, 0 to {@code pe.cpu.contexts} less one.
 *     Launches of one stream on one PE run one after the other; those of different streams at the
 *     same time, sharing engines, TCM and memories. By custom 0 computes and the last one
 *     communicates.
 * @param queues the message queues that its directions name; empty: it has none
 * @param after launches that must be done before this one starts, wherever they run; nothing else
 *     orders launches of different streams
 */
public record LaunchRequest(
    String name, List<Pe> pes, int stream, Optional<QueueSet> queues, List<Launch> after) {
  /** Copies the lists. */
  public LaunchRequest {
    pes = List.copyOf(pes);
    after = List.copyOf(after);
  }

  /** A launch on stream 0, without queues, after nothing. */
  public static LaunchRequest of(String name, List<Pe> pes) {
    return new LaunchRequest(name, pes, 0, Optional.empty(), List.of());
  }

  /** A copy on another stream. */
  public LaunchRequest onStream(int which) {
    return new LaunchRequest(name, pes, which, queues, after);
  }

  /** A copy with message queues. */
  public LaunchRequest with(QueueSet set) {
    return new LaunchRequest(name, pes, stream, Optional.of(set), after);
  }

  /** A copy that waits for other launches. */
  public LaunchRequest after(List<Launch> others) {
    return new LaunchRequest(name, pes, stream, queues, others);
  }
}
