package org.kernbench.device.reuse;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Which outcomes are kept, for which keys, and which of several is the likeliest. */
final class Outcomes {
  /** Different outcomes that are kept for one key. */
  private static final int MOST_OUTCOMES = 8;

  /** Operations that are kept in all, with about 40 bytes each. */
  private static final long MOST_ROWS = 8_000_000;

  /**
   * Of these, those of stretches that have not come again: more than AdamW takes for 128,256 rows
   * of 4,096 numbers on 128 PEs.
   */
  static final long MOST_ROWS_UNPROVEN = 5_000_000;

  /** So many stretches say what comes next: some come twice in a layer, with others after them. */
  private static final int HISTORY = 6;

  private final Map<Key, List<StretchOutcome>> known = new HashMap<>();

  /** All that are known. Nothing else may be remembered below: it would be kept for nobody. */
  private final Set<StretchOutcome> kept = new HashSet<>();

  /** What is being noted of stretches under way, by the key of the first launch. */
  private final Map<Key, StretchOutcome> coming = new HashMap<>();

  /** By the index of its first PE, the latest outcomes of stretches, the last of them last. */
  private final Map<Integer, List<StretchOutcome>> latest = new HashMap<>();

  /** What came after one of these, or after several, the last time. */
  private final Map<List<StretchOutcome>, StretchOutcome> next = new HashMap<>();

  /** Outcomes that have not been used again, and their keys, the oldest first. */
  private final SequencedMap<StretchOutcome, Key> unproven = new LinkedHashMap<>();

  /** Hashes of the keys that were seen before anything was noted of them. */
  private final Set<Integer> seen = new HashSet<>();

  private long unprovenRows;
  private long rows;

  /** Whether none of them has how its bytes moved. */
  private boolean withoutMoves;

  private final long mostRows;
  private final long mostRowsUnproven;

  Outcomes() {
    this(MOST_ROWS, MOST_ROWS_UNPROVEN);
  }

  /** With other limits, see {@link #MOST_ROWS} and {@link #MOST_ROWS_UNPROVEN}. */
  Outcomes(long mostRows, long mostRowsUnproven) {
    this.mostRows = mostRows;
    this.mostRowsUnproven = mostRowsUnproven;
  }

  /** Whether another may be noted: those that have come again leave room. */
  boolean hasRoom() {
    return rows - unprovenRows < mostRows;
  }

  /** Those of a key; the likeliest first for stretches that begin on that PE. */
  List<StretchOutcome> of(Key key, int pe) {
    List<StretchOutcome> outcomes = known.getOrDefault(key, List.of());
    List<StretchOutcome> before = latest.getOrDefault(pe, List.of());
    if (outcomes.size() < 2 || before.isEmpty()) {
      return outcomes;
    }
    StretchOutcome likeliest =
        next.getOrDefault(before, next.get(before.subList(before.size() - 1, before.size())));
    if (likeliest == null || !outcomes.contains(likeliest)) {
      return outcomes;
    }
    List<StretchOutcome> ordered = new ArrayList<>(outcomes);
    ordered.remove(likeliest);
    ordered.addFirst(likeliest);
    return ordered;
  }

  /** Whether a key is asked for that has not been before; by its hash, which does no harm. */
  boolean isFirst(Key key) {
    return seen.add(key.hashCode());
  }

  /** A stretch is noted from now on. */
  void isComing(Key key, StretchOutcome outcome) {
    coming.put(key, outcome);
  }

  /** It is noted no longer. */
  void hasCome(Key key, StretchOutcome outcome) {
    coming.remove(key, outcome);
  }

  /** What is being noted of a stretch under way that began with a key; null if there is none. */
  @Nullable StretchOutcome coming(Key key) {
    return coming.get(key);
  }

  /**
   * What came after what, in stretches that begin on a PE, for the next time; only of those that
   * are known still.
   */
  void follows(int pe, StretchOutcome outcome) {
    if (!kept.contains(outcome)) {
      latest.remove(pe);
      return;
    }
    List<StretchOutcome> before = latest.getOrDefault(pe, List.of());
    for (int first = 0; first < before.size(); first += Math.max(1, before.size() - 1)) {
      next.put(before.subList(first, before.size()), outcome);
    }
    List<StretchOutcome> now =
        new ArrayList<>(before.size() < HISTORY ? before : before.subList(1, HISTORY));
    now.add(outcome);
    latest.put(pe, List.copyOf(now));
  }

  /** An outcome is new: it may stand for others. */
  void keep(Key key, StretchOutcome outcome) {
    known.computeIfAbsent(key, k -> new ArrayList<>(1)).addFirst(outcome);
    kept.add(outcome);
    rows += outcome.rows.size();
    unproven.put(outcome, key);
    unprovenRows += outcome.rows.size();
    while (unprovenRows > mostRowsUnproven || (rows > mostRows && !unproven.isEmpty())) {
      Map.Entry<StretchOutcome, Key> oldest = unproven.firstEntry();
      isProven(oldest.getKey());
      forget(oldest.getValue(), oldest.getKey());
    }
    List<StretchOutcome> alike = known.getOrDefault(key, List.of());
    if (alike.size() > MOST_OUTCOMES) {
      StretchOutcome last = alike.getLast();
      isProven(last);
      forget(key, last);
    }
  }

  /** How bytes moved cannot be written again: the log lacks some. */
  void forgetMoves() {
    if (!withoutMoves) {
      withoutMoves = true;
      known.values().forEach(outcomes -> outcomes.forEach(o -> o.rows.forgetMoves()));
    }
  }

  /** It has been used again. */
  void isProven(StretchOutcome outcome) {
    if (unproven.remove(outcome) != null) {
      unprovenRows -= outcome.rows.size();
    }
  }

  /** Queues are there no more: what came of launches with them stands for none. */
  void forgetQueues(Object set) {
    List<Key> theirs = known.keySet().stream().filter(key -> key.isOf(set)).toList();
    for (Key key : theirs) {
      for (StretchOutcome outcome : List.copyOf(known.getOrDefault(key, List.of()))) {
        isProven(outcome);
        forget(key, outcome);
      }
      known.remove(key);
    }
  }

  private void forget(Key key, StretchOutcome outcome) {
    known.getOrDefault(key, List.of()).remove(outcome);
    kept.remove(outcome);
    rows -= outcome.rows.size();
    next.values().removeIf(o -> o == outcome);
    next.keySet().removeIf(before -> before.contains(outcome));
    latest.replaceAll((first, before) -> before.contains(outcome) ? List.of() : before);
  }
}
