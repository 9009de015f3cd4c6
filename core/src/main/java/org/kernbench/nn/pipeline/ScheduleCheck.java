package org.kernbench.nn.pipeline;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.kernbench.nn.parallel.LayoutException;
import org.kernbench.nn.pipeline.Action.Kind;

/**
 * Says what is wrong with lists of actions before anything runs: an action that is missing, doubled
 * or on the wrong rank, a message without its other end, and orders that deadlock.
 */
final class ScheduleCheck {
  private final String name;
  private final List<List<Action>> ranks;
  private final Map<Action, Place> places = new HashMap<>();

  /** Where an action stands, both from 0. */
  private record Place(int rank, int at) {
    @Override
    public String toString() {
      return "rank " + rank + ", action " + (at + 1);
    }
  }

  ScheduleCheck(String name, List<List<Action>> ranks) {
    this.name = name;
    this.ranks = ranks;
    for (int r = 0; r < ranks.size(); r++) {
      for (int i = 0; i < ranks.get(r).size(); i++) {
        Action a = ranks.get(r).get(i);
        Place here = new Place(r, i);
        Place other = places.put(a, here);
        if (other != null) {
          throw wrong("%s is there twice: %s, and %s; expected it once", a, other, here);
        }
      }
    }
    if (places.isEmpty()) {
      throw wrong("no actions; expected e.g. 0F0 and 0B0 for rank 0");
    }
  }

  private LayoutException wrong(String what, Object... values) {
    return LayoutException.argument("schedule " + name + ": " + what.formatted(values));
  }

  /** By stage, its rank. */
  List<Integer> stages() {
    TreeMap<Integer, Integer> rankOf = new TreeMap<>();
    for (int r = 0; r < ranks.size(); r++) {
      for (Action a : ranks.get(r)) {
        Integer other = rankOf.putIfAbsent(a.stage(), r);
        if (other != null && other != r) {
          throw wrong(
              "stage %s is on rank %s, and %s on rank %s; expected one rank for a stage",
              a.stage(), other, a, r);
        }
      }
    }
    int count = rankOf.lastKey() + 1;
    for (int stage = 0; stage < count; stage++) {
      if (!rankOf.containsKey(stage)) {
        throw wrong(
            "stage %s does nothing; expected actions for each of stages 0 to %s", stage, count - 1);
      }
    }
    return List.copyOf(rankOf.values());
  }

  void check(PipelineSchedule s) {
    for (int stage = 0; stage < s.stages(); stage++) {
      each(s, stage);
    }
    for (Action a : places.keySet().stream().sorted(this::byPlace).toList()) {
      message(s, a);
      for (Action need : s.needs(a)) {
        if (!places.containsKey(need)) {
          throw wrong("%s (%s) needs %s, which is missing", a, place(a), need);
        }
      }
    }
    order(s);
  }

  private int byPlace(Action a, Action b) {
    Place p = place(a);
    Place q = place(b);
    return p.rank != q.rank ? Integer.compare(p.rank, q.rank) : Integer.compare(p.at, q.at);
  }

  private Place place(Action a) {
    Place place = places.get(a);
    if (place == null) {
      throw new IllegalStateException("bug: " + a + " has no place");
    }
    return place;
  }

  private boolean has(int stage, Kind kind, int microbatch) {
    return places.containsKey(new Action(stage, kind, microbatch));
  }

  /** Every microbatch of a stage goes forwards and backwards once. */
  private void each(PipelineSchedule s, int stage) {
    Set<Integer> all = new TreeSet<>();
    for (Action a : places.keySet()) {
      if (a.stage() / s.depth() == stage / s.depth()) {
        all.add(a.microbatch());
      }
    }
    for (int k : all) {
      boolean b = has(stage, Kind.BACKWARD, k);
      boolean i = has(stage, Kind.INPUT_GRADIENT, k);
      boolean w = has(stage, Kind.WEIGHT_GRADIENT, k);
      if (!has(stage, Kind.FORWARD, k)) {
        throw wrong("%s is missing on rank %s", stage + "F" + k, s.rankOf(stage));
      }
      if (b && (i || w)) {
        throw wrong(
            "stage %s goes backwards twice with microbatch %s: B, and %s; expected B, or I and W",
            stage, k, i ? "I" : "W");
      }
      if (!b && !(i && w)) {
        throw wrong(
            "%s is missing on rank %s",
            stage + (i ? "W" + k : w ? "I" + k : "B" + k + " (or I and W)"), s.rankOf(stage));
      }
    }
  }

