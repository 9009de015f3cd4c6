package org.kernbench.ccl;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.ccl.Dataflow.Kind;
import org.kernbench.ccl.Dataflow.Part;
import org.kernbench.ccl.FlowSteps.Action;
import org.kernbench.ccl.FlowSteps.Verb;

/**
 * What can be shown of a {@link Dataflow} without running it.
 *
 * <p><b>Right.</b> Every part is followed as the set of ranks whose contributions it contains. Two
 * that are combined must have none in common, and what is stored must be what the operation asks
 * for, once for every rank and unit.
 *
 * <p><b>No deadlock.</b> Ranks take their actions in an order by steps in which all can be taken
 * one at a time, so with slots enough nobody waits for ever. How many are enough is counted by
 * letting the ranks run with few, each waiting where it must; messages do not overtake, and no rank
 * looks at who is first, so if one order of events ends all do (a Kahn network with bounded
 * channels). Machines whose commands overlap have more freedom than that, not less.
 */
final class FlowProof {
  private FlowProof() {}

  // ---- contributions ----

  /**
   * The ranks whose contributions are in each result: by rank and unit, null where none is stored.
   *
   * @throws IllegalStateException if a contribution would count twice, or a result is stored twice
   */
  static BitSet[][] results(Dataflow flow) {
    BitSet[][] in = new BitSet[flow.parts().size()][]; // by part and place among its units
    BitSet[][] results = new BitSet[flow.ranks()][flow.units()];
    for (Part p : flow.parts()) {
      in[p.id] =
          switch (p.kind) {
            case OWN -> filled(p.count, only(p.rank));
            case VIEW -> {
              int from = p.first - p.source().first;
              yield Arrays.copyOfRange(in[p.source().id], from, from + p.count);
            }
            case RECEIVED, FINISHED, STORED -> in[p.source().id];
            case JOINED ->
                p.from.stream().flatMap(s -> Arrays.stream(in[s.id])).toArray(BitSet[]::new);
            case COMBINED -> united(p, in[p.from.get(0).id], in[p.from.get(1).id]);
          };
      if (p.kind == Kind.STORED) {
        for (int unit = p.first; unit < p.end(); unit++) {
          if (results[p.rank][unit] != null) {
            throw new IllegalStateException(
                "unit "
                    + unit
                    + " is stored twice at rank "
                    + p.rank
                    + ", the second time by "
                    + p);
          }
          results[p.rank][unit] = in[p.id][unit - p.first];
        }
      }
    }
    return results;
  }

  private static BitSet[] filled(int count, BitSet each) {
    BitSet[] all = new BitSet[count];
    Arrays.fill(all, each);
    return all;
  }

  private static BitSet[] united(Part p, BitSet[] a, BitSet[] b) {
    BitSet[] both = new BitSet[p.count];
    for (int i = 0; i < both.length; i++) {
      if (i > 0 && a[i] == a[i - 1] && b[i] == b[i - 1]) {
        both[i] = both[i - 1];
        continue;
      }
      if (a[i].intersects(b[i])) {
        throw new IllegalStateException(p + " has contributions twice: " + a[i] + " and " + b[i]);
      }
      both[i] = (BitSet) a[i].clone();
      both[i].or(b[i]);
    }
    return both;
  }

  private static BitSet only(int rank) {
    BitSet one = new BitSet();
    one.set(rank);
    return one;
  }

  // ---- slots ----

  /**
   * The least slots per queue with which ranks that do one thing at a time come to the end.
   *
   * @param slotElements elements of a slot; a longer message takes several, one after the other
   */
  static int leastSlots(FlowSteps steps, FlowCut cut, FlowPace pace, long slotElements) {
    int slots = 1;
    while (!ends(steps, cut, pace, slotElements, slots)) {
      slots++;
    }
    return slots;
  }

  /** A rank's actions in the order it takes them, and how far it is. */
  private static final class Walk {
    final List<Action> actions = new ArrayList<>();
    final List<Integer> chunks = new ArrayList<>();
    int at;
  }

  /** One directed queue: messages on their way or in slots. */
  private static final class Queue {
    int sent;
    int taken;
    int used; // slots

    /** Slots that are still held by messages that were taken, in the order they were sent. */
    final ArrayDeque<Long> held = new ArrayDeque<>();
  }

  private static boolean ends(
      FlowSteps steps, FlowCut cut, FlowPace pace, long slotElements, int slots) {
    int ranks = steps.flow().ranks();
    Map<Long, Queue> queues = new HashMap<>();
    List<Walk> walks = new ArrayList<>();
    for (int rank = 0; rank < ranks; rank++) {
      Walk walk = new Walk();
      int r = rank;
      pace.forEach(
          steps.steps(),
          (chunk, step) -> {
            for (Action a : steps.at(r, step)) {
              if (cut.count(chunk, a.part().first, a.part().count) > 0) {
                walk.actions.add(a);
                walk.chunks.add(chunk);
              }
            }
          });
      walks.add(walk);
    }
    boolean moved = true;
    while (moved) {
      moved = false;
      for (Walk walk : walks) {
        while (walk.at < walk.actions.size()
            && take(
                walk.actions.get(walk.at),
                cut,
                walk.chunks.get(walk.at),
                queues,
                pace,
                slotElements,
                slots)) {
          walk.at++;
          moved = true;
        }
      }
    }
    return walks.stream().allMatch(w -> w.at == w.actions.size());
  }

  private static boolean take(
      Action a,
      FlowCut cut,
      int chunk,
      Map<Long, Queue> queues,
      FlowPace pace,
      long slotElements,
      int slots) {
    Part p = a.part();
    boolean done = true;
    if (a.verb() == Verb.SEND) {
      Queue q = queue(queues, p);
      if (q.used >= slots) {
        return false;
      }
      q.used++;
      q.sent++;
    } else if (a.verb() == Verb.RECEIVE) {
      Queue q = queue(queues, p);
      if (q.taken == q.sent) {
        return false;
      }
      q.taken++;
      boolean inPlace =
          a.inPlace() && !pace.copy() && cut.count(chunk, p.first, p.count) <= slotElements;
      if (!inPlace) {
        q.used--;
      } else {
        q.held.add(((long) chunk << 32) | p.id);
      }
    }
    for (Part dead : a.dead()) {
      if (dead.kind == Kind.RECEIVED) {
        Queue q = queue(queues, dead);
        if (q.held.remove(((long) chunk << 32) | dead.id)) {
          q.used--;
        }
      }
    }
    return done;
  }

  private static Queue queue(Map<Long, Queue> queues, Part received) {
    long key = ((long) received.source().rank << 32) | received.rank;
    return queues.computeIfAbsent(key, k -> new Queue());
  }
}
