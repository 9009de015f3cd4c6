package org.kernbench.device.fabric;

import java.util.Arrays;
import org.kernbench.machine.spec.DramSpec;
import org.kernbench.machine.spec.HbmSpec;

/**
 * The pseudo-channels of one HBM slice, command by command.
 *
 * <p>A channel serves bursts in the order of their arrival, reads and writes alike. Its commands
 * obey the data sheet ({@link DramSpec}): a burst whose row is open needs a column command; one
 * whose bank is precharged an activate first; one whose bank has another row open a precharge
 * before that. Precharges and activates of later bursts go ahead while column commands of earlier
 * ones wait, in order among themselves, because rows and columns have command buses of their own.
 * Since order is arrival and constraints look back only, the time of every command follows when a
 * burst arrives: no cycle is stepped and no event is needed ({@code HbmBanksTest} compares with
 * {@code HbmTwin}, which steps cycles).
 *
 * <p>Refresh: every {@code tREFI / banks} one bank is refreshed and its row closed, each bank once
 * a round. JEDEC leaves the order inside a round to the controller; this one takes the bank that
 * the last access has most recently left behind, so that a stream does not meet it again soon.
 *
 * <p>Not modelled: reordering (FR-FCFS, write draining), the occupancy of the command buses,
 * postponed refresh, power states. The first two cost little here: tRRD exceeds an activate's bus
 * time. Without reordering, mixed reads and writes pay for each turn-around.
 *
 * <p>Address: the channel is the bits above the stripe ({@code cube.hbm.burst}); inside a channel
 * bursts alternate over {@link DramSpec#interleave} bank groups, a row of each fills up, then comes
 * the next bank; the bank is rotated by the row so that arrays a power of two apart do not meet in
 * one bank.
 */
final class HbmBanks {
  private static final long LONG_AGO = Long.MIN_VALUE / 4;

  // a bank: four longs
  private static final int BANK_SHIFT = 2;
  private static final int ROW = 0;
  private static final int PRECHARGE_PS = 1; // not before
  private static final int ACTIVATE_PS = 2; // not before
  private static final int OPENED_PS = 3; // its activate

  private final DramSpec spec;
  private final int channelCount;
  private final int stripeShift;
  private final long setBytes;
  private final int sets;
  private final int groupSets;
  private final Channel[] channels;

  // constants of the inner loop
  private final int interleave;
  private final int accessShift;

  private boolean isEmpty;

  /** When the first burst of the last access was there, and when all of it was. */
  long firstPs;

  long lastPs;

  HbmBanks(HbmSpec hbm, DramSpec dram) {
    this.spec = dram;
    this.channelCount = hbm.channels();
    this.stripeShift = Long.numberOfTrailingZeros(hbm.burstBytes());
    this.interleave = dram.interleave();
    this.accessShift = Long.numberOfTrailingZeros(dram.accessBytes());
    this.setBytes = dram.rowBytes() * interleave;
    this.sets = dram.banks() / interleave;
    this.groupSets = dram.bankGroups() / interleave;
    this.channels = new Channel[channelCount];
    for (int i = 0; i < channelCount; i++) {
      channels[i] = new Channel();
    }
  }

  /**
   * Reads or writes bytes that arrive at {@code nowPs}, not before the last access; sets {@link
   * #firstPs} and {@link #lastPs}: when read data is out, or written data is in.
   *
   * @param offset in the slice
   * @param bytes at least 1
   */
  void access(long offset, long bytes, boolean write, long nowPs) {
    begin(nowPs);
    add(offset, bytes, write, nowPs);
  }

  /** Begins an access of several pieces, or of none. */
  void begin(long nowPs) {
    firstPs = nowPs;
    lastPs = nowPs;
    isEmpty = true;
  }

