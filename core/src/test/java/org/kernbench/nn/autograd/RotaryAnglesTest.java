package org.kernbench.nn.autograd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.kernbench.nn.layers.TransformerConfig;
import org.kernbench.tensor.Shape;

/** Stretched rotary angles against the published formulas, in plain loops. */
class RotaryAnglesTest {
  /** By wave lengths, case by case, as Llama 3.1's authors have it. */
  private static double llama3(double frequency) {
    double wave = 2 * Math.PI / frequency;
    if (wave < 8192.0 / 4) {
      return frequency;
    }
    if (wave > 8192.0 / 1) {
      return frequency / 8;
    }
    double smooth = (8192 / wave - 1) / (4 - 1);
    return (1 - smooth) * frequency / 8 + smooth * frequency;
  }

  @Test
  void llama3_equalsItsCases() {
    RotaryAngles angles = TransformerConfig.llama8b().rotary();
    double[] got = angles.frequencies(128);
    int divided = 0;
    int kept = 0;
    for (int i = 0; i < 64; i++) {
      double plain = Math.exp(-Math.log(500000) * i / 64);
      assertThat(got[i]).as("%s", i).isCloseTo(llama3(plain), within(1e-12 * plain));
      kept += Math.abs(got[i] / plain - 1) < 1e-12 ? 1 : 0;
      divided += Math.abs(got[i] * 8 / plain - 1) < 1e-12 ? 1 : 0;
    }
    // turns over 8,192 positions: above 4 up to pair 28 (4.19), below 1 from pair 35 on (0.996)
    assertThat(kept).isEqualTo(29);
    assertThat(divided).isEqualTo(29);
    assertThat(List.of(angles.length(), angles.scores())).containsExactly(1.0, 1.0);
  }

  /** With the range of pairs that is known of DeepSeek-V3: 10 to 23. */
  @Test
  void yarn_ofDeepseek_rampsFromPair10To23() {
    RotaryAngles angles = TransformerConfig.deepseekV3().rotary();
    double[] got = angles.frequencies(64);
    for (int i = 0; i < 32; i++) {
      double plain = Math.exp(-Math.log(10000) * i / 32);
      double ramp = i < 10 ? 0 : i > 23 ? 1 : (i - 10) / 13.0;
      double expected = plain / 40 * ramp + plain * (1 - ramp);
      assertThat(got[i]).as("%s", i).isCloseTo(expected, within(1e-12 * plain));
    }
    assertThat(angles.length()).isEqualTo(1);
    // the scale of scores that programs for this model have: 192^-0.5 (0.1 ln 40 + 1)^2
    assertThat(angles.scores() / Math.sqrt(192)).isCloseTo(0.1352337788608801, within(1e-15));
  }

  /** Ranges that end before the first or behind the last pair, and one without width. */
  @Test
  void yarn_atTheEnds_equalsTheFormula() {
    for (RotaryAngles.Yarn s :
        List.of(
            new RotaryAngles.Yarn(4, 32, 1, 64),
            new RotaryAngles.Yarn(2, 8, 1e-6, 1 << 20),
            new RotaryAngles.Yarn(16, 1.001, 1, 2 * Math.PI))) {
      double[] got = RotaryAngles.ofBase(100).with(s).frequencies(8);
      double low = 8 * Math.log(s.original() / (s.fast() * 2 * Math.PI)) / (2 * Math.log(100));
      double high = 8 * Math.log(s.original() / (s.slow() * 2 * Math.PI)) / (2 * Math.log(100));
      low = Math.max(Math.floor(low), 0);
      high = Math.min(Math.ceil(high), 7);
      if (low == high) {
        high += 0.001;
      }
      for (int i = 0; i < 4; i++) {
        double ramp = Math.min(1, Math.max(0, (i - low) / (high - low)));
        double plain = Math.pow(100, -i / 4.0);
        assertThat(got[i])
            .as("%s, %s", s, i)
            .isCloseTo((1 - ramp) * plain + ramp * plain / s.factor(), within(1e-12 * plain));
      }
    }
  }

  /** What is turned and made longer, pair by pair. */
  @Test
  void rotary_stretched_turnsByItsFrequencies() {
    RotaryAngles angles = RotaryAngles.ofBase(100).with(new RotaryAngles.Linear(4)).with(1.25, 1);
    double[] x = new Random(3).doubles(3 * 4, -1, 1).toArray();
    double[] expected = new double[x.length];
    int[] at = {5, 0, 9};
    for (int r = 0; r < 3; r++) {
      for (int i = 0; i < 2; i++) {
        double angle = at[r] / (i == 0 ? 4.0 : 40.0);
        double a = x[4 * r + i];
        double b = x[4 * r + 2 + i];
        expected[4 * r + i] = 1.25 * (a * Math.cos(angle) - b * Math.sin(angle));
        expected[4 * r + 2 + i] = 1.25 * (a * Math.sin(angle) + b * Math.cos(angle));
      }
    }
    Shape shape = Shape.of(3, 1, 4);
    assertThat(GradCheck.run((g, v) -> g.rotary(v.get(0), 4, 4, at, angles), List.of(x), shape))
        .containsExactly(expected, within(1e-15));
    GradCheck.check((g, v) -> g.rotary(v.get(0), 4, 4, at, angles), shape);
  }

  /** Sharper scores are those of queries that are as much longer. */
  @Test
  void attention_sharper_isThatOfLongerQueries() {
    int[] at = {0, 1, 2, 3, 4};
    Shape shape = Shape.of(5, 1, 4);
    Random random = new Random(4);
    List<double[]> x =
        List.of(
            random.doubles(20, -1, 1).toArray(),
            random.doubles(20, -1, 1).toArray(),
            random.doubles(20, -1, 1).toArray());
    GradCheck.Function sharp =
        (g, v) ->
            DotProductAttention.of(2).sharper(1.7).apply(g, v.get(0), v.get(1), v.get(2), at, at);
    GradCheck.Function longer =
        (g, v) -> g.attention(g.scale(v.get(0), 1.7), v.get(1), v.get(2), 2, at, at);
    assertThat(GradCheck.run(sharp, x, shape, shape, shape))
        .containsExactly(GradCheck.run(longer, x, shape, shape, shape), within(1e-14));
    GradCheck.check(sharp, shape, shape, shape);
  }
}
