package org.kernbench.nn.pipeline;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.pipeline.Action.Kind;

/**
 * Who does what in which order in one step of a pipeline: a list of actions for each rank. It is
 * data, checked when it is made: every stage has each of its microbatches forwards and backwards
 * once, and the ranks' orders together leave no rank waiting for itself.
 *
 * <p>A model of {@code depth} stages lies on the ranks in one chain, or in two with stages of their
 * own ({@code DualPipe}): stages {@code 0 .. depth - 1} are the first chain, {@code depth .. 2
 * depth - 1} the same parts of the model again. A microbatch goes through one chain.
 */
public final class PipelineSchedule {
  private final String name;
  private final int depth;
  private final int chains;
  private final List<List<Action>> ranks;
  private final List<Integer> rankOf;
  private final List<List<Integer>> microbatches = new ArrayList<>();

  private PipelineSchedule(String name, int chains, List<List<Action>> ranks) {
    this.name = name;
    this.chains = chains;
    this.ranks = ranks.stream().map(List::copyOf).toList();
    this.rankOf = new ScheduleCheck(name, this.ranks).stages();
    this.depth = rankOf.size() / chains;
    if (depth * chains != rankOf.size()) {
      throw LayoutException.argument(
          "schedule %s: %s stages in %s chains; expected as many in each"
              .formatted(name, rankOf.size(), chains));
    }
    for (int chain = 0; chain < chains; chain++) {
      TreeSet<Integer> own = new TreeSet<>();
      int first = chain * depth;
      for (Action a : this.ranks.get(rankOf.get(first))) {
        if (a.stage() == first && a.kind() == Kind.FORWARD) {
          own.add(a.microbatch());
        }
      }
      microbatches.add(List.copyOf(own));
    }
  }

  /**
   * A schedule of one chain.
   *
   * @param name for messages: a built-in name, or the file it comes from
   * @param ranks by rank, what it does in order; with all messages, or with none, which are then
   *     put where they are needed
   * @throws LayoutException naming the action that is missing, doubled or impossible, or the cycle
   *     of actions that wait for each other
   */
  public static PipelineSchedule of(String name, List<List<Action>> ranks) {
    return of(name, 1, ranks);
  }

  /**
   * A schedule of several chains.
   *
   * @param chains how often the model lies on the ranks, 1 or 2
   */
  public static PipelineSchedule of(String name, int chains, List<List<Action>> ranks) {
    PipelineSchedule bare = new PipelineSchedule(name, chains, ranks);
    boolean hasMessages = ranks.stream().flatMap(List::stream).anyMatch(a -> a.kind().isMessage());
    PipelineSchedule made =
        hasMessages ? bare : new PipelineSchedule(name, chains, bare.withMessages());
    new ScheduleCheck(name, made.ranks).check(made);
    return made;
  }

  /** For reports. */
  public String name() {
    return name;
  }

  /** Number of ranks. */
  public int ranks() {
    return ranks.size();
  }

  /** What a rank does, messages included, in order. */
  public List<Action> actions(int rank) {
    return ranks.get(rank);
  }

  /** What a rank computes, in order. */
  public List<Action> computed(int rank) {
    return ranks.get(rank).stream().filter(a -> !a.kind().isMessage()).toList();
  }

  /** Number of stages, those of all chains. */
  public int stages() {
    return rankOf.size();
  }

  /** Into how many stages the model is cut. */
  public int depth() {
    return depth;
  }

  /** How often the model lies on the ranks. */
  public int chains() {
    return chains;
  }

  /** The rank of a stage. */
  public int rankOf(int stage) {
    return rankOf.get(stage);
  }

  /** The stages of a rank, ascending. */
  public List<Integer> stagesOf(int rank) {
    List<Integer> own = new ArrayList<>();
    for (int stage = 0; stage < stages(); stage++) {
      if (rankOf(stage) == rank) {
        own.add(stage);
      }
    }
    return own;
  }

  /** Which part of the model a stage is, from 0. */
  public int part(int stage) {
    return stage % depth;
  }

  /** Whether a stage begins the model. */
  public boolean isFirst(int stage) {
    return part(stage) == 0;
  }

  /** Whether a stage ends the model. */
  public boolean isLast(int stage) {
    return part(stage) == depth - 1;
  }