  /** Adds one more piece to the access. */
  void add(long offset, long bytes, boolean write, long nowPs) {
    final long end = offset + bytes;
    long at = (offset >> accessShift) << accessShift;
    while (at < end) {
      long stripe = at >> stripeShift;
      long stripeEnd = Math.min(end, (stripe + 1) << stripeShift);
      int count = (int) ((stripeEnd - at + (1L << accessShift) - 1) >> accessShift);
      long local = ((stripe / channelCount) << stripeShift) + (at & ((1L << stripeShift) - 1));
      channels[(int) (stripe % channelCount)].access(local, count, write, nowPs);
      at = stripeEnd;
    }
  }

  /** The set of banks, one in each of the interleaved groups, that holds a byte of a channel. */
  private int setOf(long local) {
    long block = local / setBytes;
    return (int) ((block + block / sets) % sets);
  }

  private int bankOf(int set, int lane) {
    int group = (set % groupSets) * interleave + lane;
    int rest = set / groupSets;
    return rest * spec.bankGroups() + group;
  }

  /** The bank group of a bank, counted over all stack ids. */
  private int groupOf(int b) {
    int stack = b / (spec.bankGroups() * spec.banksPerGroup());
    return stack * spec.bankGroups() + b % spec.bankGroups();
  }

  /** One pseudo-channel. */
  private final class Channel {
    private final int banks = spec.banks();
    private final int groups = spec.bankGroups() * spec.stackIds();
    private final long[] bank = new long[banks << BANK_SHIFT];

    // column commands: of the channel, and by bank group
    private long lastReadPs = LONG_AGO;
    private long lastWritePs = LONG_AGO;
    private final long[] groupReadPs = new long[groups];
    private final long[] groupWritePs = new long[groups];

    // activates: the last four of the channel, and the last by bank group
    private final long[] activates = new long[4];
    private int oldestActivate;
    private long lastActivatePs = LONG_AGO;
    private final long[] groupActivatePs = new long[groups];

    // refresh
    private final boolean[] refreshed = new boolean[banks];
    private int refreshedCount;
    private long nextRefreshPs = spec.refreshIntervalPs();
    private long lastRefreshPs = LONG_AGO;
    private int lastSet;

    Channel() {
      Arrays.fill(groupReadPs, LONG_AGO);
      Arrays.fill(groupWritePs, LONG_AGO);
      Arrays.fill(activates, LONG_AGO);
      Arrays.fill(groupActivatePs, LONG_AGO);
      for (int b = 0; b < banks; b++) {
        bank[(b << BANK_SHIFT) + ROW] = -1;
        bank[(b << BANK_SHIFT) + OPENED_PS] = LONG_AGO;
        bank[(b << BANK_SHIFT) + PRECHARGE_PS] = LONG_AGO;
        bank[(b << BANK_SHIFT) + ACTIVATE_PS] = LONG_AGO;
      }
    }

    /** Bursts of one stripe, all in one row of each bank of a set. */
    void access(long local, int count, boolean write, long nowPs) {
      if (nextRefreshPs <= nowPs) {
        refreshUntil(nowPs);
      }
      long at = local;
      long first = 0;
      long last = 0;
      for (int i = 0; i < count; i++) {
        int set = setOf(at);
        int lane = (int) (at >> accessShift) % interleave;
        int b = bankOf(set, lane);
        long row = at / (setBytes * sets);
        last = burst(b, row, write, nowPs);
        if (i == 0) {
          first = last;
        }
        lastSet = set;
        at += 1L << accessShift;
      }
      if (isEmpty) {
        firstPs = first;
        isEmpty = false;
      }
      lastPs = Math.max(lastPs, last);
    }

