package org.kernbench.device.fabric;

import org.jspecify.annotations.Nullable;
import org.kernbench.device.log.TransferLog;

/** What moves bytes over the links of a machine. */
public interface Interconnect {
  /** Hears what becomes of a transfer. */
  interface Sink {
    /**
     * It is known that the tail of the last chunk enters the first link at {@code timePs}, now or
     * later: the source may start its next transfer then.
     */
    void onInjected(int arg, long timePs);

    /**
     * It is known that the last byte arrives at {@code timePs}, later than now. {@code waitPs} is
     * what the transfer lost to others on its way, 0 if it met nobody; {@code worstLink} is where
     * one of its chunks waited longest behind a chunk of another transfer, -1 if none did.
     */
    void onDelivered(int arg, long timePs, long waitPs, int worstLink);
  }

  /**
   * Starts a transfer.
   *
   * @param id decides who goes first among chunks that reach a link at one time, see {@link
   *     Ties#id}; at most one transfer of an id and owner may reach a link at one time
   * @param route links in order; at least one
   * @param bytes at least 0 (an empty transfer still takes the latency)
   * @param timePs when the source offers the first byte; not before now
   * @param tellInjected whether the sink wants {@link Sink#onInjected}
   * @param span where in the memory the bytes are, which matters to banked HBM only; null for
   *     anywhere
   * @return a number that no other transfer under way has
   */
  int begin(
      long id,
      FabricRoute route,
      long bytes,
      long timePs,
      Sink sink,
      int sinkArg,
      boolean tellInjected,
      @Nullable MemorySpan span);

  /**
   * Time that the chunks of a transfer take on the narrowest link of its way, each rounded up to a
   * picosecond as links do it.
   */
  long serialPs(FabricRoute route, long bytes);

  /** Writes down every chunk on every link from now on. */
  void recordIn(TransferLog log);
}
