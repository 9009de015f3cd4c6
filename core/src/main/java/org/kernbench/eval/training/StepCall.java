package org.kernbench.eval.training;

import org.kernbench.machine.spec.OperationClass;

/** A call of a training step: what a host launches on a GPU. Equal calls take the same time. */
sealed interface StepCall {
  /** What the host and the libraries add to it. */
  OperationClass kind();

  /** Whether ranks exchange data in it. */
  default boolean isCommunication() {
    return kind() == OperationClass.COLLECTIVE;
  }

  /**
   * {@code batch} products of {@code [m, k]} and {@code [k, n]}, f16.
   *
   * @param m rows of the results
   * @param k depth
   * @param n columns of the results
   * @param batch how many, each with operands of its own
   */
  record Product(int m, int k, int n, int batch) implements StepCall {
    @Override
    public OperationClass kind() {
      return OperationClass.MATMUL;
    }
  }

  /**
   * A kernel that streams through memory: so many bytes read, so many written, hardly anything
   * computed.
   */
  record Stream(OperationClass kind, long read, long written) implements StepCall {}

  /**
   * An all-reduce of f16.
   *
   * @param ranks that take part, at least 2
   * @param stride between their numbers
   * @param bytes of each
   */
  record AllReduce(int ranks, int stride, long bytes) implements StepCall {
    @Override
    public OperationClass kind() {
      return OperationClass.COLLECTIVE;
    }
  }

  /**
   * Activations from a rank to another.
   *
   * @param stride between their numbers
   * @param bytes that are sent
   */
  record Transfer(int stride, long bytes) implements StepCall {
    @Override
    public OperationClass kind() {
      return OperationClass.COLLECTIVE;
    }
  }
}
