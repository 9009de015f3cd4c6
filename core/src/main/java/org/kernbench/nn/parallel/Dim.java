package org.kernbench.nn.parallel;

import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * A dimension along which training is divided, with the names of Megatron-LM. A {@link RankGrid}
 * may have others; these are the ones that layers, optimizers and checks know.
 */
public enum Dim {
  /** Tensor parallel: each rank has a part of every layer. */
  TP,
  /** Context parallel: each rank has a part of every sequence. */
  CP,
  /** Data parallel: each rank has other samples. */
  DP,
  /** Pipeline: each rank has some of the layers. */
  PP,
  /** Experts: each rank has some of them. */
  EP,
  /** Tensor parallel within an expert. */
  ETP,
  /** Data parallel of experts. */
  EDP;

  /** Its name in a grid, such as {@code tp}. */
  public String token() {
    return name().toLowerCase(Locale.ROOT);
  }

  static List<String> tokens(Dim first, Dim... more) {
    return Stream.concat(Stream.of(first), Stream.of(more)).map(Dim::token).toList();
  }

  @Override
  public String toString() {
    return token();
  }
}
