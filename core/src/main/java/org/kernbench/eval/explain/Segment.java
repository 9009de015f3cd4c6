package org.kernbench.eval.explain;

/**
 * A stretch of the critical path: from {@code fromPs} to {@code toPs} the run could not end earlier
 * because of {@code cause} at {@code place}.
 *
 * @param fromPs simulated time, picoseconds
 * @param toPs simulated time, picoseconds; not before {@code fromPs}
 * @param cause what the time went to
 * @param place the link or the engine, such as {@code sip0.ioE->sip1.ioW}
 * @param resource what kind of thing of the machine that is: a kind of link ({@code sip_to_sip}),
 *     an engine ({@code DMA}, {@code MATH}, {@code GEMM}, {@code CPU}), {@code slots}, or {@code
 *     timer} of a time that was said beforehand
 * @param line the kernel's source line, empty if lines were not captured
 * @param op the operation, an id of the op log; -1 if none
 */
public record Segment(
    long fromPs, long toPs, PathCause cause, String place, String resource, String line, int op) {
  /** The resource of operations that only let time pass. */
  static final String TIMER = "timer";

  /** Its length in picoseconds. */
  public long ps() {
    return toPs - fromPs;
  }
}
