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
import org.jspecify.annotations.Nullable;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.Symmetry;

/**
 * What happened: one row for every operation, with its place, its times, its bytes and the
 * operation that it waited for last.
 *
 * <p>Rows are kept up to a limit, in chunks of primitive arrays; the hash and the counts cover all
 * operations whatever the limit. So totals come from the counts, {@link #completed(OpKind)} and
 * {@link #bytes(OpKind)}, and whatever else is computed from rows asks {@link #isComplete} first.
 * The hash is a sum over operations of a mix of what each did: the PE, which of its commands it
 * was, kind, cause, bytes, place and times. So two runs with one hash did the same things at the
 * same times, whatever the simulator looked at first and whether or not it captured lines. Ids
 * count from 0 in the order in which the simulator took commands (but in blocks, where no rows are
 * kept and packages run apart).
 */
public final class OpLog {
  private static final int CHUNK_SHIFT = 12;
  private static final int CHUNK = 1 << CHUNK_SHIFT;
  private static final long MULTIPLIER = 0x9E3779B97F4A7C15L;
  private static final long NO_OPERATIONS = 0x6B65726E62656E63L;
  private static final int LONGS = 6; // issue, start, end, contention, serialisation, translation

  /** PE, kind | cause << 8, cause op, bytes, place, line, work, launch. */
  private static final int INTS = 8;

  /** More rows than this no run keeps; a file that says so is none. */
  static final int MOST_READ = 1 << 26;

  private static final int SCHEDULED = 1 << 16; // beside kind and cause

  private final Machine machine;
  private final int limit;
  private long[][] longs = new long[4][];
  private int[][] ints = new int[4][];
  private int issued;
  private final OpTally tally = new OpTally(this);
  private String[] lines = new String[16];
  private int lineCount = 1;
  private final Map<String, Integer> lineIds = new HashMap<>();
  private final List<ComputeOp> works = new ArrayList<>();
  private final Map<ComputeOp, Integer> workIds = new HashMap<>();
  private final TransferLog transfers;
  private final LaunchLog launches;

  /** The packages that those with rows stand for; null if each has rows of its own. */
  private @Nullable Orbit orbit;

  public OpLog(Machine machine, int limit) {
    this(machine, limit, new TransferLog(limit), new LaunchLog(machine, limit));
  }

  private OpLog(Machine machine, int limit, TransferLog transfers, LaunchLog launches) {
    this.machine = machine;
    this.limit = limit;
    this.tally.hash = NO_OPERATIONS;
    this.transfers = transfers;
    this.launches = launches;
  }

  /** Writes all rows, with transfers and launches. */
  public void write(DataOutput out) throws IOException {
    transfers.write(out);
    Varint.write(out, limit);
    Varint.write(out, issued);
    launches.write(out);
    Varint.write(out, tally.completed);
    out.writeLong(tally.hash);
    Varint.write(out, lineCount);
    for (int i = 1; i < lineCount; i++) {
      out.writeUTF(lines[i]);
    }
    Varint.write(out, works.size());
    for (ComputeOp work : works) {
      ComputeOpCodec.write(out, work);
    }
    for (int id = 0; id < size(); id++) {
      out.writeBoolean(has(id));
    }
    for (int column = 0; column < LONGS + INTS; column++) {
      long above = 0;
      for (int id = 0; id < size(); id++) {
        if (has(id)) {
          long value = column < LONGS ? time(id, column) : word(id, column - LONGS);
          Varint.write(out, value - above);
          above = value;
        }
      }
    }
  }

