package org.kernbench.tl;

/**
 * A kernel: code that runs once per program instance, that is, per PE. It captures the tensors it
 * works on.
 */
@FunctionalInterface
public interface Kernel {
  /** Issues the commands of one program instance. */
  void run(Tl tl);
}