  /** Messages go between neighbours on other ranks, and have two ends. */
  private void message(PipelineSchedule s, Action a) {
    if (!a.kind().isMessage()) {
      return;
    }
    boolean forNext = a.kind() == Kind.SEND_ACTIVATION || a.kind() == Kind.RECEIVE_GRADIENT;
    int stage = a.stage();
    if (forNext ? s.isLast(stage) : s.isFirst(stage)) {
      throw wrong(
          "%s (%s): stage %s has no stage %s it", a, place(a), stage, forNext ? "after" : "before");
    }
    if (s.staysAfter(forNext ? stage : stage - 1)) {
      throw wrong(
          "%s (%s): both stages are on rank %s; leave the message out",
          a, place(a), s.rankOf(stage));
    }
    Action other =
        switch (a.kind()) {
          case SEND_ACTIVATION -> new Action(stage + 1, Kind.RECEIVE_ACTIVATION, a.microbatch());
          case RECEIVE_ACTIVATION -> new Action(stage - 1, Kind.SEND_ACTIVATION, a.microbatch());
          case SEND_GRADIENT -> new Action(stage - 1, Kind.RECEIVE_GRADIENT, a.microbatch());
          case RECEIVE_GRADIENT -> new Action(stage + 1, Kind.SEND_GRADIENT, a.microbatch());
          case FORWARD, BACKWARD, INPUT_GRADIENT, WEIGHT_GRADIENT ->
              throw new IllegalStateException("bug: no message");
        };
    if (!places.containsKey(other)) {
      throw wrong("%s (%s) has no other end; expected %s on the other rank", a, place(a), other);
    }
  }

  /** Takes away what can be done until nothing is left, or a cycle. */
  private void order(PipelineSchedule s) {
    int[] done = new int[ranks.size()];
    Set<Action> finished = new HashSet<>();
    boolean moved = true;
    while (moved) {
      moved = false;
      for (int r = 0; r < done.length; r++) {
        List<Action> own = ranks.get(r);
        while (done[r] < own.size() && finished.containsAll(s.needs(own.get(done[r])))) {
          finished.add(own.get(done[r]++));
          moved = true;
        }
      }
    }
    for (int r = 0; r < done.length; r++) {
      if (done[r] < ranks.get(r).size()) {
        throw wrong("deadlock: %s", cycle(s, done, finished, r));
      }
    }
  }

  /**
   * From a rank that cannot go on, from each to the one that it waits for, until one comes back.
   */
  private String cycle(PipelineSchedule s, int[] done, Set<Action> finished, int stuck) {
    int[] seenAt = new int[done.length];
    Arrays.fill(seenAt, -1);
    List<Action> heads = new ArrayList<>();
    List<Action> waited = new ArrayList<>();
    int r = stuck;
    while (seenAt[r] < 0) {
      seenAt[r] = heads.size();
      Action head = ranks.get(r).get(done[r]);
      Action need = head;
      for (Action n : s.needs(head)) {
        need = finished.contains(n) ? need : n;
      }
      heads.add(head);
      waited.add(need);
      r = place(need).rank;
    }
    StringBuilder text = new StringBuilder();
    for (int i = seenAt[r]; i < heads.size(); i++) {
      Action next = i + 1 < heads.size() ? heads.get(i + 1) : heads.get(seenAt[r]);
      text.append(
          "%s%s (%s) waits for %s, which comes after %s"
              .formatted(
                  text.isEmpty() ? "" : "; ",
                  heads.get(i),
                  place(heads.get(i)),
                  waited.get(i),
                  next));
    }
    return text.toString();
  }
}
