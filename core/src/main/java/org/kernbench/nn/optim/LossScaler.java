package org.kernbench.nn.optim;

import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Variable;

/**
 * Multiplies the loss so that gradients in f16 do not vanish, and skips steps in which they
 * overflow ({@code GradScaler} of PyTorch, {@code DynamicGradScaler} of Megatron-LM): then the
 * factor shrinks, and it grows again after some good steps. Factors that are powers of two change
 * no bit of what neither vanishes nor overflows.
 *
 * {@snippet :
 * data.backward(graph, scaler.scaled(graph, loss));
 * data.divideByTokens(tokens, scaler);
 * if (!scaler.step(data, optimizer, 1)) {
 *   // nothing has changed, on no rank
 * }
 * }
 */
public final class LossScaler {
  private final Settings settings;
  private double scale;
  private int good;
  private long skipped;

  /**
   * How the factor changes.
   *
   * @param first factor
   * @param growth by which it is multiplied after {@code interval} good steps in a row; 1 or more
   * @param backoff by which it is multiplied after a step that is skipped; above 0, at most 1
   * @param interval good steps; 1 or more
   * @param least that it shrinks to
   */
  public record Settings(double first, double growth, double backoff, int interval, double least) {
    /** 65,536, doubled after 2,000 good steps, halved after a bad one, at least 1. */
    public static final Settings DEFAULT = new Settings(65_536, 2, 0.5, 2000, 1);

    /** Checks the numbers. */
    public Settings {
      if (!(first >= least && least > 0 && growth >= 1 && backoff > 0 && backoff <= 1)
          || interval < 1
          || Double.isInfinite(first)) {
        throw new IllegalArgumentException(
            "loss scale %s, growth %s, backoff %s, interval %s, least %s; expected finite scales above 0, growth of 1 or more, backoff above 0 and at most 1, interval of 1 or more"
                .formatted(first, growth, backoff, interval, least));
      }
    }

    /** A factor that does not change. */
    public static Settings constant(double scale) {
      return new Settings(scale, 1, 1, 1, scale);
    }
  }

  /** A scaler before the first step. */
  public LossScaler(Settings settings) {
    this.settings = settings;
    this.scale = settings.first;
  }

  /** The factor of the step to come. */
  public double scale() {
    return scale;
  }

  /** Steps that have been skipped. */
  public long skipped() {
    return skipped;
  }

  /** The loss that gradients are to be computed of. */
  public Variable scaled(Graph graph, Variable loss) {
    graph.withLossScale(scale);
    return scale == 1 ? loss : graph.scale(loss, scale);
  }

  /**
   * Shrinks gradients to a norm and changes parameters, or does neither if a gradient of any rank
   * is infinite or NaN. All ranks call it, after {@link DataParallel#divideByTokens(int,
   * LossScaler)}, and all do the same.
   *
   * @return whether parameters have changed
   */
  public boolean step(DataParallel data, Optimizer optimizer, double mostNorm) {
    boolean finite = data.areFinite();
    if (finite) {
      data.clip(mostNorm);
      optimizer.step();
      data.gather();
    }
    update(finite);
    return finite;
  }

  /** Takes note of a step, which was skipped unless its gradients were finite. */
  public void update(boolean finite) {
    if (!finite) {
      skipped++;
      good = 0;
      scale = Math.max(settings.least, scale * settings.backoff);
    } else if (++good == settings.interval) {
      good = 0;
      scale *= settings.growth;
    }
  }
}
