package org.kernbench.nn.multimodal;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.kernbench.nn.layers.TransformerConfig;

/**
 * The model of two modules once more, one number at a time in f64: loops over scalars, and
 * derivatives by a tape of scalar operations. It shares no code with the room but names and shapes
 * of parameters, and knows no ranks, tiles or kernels.
 */
public final class PlainTwoModule {
  private final Tape tape = new Tape();
  private final TwoModuleConfig config;
  private final Map<String, int[]> parameters = new LinkedHashMap<>();

  public PlainTwoModule(TwoModuleConfig config, Map<String, double[]> values) {
    this.config = config;
    values.forEach(
        (name, v) -> parameters.put(name, Arrays.stream(v).mapToInt(tape::leaf).toArray()));
  }

  /** Scalar operations in order, each with its operands and its derivatives by them. */
  private static final class Tape {
    private double[] value = new double[1 << 16];
    private int[] left = new int[1 << 16];
    private int[] right = new int[1 << 16];
    private double[] byLeft = new double[1 << 16];
    private double[] byRight = new double[1 << 16];
    private int n;

    private int push(double v, int a, double da, int b, double db) {
      if (n == value.length) {
        value = Arrays.copyOf(value, 2 * n);
        left = Arrays.copyOf(left, 2 * n);
        right = Arrays.copyOf(right, 2 * n);
        byLeft = Arrays.copyOf(byLeft, 2 * n);
        byRight = Arrays.copyOf(byRight, 2 * n);
      }
      value[n] = v;
      left[n] = a;
      right[n] = b;
      byLeft[n] = da;
      byRight[n] = db;
      return n++;
    }

    int leaf(double v) {
      return push(v, -1, 0, -1, 0);
    }

    int add(int a, int b) {
      return push(value[a] + value[b], a, 1, b, 1);
    }

    int mul(int a, int b) {
      return push(value[a] * value[b], a, value[b], b, value[a]);
    }

    /** A function of one number. */
    int unary(int a, double v, double derivative) {
      return push(v, a, derivative, -1, 0);
    }

    int scale(int a, double by) {
      return unary(a, value[a] * by, by);
    }

    int exp(int a) {
      return unary(a, Math.exp(value[a]), Math.exp(value[a]));
    }

    int log(int a) {
      return unary(a, Math.log(value[a]), 1 / value[a]);
    }

    int power(int a, double p) {
      return unary(a, Math.pow(value[a], p), p * Math.pow(value[a], p - 1));
    }

    int gelu(int a) {
      double x = value[a];
      double cdf = (1 + erf(x / Math.sqrt(2))) / 2;
      double density = Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
      return unary(a, x * cdf, cdf + x * density);
    }

    int silu(int a) {
      double x = value[a];
      double s = 1 / (1 + Math.exp(-x));
      return unary(a, x * s, s + x * s * (1 - s));
    }

    /** The Maclaurin series; its terms are small enough for the arguments that occur. */
    private static double erf(double x) {
      double sum = 0;
      double power = x;
      for (int k = 0; k < 200; k++) {
        sum += power / (2 * k + 1);
        power *= -x * x / (k + 1);
      }
      return 2 / Math.sqrt(Math.PI) * sum;
    }

    double[] backward(int from) {
      double[] grad = new double[n];
      grad[from] = 1;
      for (int i = from; i >= 0; i--) {
        if (left[i] >= 0) {
          grad[left[i]] += byLeft[i] * grad[i];
        }
        if (right[i] >= 0) {
          grad[right[i]] += byRight[i] * grad[i];
        }
      }
      return grad;
    }
  }

  // ---- layers ----

  private int[] linear(String name, int[] x) {
    int[] w = parameters.get(name + ".weight");
    int[] b = parameters.get(name + ".bias");
    int out = w.length / x.length;
    int[] y = new int[out];
    for (int o = 0; o < out; o++) {
      int sum = tape.mul(x[0], w[o * x.length]);
      for (int i = 1; i < x.length; i++) {
        sum = tape.add(sum, tape.mul(x[i], w[o * x.length + i]));
      }
      y[o] = b == null ? sum : tape.add(sum, b[o]);
    }
    return y;
  }

