package org.kernbench.nn.pipeline;

import java.util.ArrayList;
import java.util.List;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.pipeline.Action.Kind;

/**
 * The schedules that have names.
 *
 * @see <a href="https://arxiv.org/abs/2104.04473">Narayanan et al. 2021: 1F1B, interleaved</a>
 * @see <a href="https://arxiv.org/abs/2401.10241">Qi et al. 2023: ZB-H1, ZB-V</a>
 * @see <a href="https://arxiv.org/abs/2412.19437">DeepSeek-AI 2024: DualPipe</a>
 */
public enum Schedules {
  /** All microbatches forwards, then all backwards. */
  GPIPE("gpipe"),
  /** One forwards, one backwards, as soon as the pipeline is full. */
  ONE_F_ONE_B("1f1b"),
  /** As {@link #ONE_F_ONE_B}, with several stages on each rank, dealt out in turn. */
  INTERLEAVED("interleaved"),
  /** 1F1B whose weight gradients are put off and fill the time while gradients drain. */
  ZB_H1("zb-h1"),
  /** Two stages on each rank, there and back, backward passes in two parts. */
  ZB_V("zb-v"),
  /** The model twice on the ranks, in both directions; half of the microbatches go each way. */
  DUALPIPE("dualpipe");

  private final String word;

  Schedules(String word) {
    this.word = word;
  }

  /** As users write it. */
  @Override
  public String toString() {
    return word;
  }

  /** Stages of a rank when {@code vpp} of the interleaved schedule is {@code chunks}. */
  public int stagesPerRank(int chunks) {
    return switch (this) {
      case GPIPE, ONE_F_ONE_B, ZB_H1 -> 1;
      case INTERLEAVED -> chunks;
      case ZB_V, DUALPIPE -> 2;
    };
  }

  /**
   * The schedule of a step.
   *
   * @param p ranks of the pipeline, 1 or more
   * @param m microbatches, 1 or more
   * @param chunks stages of a rank in the interleaved schedule, 2 or more; 1 for all others
   * @throws LayoutException if there is none for these numbers
   */
  public PipelineSchedule of(int p, int m, int chunks) {
    if (p < 1 || m < 1 || chunks < 1) {
      throw LayoutException.argument(
          "schedule %s: %s ranks, %s microbatches, %s stages of a rank; expected 1 or more"
              .formatted(word, p, m, chunks));
    }
    if (this == INTERLEAVED ? chunks < 2 : chunks > 1) {
      throw LayoutException.argument(
          "schedule %s: vpp is %s; expected %s"
              .formatted(
                  word,
                  chunks,
                  this == INTERLEAVED ? "2 or more" : "1; schedule interleaved takes more"));
    }
    String name = word;
    return switch (this) {
      case GPIPE -> PipelineSchedule.of(name, each(p, r -> gpipe(r, m)));
      case ONE_F_ONE_B -> PipelineSchedule.of(name, each(p, r -> oneFOneB(p, r, m)));
      case INTERLEAVED -> {
        if (m % p != 0) {
          throw LayoutException.argument(
              "schedule interleaved: %s microbatches on %s ranks; expected a multiple of %s"
                  .formatted(m, p, p));
        }
        yield PipelineSchedule.of(name, each(p, r -> interleaved(p, r, m, chunks)));
      }
      case ZB_H1 -> PipelineSchedule.of(name, each(p, r -> zbH1(p, r, m)));
      case ZB_V -> PipelineSchedule.of(name, each(p, r -> zbV(p, r, m)));
      case DUALPIPE -> {
        if (p % 2 != 0 || m % 2 != 0 || m < 2 * p) {
          throw LayoutException.argument(
              """
              schedule dualpipe: %s ranks, %s microbatches; expected an even number of ranks \
              and an even number of microbatches, at least twice as many\
              """
                  .formatted(p, m));
        }
        yield PipelineSchedule.of(name, 2, each(p, r -> new Dual(p, r, m).actions()));
      }
    };
  }

  private interface OfRank {
    List<Action> at(int rank);
  }

  private static List<List<Action>> each(int ranks, OfRank of) {
    List<List<Action>> all = new ArrayList<>();
    for (int r = 0; r < ranks; r++) {
      all.add(of.at(r));
    }
    return all;
  }