    /** Returns when the data of one burst has been moved. */
    private long burst(int b, long row, boolean write, long nowPs) {
      final int at = b << BANK_SHIFT;
      final int group = groupOf(b);
      if (bank[at + ROW] != row) {
        open(at, group, row, nowPs);
      }
      long opened = bank[at + OPENED_PS];
      long time;
      if (write) {
        time = Math.max(nowPs, opened + spec.tRcdWr());
        time = Math.max(time, lastReadPs + spec.tRtw());
        time = Math.max(time, lastWritePs + spec.tCcdS());
        time = Math.max(time, groupWritePs[group] + spec.tCcdL());
        lastWritePs = time;
        groupWritePs[group] = time;
        long done = time + spec.tCwl() + spec.tBl();
        bank[at + PRECHARGE_PS] = Math.max(bank[at + PRECHARGE_PS], done + spec.tWr());
        return done;
      }
      long written = spec.tCwl() + spec.tBl();
      time = Math.max(nowPs, opened + spec.tRcdRd());
      time = Math.max(time, lastWritePs + written + spec.tWtrS());
      time = Math.max(time, groupWritePs[group] + written + spec.tWtrL());
      time = Math.max(time, lastReadPs + spec.tCcdS());
      time = Math.max(time, groupReadPs[group] + spec.tCcdL());
      lastReadPs = time;
      groupReadPs[group] = time;
      bank[at + PRECHARGE_PS] = Math.max(bank[at + PRECHARGE_PS], time + spec.tRtp());
      return time + spec.tCl() + spec.tBl();
    }

    /** Closes what is open and activates a row. */
    private void open(int at, int group, long row, long nowPs) {
      long time = nowPs;
      if (bank[at + ROW] >= 0) {
        time = Math.max(time, bank[at + PRECHARGE_PS]) + spec.tRp();
      }
      time = Math.max(time, bank[at + ACTIVATE_PS]);
      time = Math.max(time, lastActivatePs + spec.tRrdS());
      time = Math.max(time, groupActivatePs[group] + spec.tRrdL());
      time = Math.max(time, activates[oldestActivate] + spec.tFaw());
      time = Math.max(time, lastRefreshPs + spec.tRrefd());
      lastActivatePs = time;
      groupActivatePs[group] = time;
      activates[oldestActivate] = time;
      oldestActivate = (oldestActivate + 1) & 3;
      bank[at + ROW] = row;
      bank[at + OPENED_PS] = time;
      bank[at + ACTIVATE_PS] = time + spec.tRc();
      bank[at + PRECHARGE_PS] = time + spec.tRas();
    }

    // ---- refresh ----

    private void refreshUntil(long nowPs) {
      final long interval = spec.refreshIntervalPs();
      long due = (nowPs - nextRefreshPs) / interval;
      if (due > 3L * banks) { // idle for whole rounds, which all end alike
        nextRefreshPs += (due / banks - 2) * banks * interval;
      }
      while (nextRefreshPs <= nowPs) {
        refresh(nextBank(), nextRefreshPs);
        nextRefreshPs += interval;
      }
    }

    /** Of the banks to be refreshed in this round the one that was left most recently. */
    private int nextBank() {
      if (refreshedCount == banks) {
        Arrays.fill(refreshed, false);
        refreshedCount = 0;
      }
      for (int behind = 1; behind <= sets; behind++) {
        int set = Math.floorMod(lastSet - behind, sets);
        for (int lane = 0; lane < interleave; lane++) {
          int b = bankOf(set, lane);
          if (!refreshed[b]) {
            refreshed[b] = true;
            refreshedCount++;
            return b;
          }
        }
      }
      throw new IllegalStateException("bug: no bank is left to refresh");
    }

    private void refresh(int b, long duePs) {
      final int at = b << BANK_SHIFT;
      final int group = groupOf(b);
      long time = duePs;
      if (bank[at + ROW] >= 0) {
        time = Math.max(time, bank[at + PRECHARGE_PS]) + spec.tRp();
      }
      time = Math.max(time, bank[at + ACTIVATE_PS]);
      time = Math.max(time, lastRefreshPs + spec.tRrefd());
      time = Math.max(time, lastActivatePs + spec.tRrdS());
      time = Math.max(time, groupActivatePs[group] + spec.tRrdL());
      lastRefreshPs = time;
      bank[at + ROW] = -1;
      bank[at + ACTIVATE_PS] = time + spec.tRfcPb();
    }
  }
}
