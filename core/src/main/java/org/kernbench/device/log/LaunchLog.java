package org.kernbench.device.log;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.io.StreamCorruptedException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;

/**
 * What ran when, and what it had to wait for: one row for every launch, one for each of its PEs.
 * Together with the {@link OpLog} it says why a launch started at the time it did, which is the
 * latest of
 *
 * <pre>
 *   when the host called + what the call takes to the farthest PE
 *   when each of its PEs was done with the launch before on the same stream
 *   when each launch was done that it was told to come after
 * </pre>
 *
 * and the host calls when a launch that it has waited for is done.
 *
 * <p>A PE is <em>done</em> with a launch when its last command is and its last message is seen,
 * later than the end of the launch counts a message. Launches count from 0 in the order of the
 * host's calls. Rows are kept up to a limit, as those of operations are.
 */
public final class LaunchLog {
  /** Stands for no launch, row or operation. */
  public static final int NONE = -1;

  // a launch
  private static final int CALLED = 0;
  private static final int START = 1;
  private static final int DONE = 2;
  private static final int AFTER_ROW = 3; // what the host had waited for, first row
  private static final int ARRIVED = 4;
  private static final int LAUNCH_COLUMNS = 5;

  // one of its PEs
  private static final int PE_OP = 0; // PE, last operation
  private static final int DONE_THERE = 1;
  private static final int LAUNCH_BEFORE = 2; // launch, row of the one before on its stream
  private static final int ROW_COLUMNS = 3;

  private final Machine machine;
  private final int limit;
  private final LongTable launches = new LongTable(LAUNCH_COLUMNS);
  private final LongTable rows = new LongTable(ROW_COLUMNS);
  private final List<String> names = new ArrayList<>();
  private final List<List<Integer>> after = new ArrayList<>();
  private final Map<Integer, RankExchange> exchanges = new HashMap<>(); // not saved
  private int[] rankByPe = {}; // not saved
  private boolean complete = true;
  private int hostWaitedFor = NONE;

  LaunchLog(Machine machine, int limit) {
    this.machine = machine;
    this.limit = limit;
  }

  private static long pack(int high, int low) {
    return ((long) high << 32) | (low & 0xFFFF_FFFFL);
  }

  private static int high(long packed) {
    return (int) (packed >> 32);
  }

  private static int low(long packed) {
    return (int) packed;
  }

  // ---- written by the machine ----

  /**
   * The host calls.
   *
   * @param arrivedPs when the call reaches the farthest PE
   * @param others the ids of launches under way that this one comes after
   * @return the launch, {@link #NONE} if it is not kept
   */
  public int called(String name, long nowPs, long arrivedPs, List<Integer> others) {
    if (!complete || launches.rows() >= limit || rows.rows() >= limit) {
      complete = false;
      return NONE;
    }
    int launch = launches.add();
    launches.set(launch, CALLED, nowPs);
    launches.set(launch, ARRIVED, arrivedPs);
    launches.set(launch, START, NONE);
    launches.set(launch, DONE, NONE);
    launches.set(launch, AFTER_ROW, pack(hostWaitedFor, NONE));
    names.add(name);
    after.add(List.copyOf(others));
    return launch;
  }

  /** The host has let time run until a launch was done. */
  public void hostHasWaitedFor(int launch) {
    hostWaitedFor = launch;
  }

  public void started(int launch, long nowPs) {
    if (launch != NONE) {
      launches.set(launch, START, nowPs);
      launches.set(launch, AFTER_ROW, pack(hostWaitedFor(launch), rows.rows()));
    }
  }

  /**
   * It starts on one of its PEs; all of them follow each other.
   *
   * @param before row of the launch before on the same stream of the PE
   * @return its row there
   */
  public int startedOn(int launch, int pe, int before) {
    if (launch == NONE) {
      return NONE;
    }
    int row = rows.add();
    rows.set(row, PE_OP, pack(pe, NONE));
    rows.set(row, DONE_THERE, NONE);
    rows.set(row, LAUNCH_BEFORE, pack(launch, before));
    return row;
  }

  public void doneThere(int row, long nowPs, int lastOp) {
    if (row != NONE) {
      rows.set(row, PE_OP, pack(pe(row), lastOp));
      rows.set(row, DONE_THERE, nowPs);
    }
  }

  public void done(int launch, long nowPs) {
    if (launch != NONE) {
      launches.set(launch, DONE, nowPs);
    }
  }

  /** The host says what ranks exchange in a launch. */
  public void exchanges(int launch, RankExchange what) {
    if (launch >= 0 && launch < size()) {
      exchanges.put(launch, what);
    }
  }

  /** The host says which rank owns each PE, by its index; -1 where none does. */
  public void ranks(int[] byPe) {
    rankByPe = byPe.clone();
  }

  // ---- saved and restored ----

