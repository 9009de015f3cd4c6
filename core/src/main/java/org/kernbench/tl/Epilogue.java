package org.kernbench.tl;

/**
 * What a {@link CompositeGemm} does with sums before they leave TCM. It works in the accumulator's
 * type (f32; f64 for f64); the result is rounded once to the type of the output.
 */
public sealed interface Epilogue {
  /** When it is applied. */
  enum When {
    /** To the partial product of each K step, before it is added to the sums. */
    K_TILE,
    /** Once to each output tile, before it is stored. */
    OUTPUT_TILE,
    /**
     * Once to the output, when all of it has been stored: it is read back tile by tile, in the type
     * of the output.
     */
    KERNEL
  }

  /** Adds a vector to each row: {@code y[i, j] + bias[j]}. */
  record Bias(Value bias) implements Epilogue {}

  /** {@code max(y, 0)}. */
  record Relu() implements Epilogue {}

  /** Gaussian error linear unit, with erf. */
  record Gelu() implements Epilogue {}

  /** {@code y * sigmoid(y)}. */
  record Silu() implements Epilogue {}

  /** {@code y * factor}. */
  record Scale(double factor) implements Epilogue {}

  /**
   * Multiplies by the scales of quantised weights: {@code [N]}, one for each column; or, for each K
   * step, {@code [steps, N]} or {@code [steps, 1]}.
   */
  record Dequant(Value scales) implements Epilogue {}

  /** Adds a matrix of the output's shape that lies in memory, such as a residual. */
  record Add(Slice matrix) implements Epilogue {}

  /** Adds a matrix of the output's shape that lies in TCM. */
  record AddValue(Value matrix) implements Epilogue {}

  /** Adds a vector to each row. */
  static Epilogue bias(Value bias) {
    return new Bias(bias);
  }

  /** {@code max(y, 0)}. */
  static Epilogue relu() {
    return new Relu();
  }

  /** Gaussian error linear unit, with erf. */
  static Epilogue gelu() {
    return new Gelu();
  }

  /** {@code y * sigmoid(y)}. */
  static Epilogue silu() {
    return new Silu();
  }

  /** {@code y * factor}. */
  static Epilogue scale(double factor) {
    return new Scale(factor);
  }

  /** Multiplies by the scales of quantised weights; see {@link Dequant}. */
  static Epilogue dequant(Value scales) {
    return new Dequant(scales);
  }

  /** Adds a matrix that lies in memory. */
  static Epilogue add(Slice matrix) {
    return new Add(matrix);
  }

  /** Adds a matrix that lies in TCM. */
  static Epilogue add(Value matrix) {
    return new AddValue(matrix);
  }
}
