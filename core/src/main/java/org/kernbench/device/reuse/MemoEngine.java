package org.kernbench.device.reuse;

/** An engine of a PE: what it has served, which the next launches notice. Times in picoseconds. */
public interface MemoEngine {
  /** When a channel was freed last; -1 if never. */
  long freedPs();

  /** By which operation. */
  int freedBy();

  /** A channel was freed. */
  void freed(long timePs, int op);

  /** When the sums of the last product have left the array; -1 if there was none. */
  long drainedPs();

  /** The product that was started last. */
  int lastProduct();

  /** A product was started, whose sums leave the array at a time. */
  void drained(long timePs, int op);

  /** When it last served a stream; negative if it never has. */
  long startedPs(int stream);

  /** It served a stream at a time; a negative one stands for never. */
  void served(int stream, long timePs);
}
