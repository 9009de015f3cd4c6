package org.kernbench.ccl.flow;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.kernbench.ccl.CollectiveException;

/**
 * What a collective does with one chunk of its vector, seen from above: which rank sends what to
 * whom, and where contributions are combined. An algorithm draws the picture with a few words,
 *
 * <pre>
 *   Part x = flow.own(0, unit);           // rank 0's contribution
 *   x = flow.move(x, 1);                  // is sent to rank 1
 *   x = flow.combine(x, flow.own(1, unit));
 *   flow.store(flow.finish(x));           // which has the result
 * </pre>
 *
 * and everything else follows from it: the commands of each rank ({@link FlowSteps}, {@link
 * FlowKernel}), the queues, the bytes on the wire, a forecast of the time ({@link FlowForecast}), a
 * proof that every rank gets every contribution once, and the least number of slots ({@link
 * FlowProof}).
 *
 * <p>A chunk consists of <em>units</em>, numbered in the order in which they lie in memory. A
 * {@linkplain Part part} is a run of units at one rank, in one state of the reduction. It has a
 * <em>step</em>: the number of messages, one after the other, that it takes to be there. Ranks do
 * things in the order of their steps, and within a step in the order in which they were drawn.
 */
public final class Dataflow {
  /** How a part comes about. */
  enum Kind {
    /** The rank's contribution, in its memory. */
    OWN,
    /** Some units of a larger part. */
    VIEW,
    /** What was another rank's part. */
    RECEIVED,
    /** Two parts of the same units, reduced. */
    COMBINED,
    /** All contributions reduced, and what is left to do for an average. */
    FINISHED,
    /** A result in its place in memory; no part to do anything with but to join. */
    STORED,
    /** Adjoining results, read back from memory as one part. */
    JOINED
  }

  /** A run of units at a rank. */
  public static final class Part {
    final int id;
    final Kind kind;
    public final int rank;
    final int first;
    final int count;
    final int step;

    /** For a part that is received: the step at which it is sent. */
    final int sentStep;

    /** What it is made of. */
    final List<Part> from;

    /** Number among the parts of its rank. */
    final int local;

    private Part(
        int id,
        Kind kind,
        int rank,
        int first,
        int count,
        int step,
        int sentStep,
        List<Part> from,
        int local) {
      this.id = id;
      this.kind = kind;
      this.rank = rank;
      this.first = first;
      this.count = count;
      this.step = step;
      this.sentStep = sentStep;
      this.from = from;
      this.local = local;
    }

    private boolean isLike(Part other) {
      if (kind != other.kind
          || rank != other.rank
          || first != other.first
          || count != other.count
          || step != other.step
          || sentStep != other.sentStep
          || from.size() != other.from.size()) {
        return false;
      }
      for (int i = 0; i < from.size(); i++) {
        if (from.get(i).id != other.from.get(i).id) {
          return false;
        }
      }
      return true;
    }

    /** One past the last unit. */
    int end() {
      return first + count;
    }

    /** The only, or first, part that it is made of. */
    Part source() {
      return from.get(0);
    }

    /** The part whose storage it is in. */
    Part root() {
      return kind == Kind.VIEW ? source() : this;
    }

    @Override
    public String toString() {
      return kind + " " + id + " of units " + first + ".." + (end() - 1) + " at rank " + rank;
    }
  }

  /** More than any machine of some hundred ranks needs, and less than fills a memory. */
  public static final int MOST_PARTS = 2_000_000;

  private final int ranks;
  private final int[] localCount;
  private final List<Integer> weights = new ArrayList<>();
  private final List<Part> parts = new ArrayList<>();

  /**
   * An empty picture.
   *
   * @param ranks at least 1
   */
  public Dataflow(int ranks) {
    this.ranks = ranks;
    this.localCount = new int[ranks];
  }

  int ranks() {
    return ranks;
  }

  /** Number of units. */
  int units() {
    return weights.size();
  }

  /** By unit, its share of a chunk. */
  List<Integer> weights() {
    return Collections.unmodifiableList(weights);
  }

  List<Part> parts() {
    return Collections.unmodifiableList(parts);
  }