  private int sum(int[] x) {
    int sum = x[0];
    for (int i = 1; i < x.length; i++) {
      sum = tape.add(sum, x[i]);
    }
    return sum;
  }

  private int[] norm(String name, int[] x, boolean plain) {
    int[] w = parameters.get(name + ".weight");
    int[] b = parameters.get(name + ".bias");
    int[] c = x;
    if (plain) {
      int less = tape.scale(sum(x), -1.0 / x.length);
      c = Arrays.stream(x).map(i -> tape.add(i, less)).toArray();
    }
    int squares = sum(Arrays.stream(c).map(i -> tape.mul(i, i)).toArray());
    int mean = tape.scale(squares, 1.0 / x.length);
    int factor = tape.power(tape.add(mean, tape.leaf(1e-5)), -0.5);
    int[] y = new int[x.length];
    for (int i = 0; i < y.length; i++) {
      int scaled = tape.mul(tape.mul(c[i], factor), w[i]);
      y[i] = b == null ? scaled : tape.add(scaled, b[i]);
    }
    return y;
  }

  /** Turns pairs {@code (i, i + size/2)} of each head. */
  private int[] rotated(int[] x, int size, int position) {
    int[] y = x.clone();
    int half = size / 2;
    for (int head = 0; head < x.length; head += size) {
      for (int i = 0; i < half; i++) {
        double angle = position * Math.pow(10000, -2.0 * i / size);
        int a = x[head + i];
        int b = x[head + half + i];
        y[head + i] = tape.add(tape.scale(a, Math.cos(angle)), tape.scale(b, -Math.sin(angle)));
        y[head + half + i] =
            tape.add(tape.scale(a, Math.sin(angle)), tape.scale(b, Math.cos(angle)));
      }
    }
    return y;
  }

  private int[] attended(
      TransformerConfig c, int[] query, int[][] keys, int[][] values, int visible) {
    int size = c.headSize();
    int[] out = new int[c.heads() * size];
    for (int h = 0; h < c.heads(); h++) {
      int kh = h / (c.heads() / c.keyHeads());
      int[] weights = new int[visible];
      for (int k = 0; k < visible; k++) {
        int dot = tape.mul(query[h * size], keys[k][kh * size]);
        for (int i = 1; i < size; i++) {
          dot = tape.add(dot, tape.mul(query[h * size + i], keys[k][kh * size + i]));
        }
        weights[k] = tape.exp(tape.scale(dot, 1 / Math.sqrt(size)));
      }
      int over = tape.power(sum(weights), -1);
      for (int i = 0; i < size; i++) {
        int sum = tape.mul(weights[0], values[0][kh * size + i]);
        for (int k = 1; k < visible; k++) {
          sum = tape.add(sum, tape.mul(weights[k], values[k][kh * size + i]));
        }
        out[h * size + i] = tape.mul(sum, over);
      }
    }
    return out;
  }

  private int[] add(int[] a, int[] b) {
    int[] sum = new int[a.length];
    Arrays.setAll(sum, i -> tape.add(a[i], b[i]));
    return sum;
  }

  private int[][] block(String name, TransformerConfig c, int[][] x) {
    boolean plain = c.style() != TransformerConfig.Style.LLAMA;
    int n = x.length;
    int[][] q = new int[n][];
    int[][] k = new int[n][];
    int[][] v = new int[n][];
    for (int t = 0; t < n; t++) {
      int[] in = norm(name + ".attention_norm", x[t], plain);
      q[t] = linear(name + ".attention.query", in);
      k[t] = linear(name + ".attention.key", in);
      v[t] = linear(name + ".attention.value", in);
      if (!plain) {
        q[t] = rotated(q[t], c.headSize(), t);
        k[t] = rotated(k[t], c.headSize(), t);
      }
    }
    int[][] y = new int[n][];
    for (int t = 0; t < n; t++) {
      int visible = c.style() == TransformerConfig.Style.VIT ? n : t + 1;
      int[] a = linear(name + ".attention.output", attended(c, q[t], k, v, visible));
      int[] h = add(x[t], a);
      int[] in = norm(name + ".mlp_norm", h, plain);
      int[] inner = linear(name + ".mlp.up", in);
      if (plain) {
        inner = Arrays.stream(inner).map(tape::gelu).toArray();
      } else {
        int[] gate = Arrays.stream(linear(name + ".mlp.gate", in)).map(tape::silu).toArray();
        for (int i = 0; i < inner.length; i++) {
          inner[i] = tape.mul(inner[i], gate[i]);
        }
      }
      y[t] = add(h, linear(name + ".mlp.down", inner));
    }
    return y;
  }