  /**
   * Reads what {@link #write} wrote.
   *
   * @param machine that the operations ran on
   * @throws StreamCorruptedException if it is something else
   */
  public static OpLog read(DataInput in, Machine machine) throws IOException {
    TransferLog transfers = TransferLog.read(in, machine.linkCount());
    int limit = Varint.readCount(in);
    int issued = Varint.readCount(in);
    LaunchLog launches = LaunchLog.read(in, machine, issued);
    OpLog log = new OpLog(machine, limit, transfers, launches);
    log.issued = issued;
    if (log.size() >= MOST_READ) {
      throw new StreamCorruptedException("rows of " + log.size() + " operations");
    }
    log.tally.completed = Varint.read(in);
    log.tally.hash = in.readLong();
    int lines = Varint.readCount(in);
    for (int i = 1; i < lines; i++) {
      log.lineId(in.readUTF());
    }
    int works = Varint.readCount(in);
    for (int i = 0; i < works; i++) {
      log.works.add(ComputeOpCodec.read(in));
    }
    boolean[] has = new boolean[log.size()];
    for (int id = 0; id < has.length; id++) {
      has[id] = in.readBoolean();
      if (has[id]) {
        log.makeRoom(id >>> CHUNK_SHIFT);
      }
    }
    for (int column = 0; column < LONGS + INTS; column++) {
      long above = 0;
      for (int id = 0; id < has.length; id++) {
        if (has[id]) {
          above += Varint.read(in);
          log.put(id, column, above);
        }
      }
    }
    log.check(lines, works);
    log.countRows();
    return log;
  }

  /** The counts by kind of a log that was read: only whole logs are saved. */
  private void countRows() {
    for (int id = 0; id < size(); id++) {
      if (has(id)) {
        tally.count(kind(id), bytes(id));
      }
    }
  }

  private void put(int id, int column, long value) {
    if (column < LONGS) {
      longs[id >>> CHUNK_SHIFT][(id & CHUNK - 1) * LONGS + column] = value;
    } else {
      ints[id >>> CHUNK_SHIFT][(id & CHUNK - 1) * INTS + column - LONGS] = (int) value;
    }
  }

  /** What was read must not lead outside of the machine or of the lists. */
  private void check(int lineIds, int workIds) throws StreamCorruptedException {
    for (int id = 0; id < size(); id++) {
      if (has(id)
          && (word(id, 0) < 1
              || word(id, 0) > machine.peCount()
              || (word(id, 1) & 0xFF) >= OpKinds.KINDS.length
              || ((word(id, 1) >>> 8) & 0xFF) >= OpKinds.CAUSES.length
              || word(id, 4) >= machine.linkCount()
              || word(id, 5) < 0
              || word(id, 5) >= Math.max(1, lineIds)
              || word(id, 6) < 0
              || word(id, 6) > workIds
              || word(id, 7) < LaunchLog.NONE
              || word(id, 7) >= launches.size())) {
        throw new StreamCorruptedException("operation " + id + " is none of this machine");
      }
    }
  }

  /**
   * Whether all operations of a launch that have ended are kept. Not to be asked of a log that was
   * read, which does not say that.
   */
  public boolean keepsAll(int launch) {
    return !tally.isCut(launch);
  }

  /** All operations, but those that worlds apart have not told of yet. */
  public OpTally tally() {
    return tally;
  }

  /** The id of a new operation. */
  public int reserve() {
    return issued++;
  }

  /** So many ids, from the one returned on. */
  public synchronized int reserve(int count) {
    int first = issued;
    issued += count;
    return first;
  }

  public int lineId(String line) {
    return lineIds.computeIfAbsent(
        line,
        l -> {
          if (lineCount == lines.length) {
            lines = Arrays.copyOf(lines, lineCount * 2);
          }
          lines[lineCount] = l;
          return lineCount++;
        });
  }

  /** The place of a computation in the list of different ones, from 1; 0 if the row is not kept. */
  public int workId(int id, ComputeOp work) {
    if (limit == 0 || id >= limit) {
      return 0;
    }
    return workIds.computeIfAbsent(
        work,
        w -> {
          works.add(w);
          return works.size();
        });
  }

  public String lineAt(int id) {
    return id == 0 ? "" : lines[id];
  }