  /** Whether the other is the same drawing, part by part. */
  boolean isLike(Dataflow other) {
    if (ranks != other.ranks
        || parts.size() != other.parts.size()
        || !weights.equals(other.weights)) {
      return false;
    }
    for (int id = 0; id < parts.size(); id++) {
      if (!parts.get(id).isLike(other.parts.get(id))) {
        return false;
      }
    }
    return true;
  }

  /** Number of parts at a rank. */
  int partsAt(int rank) {
    return localCount[rank];
  }

  /**
   * Adds units behind those there are.
   *
   * @param weight share of each in a chunk, relative to others
   * @return the first of them
   */
  public int addUnits(int count, int weight) {
    int first = weights.size();
    weights.addAll(Collections.nCopies(count, weight));
    return first;
  }

  private Part add(Kind kind, int rank, int first, int count, int step, int sent, List<Part> from) {
    if (count < 1 || first < 0 || first + count > units()) {
      throw new IllegalArgumentException(
          "units " + first + " to " + (first + count - 1) + " of " + units());
    }
    if (parts.size() == MOST_PARTS) {
      throw new CollectiveException(
          """
          this algorithm has too many messages for %s ranks: more than %s steps of its \
          ranks for one chunk; use ring, or one of several levels\
          """
              .formatted(ranks, MOST_PARTS));
    }
    Part part =
        new Part(parts.size(), kind, rank, first, count, step, sent, from, localCount[rank]++);
    parts.add(part);
    return part;
  }

  /** A rank's contribution to some units. */
  public Part own(int rank, int first, int count) {
    return add(Kind.OWN, rank, first, count, 0, 0, List.of());
  }

  /** Some units of a part. */
  Part slice(Part part, int first, int count) {
    if (first < part.first || first + count > part.end()) {
      throw new IllegalArgumentException("no units " + first + " +" + count + " in " + part);
    }
    if (first == part.first && count == part.count) {
      return part;
    }
    return part.kind == Kind.OWN
        ? own(part.rank, first, count)
        : add(Kind.VIEW, part.rank, first, count, part.step, 0, List.of(part.root()));
  }

  /** Sends a part to another rank. */
  public Part move(Part part, int to) {
    return move(part, to, 0);
  }

  /**
   * Sends a part to another rank.
   *
   * @param earliest step before which it is not sent, to leave the first to others
   */
  public Part move(Part part, int to, int earliest) {
    if (part.rank == to) {
      throw new IllegalArgumentException(part + " is sent to its own rank");
    }
    int sent = Math.max(part.step, earliest);
    return add(Kind.RECEIVED, to, part.first, part.count, sent + 1, sent, List.of(part));
  }

  /** Two contributions, or sums of some, to the same units at the same rank, combined. */
  public Part combine(Part a, Part b) {
    if (a.rank != b.rank || a.first != b.first || a.count != b.count) {
      throw new IllegalArgumentException(a + " cannot be combined with " + b);
    }
    return add(Kind.COMBINED, a.rank, a.first, a.count, Math.max(a.step, b.step), 0, List.of(a, b));
  }

  /** A sum of all contributions as a result; the sum itself is not used again. */
  public Part finish(Part all) {
    if (all.kind != Kind.COMBINED) {
      throw new IllegalArgumentException(all + " is finished; expected one that was combined");
    }
    return add(Kind.FINISHED, all.rank, all.first, all.count, all.step, 0, List.of(all));
  }

  /** Puts a result in its place in the rank's memory. */
  public Part store(Part result) {
    return add(
        Kind.STORED, result.rank, result.first, result.count, result.step, 0, List.of(result));
  }

  /**
   * Adjoining results of a rank as one part, so that one message can carry them: read back from
   * where they were stored, which costs a store and a load.
   */
  Part join(List<Part> stored) {
    Part head = stored.get(0);
    int end = head.first;
    int step = 0;
    for (Part p : stored) {
      if (p.kind != Kind.STORED || p.rank != head.rank || p.first != end) {
        throw new IllegalArgumentException(p + " does not adjoin what comes before");
      }
      end = p.end();
      step = Math.max(step, p.step);
    }
    return add(Kind.JOINED, head.rank, head.first, end - head.first, step, 0, List.copyOf(stored));
  }
}
