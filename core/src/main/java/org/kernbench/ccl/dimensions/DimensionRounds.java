package org.kernbench.ccl.dimensions;

import org.jspecify.annotations.Nullable;
import org.kernbench.tensor.Shape;
import org.kernbench.tl.Tl;
import org.kernbench.tl.Value;

/**
 * What a rank does with one chunk along one dimension ({@link ByDimension}), in rounds: messages go
 * out, others come, and the end of those is waited for before the next go out.
 */
abstract class DimensionRounds {
  /** What a message takes to go so many places on along an axis, if it meets nobody. */
  interface Ways {
    long messagePs(int axis, int distance, long bytes);
  }

  final DimensionParts parts;
  final Tl tl;

  /** Which of the dimensions in use it is, its axis, its places, and this rank's. */
  final int i;

  final int axis;
  final int n;
  final int me;

  /** Of the queues that are free for this chunk. */
  final int lane;

  DimensionRounds(DimensionParts parts, int i, int lane) {
    this.parts = parts;
    this.tl = parts.tl();
    this.i = i;
    this.axis = parts.axis(i);
    this.n = parts.size(i);
    this.me = parts.place(i);
    this.lane = lane;
  }

  /** How many rounds there are. */
  abstract int count();

  /** Sends what goes out in a round. */
  abstract void send(int round);

  /** Waits for what comes in a round; how much of it is added to the own, or -1 if nothing came. */
  abstract int come(int round);

  /** Does with what has come what needs no waiting. */
  abstract void use(int round);

  /** After the last round. */
  void done() {}

  /** Bytes of a message of a round, the same for all ranks: for planning. Usually a segment. */
  long usualBytes(int round) {
    return parts.usualBytes(width());
  }

  /** Units in a segment, which is what one place has once the chunk is scattered here. */
  final int width() {
    return parts.width(i + 1);
  }

  /** Where the segment of a place begins, or of one as many places round the ring. */
  final int segment(int place) {
    return parts.first(i) + Math.floorMod(place, n) * width();
  }

  /** Whether what comes is added to the own. */
  boolean reduces() {
    return false;
  }

  /** Whether the end of what comes is waited for before the next round. */
  boolean hasEnd() {
    return true;
  }

  /** From when a round's messages go out until they have come, as planned. */
  long usualPs(int round, Ways ways) {
    long ps = 0;
    for (int distance : distances(round)) {
      ps = Math.max(ps, ways.messagePs(axis, distance, usualBytes(round)));
    }
    return ps;
  }

  /** How many places on the messages of a round go: each way, up to half the places. */
  int[] distances(int round) {
    return new int[] {1};
  }

  final String next() {
    return DimensionQueues.next(axis, lane);
  }

  final String previous() {
    return DimensionQueues.previous(axis, lane);
  }

  final String peer(int place) {
    return DimensionQueues.peer(axis, place - me, n, lane);
  }

  final void send(String to, @Nullable Value value) {
    if (value != null) {
      tl.send(to, value);
    }
  }

  final @Nullable Value receive(String from, int elements) {
    return elements == 0 ? null : tl.recv(from, Shape.of(elements), parts.call().dtype());
  }

  /** Waits for a message, if one comes; what {@link #come} says of it. */
  final int await(@Nullable Value value) {
    if (value == null) {
      return -1;
    }
    tl.await(value);
    return reduces() ? value.elements() : 0;
  }

  /** How far the messages go of one that sends to all others. */
  final int[] allDistances() {
    int[] all = new int[n - 1];
    for (int d = 1; d < n; d++) {
      all[d - 1] = d;
    }
    return all;
  }
}