  /** Microbatches of a step, of all chains together. */
  public int microbatches() {
    return microbatches.stream().mapToInt(List::size).sum();
  }

  /** Whether a stage and the next are on one rank, so that nothing is sent between them. */
  boolean staysAfter(int stage) {
    return rankOf(stage) == rankOf(stage + 1);
  }

  /**
   * The largest number of microbatches that a rank has been forwards with and not backwards, each
   * stage's counted.
   */
  public int held(int rank) {
    return peak(rank, Kind.FORWARD, true);
  }

  /** The largest number of microbatches whose weight gradients a rank has put off. */
  public int putOff(int rank) {
    return peak(rank, Kind.INPUT_GRADIENT, false);
  }

  private int peak(int rank, Kind begins, boolean endsByInput) {
    int now = 0;
    int most = 0;
    for (Action a : actions(rank)) {
      if (a.kind() == begins) {
        now++;
      } else if (endsByInput ? a.kind().givesInputGradient() : a.kind() == Kind.WEIGHT_GRADIENT) {
        now--;
      }
      most = Math.max(most, now);
    }
    return most;
  }

  /** What comes in is received just before it is needed, what goes out sent at once. */
  private List<List<Action>> withMessages() {
    List<List<Action>> all = new ArrayList<>();
    for (List<Action> own : ranks) {
      List<Action> list = new ArrayList<>();
      for (Action a : own) {
        int s = a.stage();
        int k = a.microbatch();
        boolean before = !isFirst(s) && !staysAfter(s - 1);
        boolean after = !isLast(s) && !staysAfter(s);
        if (a.kind() == Kind.FORWARD && before) {
          list.add(new Action(s, Kind.RECEIVE_ACTIVATION, k));
        }
        if (a.kind().givesInputGradient() && after) {
          list.add(new Action(s, Kind.RECEIVE_GRADIENT, k));
        }
        list.add(a);
        if (a.kind() == Kind.FORWARD && after) {
          list.add(new Action(s, Kind.SEND_ACTIVATION, k));
        }
        if (a.kind().givesInputGradient() && before) {
          list.add(new Action(s, Kind.SEND_GRADIENT, k));
        }
      }
      all.add(list);
    }
    return all;
  }

  /**
   * What must be done before an action of this schedule, on whatever rank, besides what comes
   * before it on its own.
   */
  public List<Action> needs(Action a) {
    int s = a.stage();
    int k = a.microbatch();
    List<Action> needs = new ArrayList<>();
    switch (a.kind()) {
      case FORWARD -> {
        if (!isFirst(s)) {
          needs.add(
              staysAfter(s - 1)
                  ? new Action(s - 1, Kind.FORWARD, k)
                  : new Action(s, Kind.RECEIVE_ACTIVATION, k));
        }
      }
      case BACKWARD, INPUT_GRADIENT -> {
        needs.add(new Action(s, Kind.FORWARD, k));
        if (!isLast(s)) {
          needs.add(
              staysAfter(s) ? inputGradient(s + 1, k) : new Action(s, Kind.RECEIVE_GRADIENT, k));
        }
      }
      case WEIGHT_GRADIENT -> needs.add(new Action(s, Kind.INPUT_GRADIENT, k));
      case SEND_ACTIVATION -> needs.add(new Action(s, Kind.FORWARD, k));
      case SEND_GRADIENT -> needs.add(inputGradient(s, k));
      case RECEIVE_ACTIVATION -> needs.add(new Action(s - 1, Kind.SEND_ACTIVATION, k));
      case RECEIVE_GRADIENT -> needs.add(new Action(s + 1, Kind.SEND_GRADIENT, k));
    }
    return needs;
  }

  /** The action that finds the gradient of a stage's input. */
  Action inputGradient(int stage, int microbatch) {
    Action whole = new Action(stage, Kind.BACKWARD, microbatch);
    return ranks.get(rankOf(stage)).contains(whole)
        ? whole
        : new Action(stage, Kind.INPUT_GRADIENT, microbatch);
  }

  @Override
  public String toString() {
    return "%s: %s stages on %s ranks, %s microbatches"
        .formatted(name, stages(), ranks(), microbatches());
  }
}