  private static Action act(int stage, Kind kind, int microbatch) {
    return new Action(stage, kind, microbatch);
  }

  private static List<Action> gpipe(int rank, int m) {
    List<Action> list = new ArrayList<>();
    for (int k = 0; k < m; k++) {
      list.add(act(rank, Kind.FORWARD, k));
    }
    for (int k = 0; k < m; k++) {
      list.add(act(rank, Kind.BACKWARD, k));
    }
    return list;
  }

  private static List<Action> oneFOneB(int p, int rank, int m) {
    int ahead = Math.min(m, p - 1 - rank);
    List<Action> list = new ArrayList<>();
    for (int k = 0; k < m + ahead; k++) {
      if (k < m) {
        list.add(act(rank, Kind.FORWARD, k));
      }
      if (k >= ahead) {
        list.add(act(rank, Kind.BACKWARD, k - ahead));
      }
    }
    return list;
  }

  /** Groups of {@code p} microbatches go through all stages of a rank, one stage after another. */
  private static List<Action> interleaved(int p, int rank, int m, int chunks) {
    int all = m * chunks;
    int ahead = Math.min(all, 2 * (p - 1 - rank) + (chunks - 1) * p);
    List<Action> list = new ArrayList<>();
    for (int i = 0; i < all + ahead; i++) {
      if (i < all) {
        list.add(turn(p, rank, chunks, i, Kind.FORWARD));
      }
      if (i >= ahead) {
        list.add(turn(p, rank, chunks, i - ahead, Kind.BACKWARD));
      }
    }
    return list;
  }

  private static Action turn(int p, int rank, int chunks, int i, Kind kind) {
    int round = p * chunks;
    int chunk = i % round / p;
    int own = kind == Kind.FORWARD ? chunk : chunks - 1 - chunk;
    return act(own * p + rank, kind, i / round * p + i % p);
  }

  /** 1F1B; rank {@code r} is {@code r} microbatches late with its weight gradients. */
  private static List<Action> zbH1(int p, int rank, int m) {
    int ahead = Math.min(m, p - 1 - rank);
    List<Action> list = new ArrayList<>();
    for (int k = 0; k < m + ahead; k++) {
      if (k < m) {
        list.add(act(rank, Kind.FORWARD, k));
      }
      if (k >= ahead) {
        list.add(act(rank, Kind.INPUT_GRADIENT, k - ahead));
        if (k - ahead >= rank) {
          list.add(act(rank, Kind.WEIGHT_GRADIENT, k - ahead - rank));
        }
      }
    }
    for (int k = Math.max(0, m - rank); k < m; k++) {
      list.add(act(rank, Kind.WEIGHT_GRADIENT, k));
    }
    return list;
  }

  /** Counts actions of one kind on one stage. */
  private static final class Counter {
    private final List<Action> list;
    private final int most;
    private final int[][] next = new int[2][Kind.values().length];
    private final int[] stage;

    Counter(List<Action> list, int most, int first, int second) {
      this.list = list;
      this.most = most;
      this.stage = new int[] {first, second};
    }

    /** The next microbatch of a stage, unless there is none left. */
    void add(int which, Kind kind) {
      int k = next[which][kind.ordinal()]++;
      if (k < most) {
        list.add(act(stage[which], kind, k));
      }
    }

    void addBoth(int which) {
      add(which, Kind.INPUT_GRADIENT);
      add(which, Kind.WEIGHT_GRADIENT);
    }

    int done(int which, Kind kind) {
      return next[which][kind.ordinal()];
    }
  }