  void write(DataOutput out) throws IOException {
    out.writeBoolean(complete);
    launches.write(out);
    rows.write(out);
    for (int launch = 0; launch < size(); launch++) {
      out.writeUTF(name(launch));
      Varint.write(out, after(launch).size());
      for (int other : after(launch)) {
        Varint.write(out, other);
      }
    }
  }

  /**
   * Reads what {@link #write} wrote.
   *
   * @throws StreamCorruptedException if it leads outside of the machine or of itself
   */
  static LaunchLog read(DataInput in, Machine machine, int operations) throws IOException {
    LaunchLog log = new LaunchLog(machine, Integer.MAX_VALUE);
    log.complete = in.readBoolean();
    log.launches.read(in);
    log.rows.read(in);
    int size = log.size();
    int rowCount = log.rows.rows();
    boolean sound = true;
    for (int launch = 0; launch < size; launch++) {
      log.names.add(in.readUTF());
      int others = Varint.readCount(in);
      List<Integer> list = new ArrayList<>();
      for (int i = 0; i < others; i++) {
        list.add(Varint.readCount(in));
      }
      log.after.add(List.copyOf(list));
      int number = launch;
      sound &= list.stream().allMatch(other -> other < number);
      sound &= log.hostWaitedFor(launch) < launch && log.firstRow(launch) < rowCount;
    }
    for (int row = 0; row < rowCount; row++) {
      sound &= log.pe(row) >= 0 && log.pe(row) < machine.peCount();
      sound &= log.launch(row) >= 0 && log.launch(row) < size;
      sound &= log.before(row) < row && log.lastOp(row) < operations;
    }
    if (!sound) {
      throw new StreamCorruptedException("launches that lead nowhere");
    }
    return log;
  }

  // ---- read ----

  /** Whether every launch has its rows. */
  public boolean isComplete() {
    return complete;
  }

  /** Number of launches. */
  public int size() {
    return launches.rows();
  }

  /** The kernel's name. */
  public String name(int launch) {
    return names.get(launch);
  }

  /** When the host called, picoseconds. */
  public long calledPs(int launch) {
    return launches.get(launch, CALLED);
  }

  /** When the call had reached the farthest of its PEs. */
  public long arrivedPs(int launch) {
    return launches.get(launch, ARRIVED);
  }

  /** The launch that the host had waited for last when it called; {@link #NONE} for none. */
  public int hostWaitedFor(int launch) {
    return high(launches.get(launch, AFTER_ROW));
  }

  /**
   * Launches that were under way when the host called and that this one had to come after. One that
   * was done in the same picosecond was not, whatever the simulator looked at first.
   */
  public List<Integer> after(int launch) {
    return after.get(launch).stream()
        .filter(other -> donePs(other) == NONE || donePs(other) > calledPs(launch))
        .toList();
  }

  /** The common start of its PEs, picoseconds; {@link #NONE} before. */
  public long startPs(int launch) {
    return launches.get(launch, START);
  }

  /** When the last of its PEs was done, picoseconds; {@link #NONE} before. */
  public long donePs(int launch) {
    return launches.get(launch, DONE);
  }

  /** The first of its rows, one for each PE in their order; {@link #NONE} before it started. */
  public int firstRow(int launch) {
    return low(launches.get(launch, AFTER_ROW));
  }

  /** The row after its last. */
  public int endRow(int launch) {
    int row = firstRow(launch);
    while (row != NONE && row < rows.rows() && launch(row) == launch) {
      row++;
    }
    return row;
  }

  /** Where it ran. */
  public List<Pe> pes(int launch) {
    List<Pe> pes = new ArrayList<>();
    for (int row = firstRow(launch); row < endRow(launch); row++) {
      pes.add(machine.peAt(pe(row)));
    }
    return List.copyOf(pes);
  }

  /** What ranks exchanged in a launch, if the host said so; of a log that was read, nothing. */
  public Optional<RankExchange> exchange(int launch) {
    return Optional.ofNullable(exchanges.get(launch));
  }

  /** How many ranks there are; 0 if the host made none, or the log was read. */
  public int ranks() {
    return Arrays.stream(rankByPe).max().orElse(NONE) + 1;
  }

  /** The rank that owns the PE of a row; -1 if none does. */
  public int rank(int row) {
    return rankByPe.length == 0 ? NONE : rankByPe[pe(row)];
  }

  /** The launch of a row. */
  public int launch(int row) {
    return high(rows.get(row, LAUNCH_BEFORE));
  }

  /** Row of the launch before on the same stream of the PE; {@link #NONE} for the first. */
  public int before(int row) {
    return low(rows.get(row, LAUNCH_BEFORE));
  }

  /** When the PE was done with it, picoseconds; {@link #NONE} before. */
  public long doneTherePs(int row) {
    return rows.get(row, DONE_THERE);
  }

  /** The operation that made it done there; {@link #NONE} if the kernel issued none. */
  public int lastOp(int row) {
    return low(rows.get(row, PE_OP));
  }

  private int pe(int row) {
    return high(rows.get(row, PE_OP));
  }
}
