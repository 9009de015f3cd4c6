package org.kernbench.device.memory;

import java.util.Arrays;

/**
 * A set of numbers of limited size that forgets the one that was used least recently: the
 * translation look-aside buffer of one PE, keyed by the first virtual address that an entry
 * translates.
 *
 * <p>Chained hashing over primitive arrays with an order of use threaded through them, so that a
 * look-up touches a bucket and an entry and allocates nothing. The arrays grow from a few entries
 * to the limit as they fill: machines of thousands of PEs use one or two entries each. Its slow
 * twin is a list in order of use ({@code MmuTest}).
 */
final class Tlb {
  private static final int NONE = -1;
  private static final int FIRST_SIZE = 4;
  private static final long MULTIPLIER = 0x9E3779B97F4A7C15L;

  private final int limit;
  private int size;
  private long[] keys;
  private int[] nextInBucket;
  private int[] newer;
  private int[] older;
  private int[] buckets;
  private int newest = NONE;
  private int oldest = NONE;
  private int free = NONE;

  /** Entries that were forgotten for others. */
  private long evictions;

  Tlb(int limit) {
    this.limit = limit;
    int room = Math.min(limit, FIRST_SIZE);
    this.keys = new long[room];
    this.nextInBucket = new int[room];
    this.newer = new int[room];
    this.older = new int[room];
    this.buckets = emptyBuckets(room);
  }

  /** Holds what another of the same limit holds, which goes its own way. */
  void becomesAs(Tlb other) {
    size = other.size;
    if (keys.length == other.keys.length) {
      System.arraycopy(other.keys, 0, keys, 0, size);
      System.arraycopy(other.nextInBucket, 0, nextInBucket, 0, size);
      System.arraycopy(other.newer, 0, newer, 0, size);
      System.arraycopy(other.older, 0, older, 0, size);
      System.arraycopy(other.buckets, 0, buckets, 0, buckets.length);
    } else {
      keys = other.keys.clone();
      nextInBucket = other.nextInBucket.clone();
      newer = other.newer.clone();
      older = other.older.clone();
      buckets = other.buckets.clone();
    }
    newest = other.newest;
    oldest = other.oldest;
    free = other.free;
    evictions = other.evictions;
  }

  /** How many entries were forgotten for others so far. */
  long evictions() {
    return evictions;
  }

  private static int[] emptyBuckets(int room) {
    int[] buckets = new int[Integer.highestOneBit(room) * 2];
    Arrays.fill(buckets, NONE);
    return buckets;
  }

  private int bucket(long key) {
    return (int) ((key * MULTIPLIER) >>> 32) & (buckets.length - 1);
  }

  private int find(long key) {
    int e = buckets[bucket(key)];
    while (e != NONE && keys[e] != key) {
      e = nextInBucket[e];
    }
    return e;
  }

  /** Uses an entry; if it was not there it is now, in the place of the oldest. Says if it was. */
  boolean use(long key) {
    int e = find(key);
    if (e != NONE) {
      if (e != newest) {
        unlink(e);
        linkNewest(e);
      }
      return true;
    }
    insert(key);
    return false;
  }

  private void insert(long key) {
    int e = free;
    if (e != NONE) {
      free = nextInBucket[e];
    } else if (size < limit) {
      if (size == keys.length) {
        grow();
      }
      e = size++;
    } else {
      e = oldest;
      evictions++;
      unlink(e);
      leaveBucket(e);
    }
    keys[e] = key;
    enterBucket(e);
    linkNewest(e);
  }

  /** Forgets an entry, if it is there. */
  void remove(long key) {
    int e = find(key);
    if (e != NONE) {
      unlink(e);
      leaveBucket(e);
      nextInBucket[e] = free;
      free = e;
    }
  }

  private void linkNewest(int e) {
    older[e] = newest;
    newer[e] = NONE;
    if (newest == NONE) {
      oldest = e;
    } else {
      newer[newest] = e;
    }
    newest = e;
  }

  private void unlink(int e) {
    if (newer[e] == NONE) {
      newest = older[e];
    } else {
      older[newer[e]] = older[e];
    }
    if (older[e] == NONE) {
      oldest = newer[e];
    } else {
      newer[older[e]] = newer[e];
    }
  }

  private void enterBucket(int e) {
    int b = bucket(keys[e]);
    nextInBucket[e] = buckets[b];
    buckets[b] = e;
  }

  private void leaveBucket(int e) {
    int b = bucket(keys[e]);
    int i = buckets[b];
    if (i == e) {
      buckets[b] = nextInBucket[e];
      return;
    }
    while (nextInBucket[i] != e) {
      i = nextInBucket[i];
    }
    nextInBucket[i] = nextInBucket[e];
  }

  /** Called when all entries are in use. */
  private void grow() {
    int room = (int) Math.min(limit, keys.length * 2L);
    keys = Arrays.copyOf(keys, room);
    nextInBucket = Arrays.copyOf(nextInBucket, room);
    newer = Arrays.copyOf(newer, room);
    older = Arrays.copyOf(older, room);
    buckets = emptyBuckets(room);
    for (int e = 0; e < size; e++) {
      enterBucket(e);
    }
  }
}
