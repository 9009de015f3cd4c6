package org.kernbench.nn.layers;

import java.util.List;
import org.kernbench.nn.autograd.Parameter;
import org.kernbench.nn.experts.Choices;
import org.kernbench.nn.experts.StageTokens;
import org.kernbench.nn.experts.StageTokens.Token;
import org.kernbench.nn.kernels.Compute;
import org.kernbench.tensor.Shape;
import org.kernbench.torch.Tensor;
import org.kernbench.torch.Torch;

/**
 * Keeps experts equally busy without a loss (DeepSeek-V3): a bias for each expert is added to
 * scores where experts are chosen, and nowhere else. After a step it grows by the speed for experts
 * that fewer tokens chose than the mean, and shrinks by it for those that more chose: {@code b_e +=
 * speed sign(mean - load_e)}. Loads count the tokens of all ranks and microbatches of the step,
 * also those that find no room, so all ranks come to the same bias in every layout.
 *
 * <p>Source: DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, 2.1.2.
 */
final class ExpertBalance {
  private final Parameter bias;
  private final double speed;
  private final long[] loads;

  /** A balance of so many experts; the bias has the type in which optimizers keep parameters. */
  ExpertBalance(String name, int experts, double speed, Init init) {
    this.bias = init.buffer(name, experts, 0);
    this.speed = speed;
    this.loads = new long[experts];
  }

  /** What is added to scores; no gradient changes it. */
  Parameter bias() {
    return bias;
  }

  /** Counts what all tokens of a stage chose, of which one microbatch has been backwards. */
  void count(Choices chosen, StageTokens tokens, int ranks) {
    for (int rank = 0; rank < ranks; rank++) {
      for (Token token : tokens.of(rank)) {
        for (int expert : chosen.of(token.sample(), token.position())) {
          loads[expert]++;
        }
      }
    }
  }

  /** Tokens that chose each expert since the last {@link #step}. */
  long[] loads() {
    return loads.clone();
  }

  /** Changes the bias by what was counted, and begins to count anew; if nothing was, stays. */
  void step(Torch torch) {
    long all = 0;
    for (long load : loads) {
      all += load;
    }
    double[] change = new double[loads.length];
    for (int e = 0; e < change.length; e++) {
      change[e] = speed * Long.signum(all - loads[e] * loads.length);
      loads[e] = 0;
    }
    Tensor to = bias.value();
    try (Tensor by =
        Compute.parameter(torch, bias.name() + ".change", Shape.of(change.length), bias.dtype())) {
      by.copyInPlace(change);
      new Compute(torch, made -> made)
          .mapInto(bias.name(), to, List.of(to, by), x -> x.get(0).add(x.get(1)));
    }
  }
}