  private int[][] encode(double[][] patches) {
    TransformerConfig c = config.encoder();
    int[][] x = new int[patches.length][];
    int[] positions = parameters.get("encoder.positions");
    for (int t = 0; t < x.length; t++) {
      x[t] = linear("encoder.embedding", Arrays.stream(patches[t]).mapToInt(tape::leaf).toArray());
      if (positions != null) {
        x[t] = add(x[t], Arrays.copyOfRange(positions, t * c.hidden(), (t + 1) * c.hidden()));
      }
    }
    for (int i = 0; i < c.layers(); i++) {
      x = block("encoder.layers." + i, c, x);
    }
    boolean plain = c.style() != TransformerConfig.Style.LLAMA;
    for (int t = 0; t < x.length; t++) {
      int[] up = linear("projector.up", norm("encoder.norm", x[t], plain));
      x[t] = linear("projector.down", Arrays.stream(up).map(tape::gelu).toArray());
    }
    return x;
  }

  /** The loss of one sample, summed over tokens that count; -1 if none does. */
  private int sample(int[] ids, int[] targets, double[] mask, double[][] patches) {
    TransformerConfig c = config.language();
    int[][] image = patches.length == 0 ? new int[0][] : encode(patches);
    int[] table = parameters.get("embedding.weight");
    int[] positions = parameters.get("positions");
    int[][] x = new int[ids.length][];
    int next = 0;
    for (int t = 0; t < ids.length; t++) {
      x[t] =
          ids[t] == config.placeholder()
              ? image[next++]
              : Arrays.copyOfRange(table, ids[t] * c.hidden(), (ids[t] + 1) * c.hidden());
      if (positions != null) {
        x[t] = add(x[t], Arrays.copyOfRange(positions, t * c.hidden(), (t + 1) * c.hidden()));
      }
    }
    for (int i = 0; i < c.layers(); i++) {
      x = block("layers." + i, c, x);
    }
    boolean plain = c.style() != TransformerConfig.Style.LLAMA;
    int loss = -1;
    for (int t = 0; t < ids.length; t++) {
      if (mask[t] != 0) {
        int[] logits = linear("head", norm("norm", x[t], plain));
        int all = tape.log(sum(Arrays.stream(logits).map(tape::exp).toArray()));
        int nll = tape.add(all, tape.scale(logits[targets[t]], -1));
        loss = loss < 0 ? nll : tape.add(loss, nll);
      }
    }
    return loss;
  }

  /**
   * Gradients of the mean loss over all tokens that count, by parameter; and the sum of losses
   * under the name {@code loss}.
   */
  public Map<String, double[]> gradients(java.util.List<Microbatch> microbatches) {
    int loss = tape.leaf(0);
    int tokens = 0;
    for (Microbatch m : microbatches) {
      for (int s = 0; s < m.samples(); s++) {
        int[] ids = m.ids(s, 1);
        boolean has = Arrays.stream(ids).anyMatch(id -> id == config.placeholder());
        double[] flat = has ? m.patches(s, 1) : new double[0];
        double[][] patches = new double[flat.length / config.patch()][];
        for (int t = 0; t < patches.length; t++) {
          patches[t] = Arrays.copyOfRange(flat, t * config.patch(), (t + 1) * config.patch());
        }
        int own = sample(ids, m.targets(s, 1), m.mask(s, 1), patches);
        loss = own < 0 ? loss : tape.add(loss, own);
      }
      tokens += m.tokens();
    }
    double[] grad = tape.backward(tape.scale(loss, 1.0 / Math.max(1, tokens)));
    Map<String, double[]> found = new LinkedHashMap<>();
    parameters.forEach((name, handles) ->
        found.put(name, Arrays.stream(handles).mapToDouble(h -> grad[h]).toArray()));
    found.put("loss", new double[] {tape.value[loss]});
    return found;
  }
}