  /**
   * An operation is complete.
   *
   * @param counting of the world where it ran
   */
  public void complete(
      OpTally counting,
      int id,
      int ordinal,
      int pe,
      OpKind kind,
      Cause cause,
      int causeOp,
      int bytes,
      int place,
      int line,
      int work,
      int launch,
      boolean scheduled,
      long issuePs,
      long startPs,
      long endPs,
      long contentionPs,
      long serialisationPs,
      long translationPs) {
    counting.completed++;
    counting.count(kind, bytes);
    int what = kind.ordinal() | cause.ordinal() << 8;
    counting.hash += hash(ordinal, pe, what, bytes, place, issuePs, startPs, endPs, contentionPs);
    if (orbit != null) {
      orbit.count(ordinal, pe, what, bytes, place, issuePs, startPs, endPs, contentionPs);
    }
    if (limit == 0 || id >= limit) {
      counting.isNotKept(launch);
      return;
    }
    int chunk = id >>> CHUNK_SHIFT;
    makeRoom(chunk);
    int l = (id & CHUNK - 1) * LONGS;
    long[] row = longs[chunk];
    row[l] = issuePs;
    row[l + 1] = startPs;
    row[l + 2] = endPs;
    row[l + 3] = contentionPs;
    row[l + 4] = serialisationPs;
    row[l + 5] = translationPs;
    int i = (id & CHUNK - 1) * INTS;
    int[] words = ints[chunk];
    words[i] = pe + 1;
    words[i + 1] = scheduled ? what | SCHEDULED : what;
    words[i + 2] = causeOp;
    words[i + 3] = bytes;
    words[i + 4] = place;
    words[i + 5] = line;
    words[i + 6] = work;
    words[i + 7] = launch;
  }

  private static long hash(
      int ordinal,
      int pe,
      int what,
      int bytes,
      int place,
      long issuePs,
      long startPs,
      long endPs,
      long contentionPs) {
    long h = mix(((long) ordinal << 32) ^ pe, what);
    h = mix(h, ((long) bytes << 32) ^ place);
    h = mix(h, issuePs);
    h = mix(h, startPs);
    h = mix(h, endPs);
    return mix(h, contentionPs);
  }

  private void makeRoom(int chunk) {
    if (chunk >= longs.length) {
      longs = Arrays.copyOf(longs, Math.max(chunk + 1, longs.length * 2));
      ints = Arrays.copyOf(ints, longs.length);
    }
    if (longs[chunk] == null) {
      longs[chunk] = new long[CHUNK * LONGS];
      ints[chunk] = new int[CHUNK * INTS];
    }
  }

  static long mix(long h, long v) {
    h = (h ^ v) * MULTIPLIER;
    return h ^ (h >>> 29);
  }

  /** Rows of package 0 stand for all packages that shifts take it to (ADR 0109). */
  public void foldedBy(Symmetry symmetry) {
    orbit = new Orbit(machine, symmetry, NO_OPERATIONS);
  }

  /** Packages that each with rows stands for, itself among them: 1 unless packages are folded. */
  public int packagesPerRow() {
    return orbit == null ? 1 : orbit.packages();
  }

  /** Whether {@link #hash} is that of all packages: not of many rows that stand for very many. */
  public boolean isHashOfAll() {
    return orbit == null || orbit.isComplete();
  }

  /** Operations completed in the run, those without rows included. */
  public long completed() {
    return tally.completed * packagesPerRow();
  }

  /** Operations of a kind completed in the run, whether or not they have rows. */
  public long completed(OpKind kind) {
    return tally.operations(kind) * packagesPerRow();
  }

  /** Bytes that all operations of a kind moved or computed, whether or not they have rows. */
  public long bytes(OpKind kind) {
    return tally.bytes(kind) * packagesPerRow();
  }

  /** Ids below this may have a row. */
  public int size() {
    return Math.min(issued, limit);
  }

  /** Whether every operation of the run has a row, every chunk that moved, and every launch. */
  public boolean isComplete() {
    return issued <= limit && transfers.isComplete() && launches.isComplete();
  }

