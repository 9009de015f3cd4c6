package org.kernbench.device.log;

/** What an operation of the op log did. */
public enum OpKind {
  /** Memory to TCM. */
  LOAD,
  /** TCM to memory. */
  STORE,
  /** Element-wise work or a reduction on the MATH engine. */
  MATH,
  /** A matrix product on the GEMM engine. */
  GEMM,
  /** A message from grant of the channel until it is visible at the receiver. */
  SEND,
  /** Taking a message out of its slot. */
  RECV
}
