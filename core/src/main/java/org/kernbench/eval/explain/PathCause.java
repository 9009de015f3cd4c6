package org.kernbench.eval.explain;

/** What a step of a critical path went to. {@code docs/explain-guide.md} says what each means. */
public enum PathCause {
  /** A MATH or GEMM engine was computing. */
  COMPUTE("compute"),
  /** The program of a collective library took its time, beside its messages. */
  PROTOCOL("protocol"),
  /** Bytes entered a link or a memory one after the other. */
  SERIALISATION("serialisation"),
  /** Bytes or a request were on their way. */
  LATENCY("latency"),
  /** A DMA was being set up. */
  DMA_SETUP("DMA setup"),
  /** Addresses were translated that the TLB did not hold. */
  TRANSLATION("address translation"),
  /** A message was started. */
  MESSAGE_OVERHEAD("message overhead"),
  /** A NIC did what it does for each message, before the first byte. */
  NIC_MESSAGE("NIC message overhead"),
  /** A message was copied into or out of its slot. */
  SLOT_ACCESS("slot access"),
  /** A sender had used all its slots and waited for a credit. */
  CREDIT_RETURN("credit return"),
  /** A CPU was issuing commands. */
  COMMAND_ISSUE("command issue"),
  /** A receiver held the slot that a sender needed. */
  SLOT_HELD("slot held"),
  /** A kernel waited until it could look at data. */
  LOOK("look at data"),
  /** Banks of HBM were busy with more than the bytes. */
  MEMORY("memory"),
  /** Flits waited for credits or turns. */
  FLOW_CONTROL("flow control"),
  /** A launch was on its way to its PEs. */
  LAUNCH("launch"),
  /** The host had not asked yet. */
  HOST("host"),
  /** Bytes waited behind those of another transfer. */
  CONTENTION("contention"),
  /** A message waited at a NIC that was busy with another transfer. */
  NIC_CONTENTION("NIC contention"),
  /** Nothing of these. */
  OTHER("other");

  private final String text;

  PathCause(String text) {
    this.text = text;
  }

  /** The words that reports use. */
  public String text() {
    return text;
  }

  /** The words that reports use. */
  @Override
  public String toString() {
    return text;
  }
}
