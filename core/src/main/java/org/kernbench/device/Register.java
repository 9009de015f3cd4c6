package org.kernbench.device;

/**
 * A value in the TCM or in a message slot of one PE, as the program there names it: written once,
 * immutable, freed after its last reader.
 */
public interface Register {
  /** Stands for an operand that is not there. */
  Register NONE = new NamedRegister(0);

  /** Size in bytes. */
  int bytes();

  /**
   * Whether the bytes count against the TCM of the PE (a zero-copy message does not: its slot was
   * reserved at install).
   */
  boolean inTcm();

  /** Where the kernel made it, as the op log numbers lines; 0 if that is not known. */
  int line();

  /** Whether the program has given it up. */
  boolean isReleased();
}
