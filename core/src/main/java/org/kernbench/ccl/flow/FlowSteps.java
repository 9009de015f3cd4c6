package org.kernbench.ccl.flow;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.ccl.Group;
import org.kernbench.ccl.Wiring;
import org.kernbench.ccl.flow.Dataflow.Kind;
import org.kernbench.ccl.flow.Dataflow.Part;
import org.kernbench.device.QueuePlan;

/**
 * A {@link Dataflow} as what each rank does with a chunk, in order: by step, within a step first
 * what most messages still have to follow, then as drawn. So a message on the longest way never
 * waits behind another of its step, and both ends of a queue agree on the order. A contribution is
 * read just before its first use, and a part is given up right after its last.
 *
 * <p>Every order of all ranks' actions by step is one in which they can be done one at a time:
 * whatever an action needs has a lower step, or the same and was drawn before.
 */
final class FlowSteps {
  /** What a rank does. */
  enum Verb {
    READ,
    SEND,
    RECEIVE,
    COMBINE,
    FINISH,
    STORE,
    JOIN
  }

  /**
   * One action of one rank.
   *
   * @param part what comes of it; of a send, the part at the other rank
   * @param step when
   * @param inPlace of a receive: whether the part may stay in its slot, since it is given up in the
   *     same step
   * @param dead the parts that are given up right after
   */
  record Action(Verb verb, int rank, Part part, int step, boolean inPlace, List<Part> dead) {}

  private final Dataflow flow;
  private final List<Action> all;
  private final int steps;

  /** By rank and step, its actions; and by step those of all. */
  private final List<List<List<Action>>> byRank = new ArrayList<>();

  private final Action[][] byStep;

  FlowSteps(Dataflow flow) {
    this.flow = flow;
    List<Draft> drafts = drafts(flow);
    this.all = finished(drafts);
    this.steps = all.isEmpty() ? 0 : all.get(all.size() - 1).step() + 1;
    for (int rank = 0; rank < flow.ranks(); rank++) {
      List<List<Action>> ofRank = new ArrayList<>();
      for (int step = 0; step < steps; step++) {
        ofRank.add(new ArrayList<>());
      }
      byRank.add(ofRank);
    }
    int[] many = new int[steps];
    all.forEach(a -> many[a.step()]++);
    byStep = new Action[steps][];
    Arrays.setAll(byStep, step -> new Action[many[step]]);
    Arrays.fill(many, 0);
    for (Action a : all) {
      byStep[a.step()][many[a.step()]++] = a;
      byRank.get(a.rank()).get(a.step()).add(a);
    }
  }

  Dataflow flow() {
    return flow;
  }

  /** The actions of all ranks, in an order in which they can be done one at a time. */
  List<Action> all() {
    return all;
  }

  /** One more than the last step. */
  int steps() {
    return steps;
  }

  /** What all ranks do at a step, in an order in which it can be done one at a time. */
  Action[] atStep(int step) {
    return byStep[step];
  }

  /** What a rank does at a step. */
  List<Action> at(int rank, int step) {
    return byRank.get(rank).get(step);
  }

  /** The queues that messages need: one for each pair of ranks, both ways. */
  List<QueuePlan.Connection> connections(Group group) {
    return connections(flow, group);
  }

  /** The queues that messages need, from the drawing alone. */
  static List<QueuePlan.Connection> connections(Dataflow flow, Group group) {
    Wiring wiring = new Wiring(group);
    Map<Long, Boolean> known = new LinkedHashMap<>();
    for (Part p : flow.parts()) {
      if (p.kind == Kind.RECEIVED) {
        int a = Math.min(p.rank, p.source().rank);
        int b = Math.max(p.rank, p.source().rank);
        if (known.put(((long) a << 32) | b, true) == null) {
          wiring.join(a, direction(b), b, direction(a));
        }
      }
    }
    return wiring.connections();
  }

  /** A rank's name for its queue to another. */
  static String direction(int peer) {
    return "r" + peer;
  }

  // ---- making the order ----

