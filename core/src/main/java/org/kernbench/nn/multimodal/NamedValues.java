package org.kernbench.nn.multimodal;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.nn.autograd.Graph;
import org.kernbench.nn.autograd.Variable;

/**
 * The values at named places of a model on one rank, in the order of computation, each row with the
 * sample and the position it belongs to, so that runs in different layouts can be compared.
 */
public final class NamedValues implements Graph.Watch {
  private final List<Seen> seen = new ArrayList<>();
  private Rows rows = Rows.of(0, 0, new int[0]);
  private Rows ofRegion = rows;
  private Rows ofContext = rows;

  /** Which sample and position each row belongs to. */
  public static final class Rows {
    private final int[] samples;
    private final int[] positions;

    private Rows(int[] samples, int[] positions) {
      this.samples = samples;
      this.positions = positions;
    }

    /** Rows that go position by position. */
    public static Rows of(int firstSample, int samples, int[] positions) {
      int n = samples * positions.length;
      int[] s = new int[n];
      int[] p = new int[n];
      for (int i = 0; i < n; i++) {
        s[i] = firstSample + i % samples;
        p[i] = positions[i / samples];
      }
      return new Rows(s, p);
    }

    /** Rows that go sample by sample. */
    static Rows bySample(int firstSample, int samples, int[] positions) {
      int n = samples * positions.length;
      int[] s = new int[n];
      int[] p = new int[n];
      for (int i = 0; i < n; i++) {
        s[i] = firstSample + i / positions.length;
        p[i] = positions[i % positions.length];
      }
      return new Rows(s, p);
    }

    /** How many rows. */
    public int count() {
      return samples.length;
    }

    /** The samples of all rows, in their order. */
    public int[] samples() {
      return samples.clone();
    }

    /** The sample of a row. */
    public int sample(int row) {
      return samples[row];
    }

    /** The position of a row in its sample. */
    public int position(int row) {
      return positions[row];
    }
  }

  /** A value and, after the backward pass, its gradient. */
  public record Seen(String place, Variable value, Graph.Seen what, Rows rows) {}

  /** The values that follow have these rows. */
  void rows(Rows of) {
    rows = of;
  }

  /**
   * Values of tensor-parallel regions that follow have these rows, wherever the others are.
   *
   * @param context rows that context-parallel ranks have together, rank after rank
   */
  void regions(Rows region, Rows context) {
    ofRegion = region;
    ofContext = context;
  }

  @Override
  public void see(String place, Variable value, Graph.Seen what) {
    Rows of =
        switch (what) {
          case WHOLE -> rows;
          case PART, REGION, ENTERED -> ofRegion;
          case GATHERED -> ofContext;
        };
    seen.add(new Seen(place, value, what, of));
  }

  public List<Seen> seen() {
    return seen;
  }
}