  /** What is missing, as the end of a sentence that begins with "the op log"; empty if nothing. */
  public String lack() {
    if (issued > limit) {
      return "kept " + size() + " of " + tally.completed + " operations";
    }
    if (!transfers.isComplete()) {
      return "kept all " + tally.completed + " operations, but not how all of their chunks moved";
    }
    return launches.isComplete() ? "" : "kept " + launches.size() + " launches and lacks others";
  }

  /** Whether the operation has a row: it has completed and its id is below the limit. */
  public boolean has(int id) {
    int chunk = id >>> CHUNK_SHIFT;
    return id >= 0
        && id < limit
        && chunk < longs.length
        && longs[chunk] != null
        && word(id, 0) != 0;
  }

  /**
   * Hash over all operations, 16 hexadecimal digits. Where packages are folded it is the one of the
   * run of all of them, unless that would take longer than the run: then of the rows of package 0,
   * see {@link #isHashOfAll}.
   */
  public String hash() {
    Orbit all = orbit;
    long hash =
        all != null && all.isComplete()
            ? mix(all.hash(), completed())
            : mix(tally.hash, tally.completed);
    return String.format(java.util.Locale.ROOT, "%016x", hash);
  }

  private long time(int id, int column) {
    return longs[id >>> CHUNK_SHIFT][(id & CHUNK - 1) * LONGS + column];
  }

  private int word(int id, int column) {
    return ints[id >>> CHUNK_SHIFT][(id & CHUNK - 1) * INTS + column];
  }

  /** When the CPU had issued the command. */
  public long issuePs(int id) {
    return time(id, 0);
  }

  /** When the engine began. */
  public long startPs(int id) {
    return time(id, 1);
  }

  /** When the result was visible. */
  public long endPs(int id) {
    return time(id, 2);
  }

  /** For operations that moved bytes: time lost to other traffic on the way. */
  public long contentionPs(int id) {
    return time(id, 3);
  }

  /** For operations that moved bytes: the bytes at the rate of the narrowest link of the route. */
  public long serialisationPs(int id) {
    return time(id, 4);
  }

  /** For loads and stores: time in which their virtual addresses were translated. */
  public long translationPs(int id) {
    return time(id, 5);
  }

  /** Where it ran. */
  public Pe pe(int id) {
    return machine.peAt(word(id, 0) - 1);
  }

  /** What it did. */
  public OpKind kind(int id) {
    return OpKinds.KINDS[word(id, 1) & 0xFF];
  }

  /** What it waited for last before it started. */
  public Cause cause(int id) {
    return OpKinds.CAUSES[(word(id, 1) >>> 8) & 0xFF];
  }

  /** The operation that ended that wait; -1 for none. */
  public int causeOp(int id) {
    return word(id, 2);
  }

  /** Bytes moved or computed. */
  public int bytes(int id) {
    return word(id, 3);
  }

  /**
   * For operations that moved bytes: the link where it waited longest behind another or, if it
   * never did, the narrowest link; -1 for others.
   */
  public int link(int id) {
    return word(id, 4);
  }

  /** The kernel's source line, empty if lines were not captured. */
  public String line(int id) {
    return lineAt(word(id, 5));
  }

  /** Whether the tile scheduler issued it, not the CPU. */
  public boolean isScheduled(int id) {
    return (word(id, 1) & SCHEDULED) != 0;
  }

  /** What it computed; empty for operations that compute nothing. */
  public Optional<ComputeOp> work(int id) {
    int work = word(id, 6);
    return work == 0 ? Optional.empty() : Optional.of(works.get(work - 1));
  }

  /** The launch that it belongs to, an id of {@link #launches}; -1 if that is not kept. */
  public int launch(int id) {
    return word(id, 7);
  }

  /** What ran when, and after what. */
  public LaunchLog launches() {
    return launches;
  }

  /** How the bytes of the operations moved. */
  public TransferLog transfers() {
    return transfers;
  }

  /** Values of the enums, read once. */
  static final class OpKinds {
    static final OpKind[] KINDS = OpKind.values();
    static final Cause[] CAUSES = Cause.values();

    private OpKinds() {}
  }
}
