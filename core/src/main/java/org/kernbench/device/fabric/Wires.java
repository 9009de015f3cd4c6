package org.kernbench.device.fabric;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Symmetry;
import org.kernbench.machine.spec.LinkSpec;
import org.kernbench.sim.Rate;

/**
 * The links of a {@link Fabric}: what they are like, and a record of eight longs for each that says
 * until when it is taken and what has passed. Packages that run apart share them; each record is
 * the business of one partition.
 */
final class Wires {
  static final int SHIFT = 3;
  static final int FREE_PS = 0;
  static final int LATENCY_PS = 1;
  static final int CHUNK_PS = 2;
  static final int BUSY_PS = 3;
  static final int BYTES = 4;
  static final int LAST_WHO = 5; // its transfer, see Ties
  private static final int LAST_SIZE = 6; // of a chunk that is not full: they come in runs
  private static final int LAST_SIZE_PS = 7;

  /** Instead of a feeder: the port of a banked memory. */
  static final int BANKED = -2;

  /** When a link is free that somebody has to itself, see {@link #takeAll}. */
  static final long TAKEN = Long.MAX_VALUE / 2;

  final int chunkBytes;
  final int chunkBytesShift;
  final Rate[] rates;

  /** By link id, its record. */
  final long[] records;

  /**
   * By link id, the only link from which it can be entered; -1 if there are several, or a source.
   * Apart from the records, because it is asked for before the link is entered, which is an event
   * later as a rule: so that takes no line of the cache that is not needed yet.
   */
  final int[] feeders;

  /** By link id, whether a chunk goes on from it only when all of it has arrived. */
  final boolean[] stored;

  /** By link id, whether chunks pass each other on it. */
  final boolean[] passing;

  /** By link id, what passes before the first chunk of a transfer; empty if nothing does. */
  private final long[] messagePs;

  private final Map<Integer, Long> takenFreePs = new HashMap<>();

  /**
   * Links given as a table.
   *
   * @param chunkBytes a power of two
   * @param rates by link id
   * @param latenciesPs by link id, as many as rates
   * @param feeders by link id: the only link from which it can be entered, -1 if there may be
   *     others
   */
  Wires(long chunkBytes, Rate[] rates, long[] latenciesPs, int[] feeders) {
    this(
        chunkBytes,
        rates,
        latenciesPs,
        feeders,
        new boolean[rates.length],
        new boolean[rates.length],
        new long[0]);
  }

  private Wires(
      long chunkBytes,
      Rate[] rates,
      long[] latenciesPs,
      int[] feeders,
      boolean[] stored,
      boolean[] passing,
      long[] messagePs) {
    this.chunkBytes = Math.toIntExact(chunkBytes);
    this.chunkBytesShift = Long.numberOfTrailingZeros(chunkBytes);
    this.rates = rates.clone();
    this.records = new long[rates.length << SHIFT];
    this.feeders = feeders.clone();
    this.stored = stored;
    this.passing = passing;
    this.messagePs = messagePs;
    for (int i = 0; i < rates.length; i++) {
      int at = i << SHIFT;
      records[at + LATENCY_PS] = latenciesPs[i];
      records[at + CHUNK_PS] = rates[i].durationPs(chunkBytes);
    }
  }

  /**
   * The links of a machine.
   *
   * @param folded the shifts by which packages are folded, so that those of one serve for all; null
   *     for all links
   */
  static Wires of(Machine machine, @Nullable Symmetry folded) {
    int n = folded == null ? machine.linkCount() : folded.classes();
    Rate[] rates = new Rate[n];
    long[] latenciesPs = new long[n];
    boolean[] stored = new boolean[n];
    boolean[] passing = new boolean[n];
    long[] messagePs = new long[n];
    for (int i = 0; i < n; i++) {
      int named = folded == null ? i : folded.linkOf(i);
      LinkSpec link = machine.specOf(named);
      rates[i] = link.rate();
      latenciesPs[i] = link.latencyPs();
      stored[i] = machine.isStored(named);
      passing[i] = machine.isUncontended(named);
      messagePs[i] = machine.messagePs(named);
    }
    return new Wires(
        machine.fabric().chunkBytes(),
        rates,
        latenciesPs,
        folded == null ? machine.soleFeeders() : folded.soleFeeders(),
        stored,
        passing,
        Arrays.stream(messagePs).anyMatch(ps -> ps > 0) ? messagePs : new long[0]);
  }

  /** Ports of memories with banks are entered through the memory, which offers to what follows. */
  void leaveToMemories(HbmSlices slices) {
    int[] given = feeders.clone();
    for (int i = 0; i < feeders.length; i++) {
      if (slices.isPort(i)) {
        feeders[i] = BANKED;
      } else if (given[i] >= 0 && slices.isPort(given[i])) {
        feeders[i] = -1;
      }
    }
  }

  /** Whether a link is entered from {@code from} only, so that its times follow from there. */
  boolean isFed(int link, int from) {
    final int feeder = feeders[link];
    if (feeder >= 0 && feeder != from) {
      throw new IllegalStateException(
          "bug: link " + link + " is entered from " + from + ", its only feeder is " + feeder);
    }
    return feeder == from;
  }

  /** What a link does before a chunk of a transfer enters it. */
  long messagePs(int link, long chunk) {
    return chunk == 0 && messagePs.length > 0 ? messagePs[link] : 0;
  }

  /** What a chunk that is not full takes on a link. */
  long partPs(int link, long size) {
    final int at = link << SHIFT;
    if (records[at + LAST_SIZE] != size) {
      records[at + LAST_SIZE] = size;
      records[at + LAST_SIZE_PS] = rates[link].durationPs(size);
    }
    return records[at + LAST_SIZE_PS];
  }

  /** How long a link has been taken, in picoseconds, up to the last reservation. */
  long busyPs(int link) {
    return records[(link << SHIFT) + BUSY_PS];
  }

  /** Bytes that have entered a link. */
  long bytesOn(int link) {
    return records[(link << SHIFT) + BYTES];
  }

  // ---- links that somebody has to itself for a while ----

  /** Whether all of these links are free from a time on, and nobody has them to itself. */
  boolean areFree(int[] some, long nowPs) {
    for (int link : some) {
      if (records[(link << SHIFT) + FREE_PS] > nowPs) {
        return false;
      }
    }
    return true;
  }

  /** From now on nobody else can enter these links unnoticed; they are free. */
  void takeAll(int[] some) {
    for (int link : some) {
      int at = (link << SHIFT) + FREE_PS;
      takenFreePs.put(link, records[at]);
      records[at] = TAKEN;
    }
  }

  /** Gives them back, as they were. */
  void giveBack(int[] some) {
    for (int link : some) {
      records[(link << SHIFT) + FREE_PS] = Objects.requireNonNull(takenFreePs.remove(link));
    }
  }
}