  /**
   * Fills up with the first of the rank's stages, then with both in turn; goes on with a forward
   * and a whole backward pass of each in turn; drains with input gradients first. Fewer than {@code
   * 2 p - 1} microbatches are those of {@code 2 p - 1} without the rest.
   */
  private static List<Action> zbV(int p, int rank, int m) {
    int full = Math.max(m, 2 * p - 1);
    List<Action> list = new ArrayList<>();
    Counter c = new Counter(list, m, rank, 2 * p - 1 - rank);
    for (int i = 0; i < 2 * (p - rank) - 1; i++) {
      c.add(0, Kind.FORWARD);
    }
    for (int i = 0; i < rank; i++) {
      c.add(1, Kind.FORWARD);
      c.add(0, Kind.FORWARD);
    }
    for (int i = 0; i < p - rank; i++) {
      c.add(1, Kind.FORWARD);
      c.addBoth(1);
    }
    while (c.done(1, Kind.FORWARD) < full) {
      if (c.done(0, Kind.FORWARD) < full) {
        c.add(0, Kind.FORWARD);
      }
      c.addBoth(0);
      c.add(1, Kind.FORWARD);
      c.addBoth(1);
    }
    for (int i = 0; i < rank; i++) {
      c.add(0, Kind.INPUT_GRADIENT);
      c.add(1, Kind.INPUT_GRADIENT);
    }
    for (int i = 0; i < p - rank; i++) {
      c.add(0, Kind.INPUT_GRADIENT);
      c.add(0, Kind.WEIGHT_GRADIENT);
    }
    for (int which = 1; which >= 0; which--) {
      while (c.done(which, Kind.WEIGHT_GRADIENT) < full) {
        c.add(which, Kind.WEIGHT_GRADIENT);
      }
    }
    return list;
  }

  /**
   * A rank of DualPipe. {@code near} is the direction whose first stages are on the rank's half of
   * the pipeline, {@code far} the other.
   */
  private static final class Dual {
    private static final int NEAR = 0;
    private static final int FAR = 1;

    private final int p;
    private final int rank;
    private final int half; // microbatches of a direction
    private final int inner; // distance from the end of the pipeline
    private final int[] forwards = new int[2];
    private final int[] backwards = new int[2];
    private final List<Action> list = new ArrayList<>();
    private final List<Action> putOff = new ArrayList<>();

    Dual(int p, int rank, int m) {
      this.p = p;
      this.rank = rank;
      this.half = m / 2;
      this.inner = Math.min(rank, p - 1 - rank);
    }

    private Action next(int side, Kind kind, int count) {
      boolean upwards = (side == NEAR) == (rank < p / 2);
      int stage = upwards ? rank : 2 * p - 1 - rank;
      return act(stage, kind, upwards ? count : half + count);
    }

    private void forward(int side) {
      list.add(next(side, Kind.FORWARD, forwards[side]++));
    }

    private void backward(int side) {
      list.add(next(side, Kind.BACKWARD, backwards[side]++));
    }

    private void inputGradient(int side) {
      int k = backwards[side]++;
      list.add(next(side, Kind.INPUT_GRADIENT, k));
      putOff.add(next(side, Kind.WEIGHT_GRADIENT, k));
    }

    private void weightGradient() {
      list.add(putOff.removeFirst());
    }

    /** The order of the authors' program, in its eight steps. */
    List<Action> actions() {
      int outer = p / 2 - 1 - inner;
      repeat(2 * outer, i -> forward(NEAR));
      repeat(
          inner + 1,
          i -> {
            forward(NEAR);
            forward(FAR);
          });
      repeat(
          outer,
          i -> {
            inputGradient(FAR);
            weightGradient();
            forward(FAR);
          });
      repeat(
          half - p + inner + 1,
          i -> {
            forward(NEAR);
            backward(FAR);
            forward(FAR);
            backward(NEAR);
          });
      repeat(
          outer,
          i -> {
            backward(FAR);
            forward(FAR);
            backward(NEAR);
          });
      drain();
      repeat(
          outer,
          i -> {
            weightGradient();
            inputGradient(NEAR);
          });
      while (!putOff.isEmpty()) {
        weightGradient();
      }
      return list;
    }

    /** The later half of these puts weight gradients off. */
    private void drain() {
      int count = inner + 1;
      for (int i = 0; i < count; i++) {
        boolean far = i > count / 2 || (i == count / 2 && inner % 2 == 1);
        boolean near = i >= count / 2;
        end(FAR, far);
        end(NEAR, near);
      }
    }

    private void end(int side, boolean inParts) {
      if (inParts) {
        inputGradient(side);
      } else {
        backward(side);
      }
    }

    private interface Turn {
      void take(int i);
    }

    private static void repeat(int times, Turn turn) {
      for (int i = 0; i < times; i++) {
        turn.take(i);
      }
    }
  }
}