  /**
   * An action before it is known what dies of it.
   *
   * @param rest messages that follow it, one after the other
   */
  private record Draft(
      Verb verb, int rank, Part part, int step, int rest, int order, List<Part> uses) {
    static final Comparator<Draft> ORDER =
        Comparator.comparingInt(Draft::step)
            .thenComparing(Comparator.comparingInt(Draft::rest).reversed())
            .thenComparingInt(Draft::order);
  }

  private static List<Draft> drafts(Dataflow flow) {
    int[] rest = rest(flow);
    List<Draft> drafts = new ArrayList<>();
    for (Part p : flow.parts()) {
      int after = rest[p.id];
      int order = 2 * p.id + 1;
      switch (p.kind) {
        case OWN, VIEW -> {}
        case RECEIVED -> {
          int from = p.source().rank;
          drafts.add(new Draft(Verb.SEND, from, p, p.sentStep, after + 1, order, p.from));
          drafts.add(new Draft(Verb.RECEIVE, p.rank, p, p.step, after, order, List.of()));
        }
        case COMBINED ->
            drafts.add(new Draft(Verb.COMBINE, p.rank, p, p.step, after, order, p.from));
        case FINISHED ->
            drafts.add(new Draft(Verb.FINISH, p.rank, p, p.step, after, order, List.of()));
        case STORED -> drafts.add(new Draft(Verb.STORE, p.rank, p, p.step, after, order, p.from));
        case JOINED -> drafts.add(new Draft(Verb.JOIN, p.rank, p, p.step, after, order, List.of()));
      }
    }
    addReads(flow, drafts);
    drafts.sort(Draft.ORDER);
    return drafts;
  }

  /** By part, the most messages that follow it, one after the other. */
  private static int[] rest(Dataflow flow) {
    int[] rest = new int[flow.parts().size()];
    for (int id = rest.length - 1; id >= 0; id--) {
      Part p = flow.parts().get(id);
      int through = rest[id] + (p.kind == Kind.RECEIVED ? 1 : 0);
      for (Part from : p.from) {
        rest[from.id] = Math.max(rest[from.id], through);
      }
    }
    return rest;
  }

  /** A contribution is read right before what uses it first. */
  private static void addReads(Dataflow flow, List<Draft> drafts) {
    Draft[] first = new Draft[flow.parts().size()];
    for (Draft d : drafts) {
      for (Part used : d.uses()) {
        Draft known = first[used.id];
        if (used.kind == Kind.OWN && (known == null || Draft.ORDER.compare(d, known) < 0)) {
          first[used.id] = d;
        }
      }
    }
    for (Part p : flow.parts()) {
      Draft user = first[p.id];
      if (user != null) {
        drafts.add(
            new Draft(Verb.READ, p.rank, p, user.step(), user.rest(), user.order() - 1, List.of()));
      }
    }
  }

  private static List<Action> finished(List<Draft> drafts) {
    int most = 0;
    for (Draft d : drafts) {
      most = Math.max(most, d.part().id + 1);
    }
    int[] lastUse = new int[most]; // of a root: one more than the place of its last use
    boolean[] handedOn = new boolean[most]; // to the part that it finishes as
    for (int at = 0; at < drafts.size(); at++) {
      Draft d = drafts.get(at);
      for (Part used : d.uses()) {
        lastUse[used.root().id] = at + 1;
      }
      if (d.verb() == Verb.FINISH) {
        handedOn[d.part().source().id] = true;
      }
    }
    Action[] actions = new Action[drafts.size()];
    for (int at = 0; at < actions.length; at++) {
      Draft d = drafts.get(at);
      List<Part> dead = new ArrayList<>(2);
      for (Part used : d.uses()) {
        Part root = used.root();
        if (lastUse[root.id] == at + 1 && !handedOn[root.id] && !dead.contains(root)) {
          dead.add(root);
        }
      }
      int last = lastUse[d.part().id];
      boolean inPlace =
          d.verb() == Verb.RECEIVE && last > 0 && drafts.get(last - 1).step() == d.step();
      actions[at] = new Action(d.verb(), d.rank(), d.part(), d.step(), inPlace, List.copyOf(dead));
    }
    return List.copyOf(Arrays.asList(actions));
  }
}
