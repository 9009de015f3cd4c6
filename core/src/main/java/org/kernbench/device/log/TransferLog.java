package org.kernbench.device.log;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.io.StreamCorruptedException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntPredicate;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * How bytes moved: one row for every part of an operation that moves them, and one for every chunk
 * on every link of its way. Together with the {@link OpLog} it says for each moment of a transfer
 * what came right before it, also where transfers met: the chunk that a link served before.
 *
 * <p>A <em>part</em> is one transfer of a load, a store or a receive, or one fragment of a message;
 * most operations have one. A <em>service</em> is a link taking in one chunk of a part, from the
 * head's entry to the tail's:
 *
 * <pre>
 *   start = max(head, tail of the service before on this link)
 *   tail  = max(start + bytes / bandwidth, tail where the chunk came from + that link's latency)
 * </pre>
 *
 * <p>Rows are kept up to a limit; a log that met it is not complete and can explain nothing.
 */
public final class TransferLog {
  /** Stands for no operation, part or service. */
  public static final int NONE = -1;

  private static final int SERVICES_PER_OPERATION = 4; // room for so many rows, on average

  /** In the number of a part: what it moves comes from a switch that has added it up. */
  private static final int FROM_SWITCH = 1 << 30;

  private static final int COPY = 1 << 29;

  // a part: operation and number, part before and bytes, start, end, by and part written before,
  // last service and last at the first link
  private static final int OP_NUMBER = 0;
  private static final int PREVIOUS_BYTES = 1;
  private static final int PART_START = 2;
  private static final int PART_END = 3;
  private static final int BY_WRITTEN_AFTER = 4;
  private static final int LAST_ENTERED = 5;

  // a service: link and part, bytes and where from, service before and nothing, three times
  private static final int LINK_PART = 0;
  private static final int BYTES_FROM = 1;
  private static final int BEFORE = 2;
  private static final int HEAD = 3;
  private static final int START = 4;
  private static final int TAIL = 5;

  private final int opLimit;
  private final long serviceLimit;
  private final LongTable parts = new LongTable(6);
  private final LongTable services = new LongTable(6);
  private boolean complete = true;

  // while it is written: the part of each operation, of each transfer in the fabric, the last
  // service of each link and of each chunk in the fabric
  private int[] partOfOp = filled(256);
  private int[] partOfTransfer = filled(64);
  private int[] lastOfChunk = filled(256);
  private int[] lastOfLink = filled(256);

  TransferLog(int opLimit) {
    this.opLimit = opLimit;
    this.serviceLimit = (long) opLimit * SERVICES_PER_OPERATION;
  }

  private static int[] filled(int length) {
    int[] none = new int[length];
    Arrays.fill(none, NONE);
    return none;
  }

  private static int[] roomFor(int[] list, int index) {
    if (index < list.length) {
      return list;
    }
    int[] longer = Arrays.copyOf(list, Math.max(index + 1, list.length * 2));
    Arrays.fill(longer, list.length, longer.length, NONE);
    return longer;
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

  /** Whether nothing more will be kept. */
  boolean isFull() {
    return services.rows() >= serviceLimit;
  }

  /**
   * A part of an operation begins.
   *
   * @param by the operation that gave the credit that it waited for, or that sent what it receives
   * @return the part, {@link #NONE} if it is not kept
   */
  public int begin(int op, int bytes, long startPs, int by) {
    if (op >= opLimit || isFull()) {
      lacks();
      return NONE;
    }
    partOfOp = roomFor(partOfOp, op);
    int before = partOfOp[op];
    int part = parts.add();
    partOfOp[op] = part;
    parts.set(part, OP_NUMBER, pack(op, before == NONE ? 0 : number(before) + 1));
    parts.set(part, PREVIOUS_BYTES, pack(before, bytes));
    parts.set(part, PART_START, startPs);
    parts.set(part, BY_WRITTEN_AFTER, pack(by, NONE));
    parts.set(part, LAST_ENTERED, pack(NONE, NONE));
    return part;
  }

  /**
   * The sum of which an operation has sent a part begins its way from the switch to its PE.
   *
   * @param by the operation whose part came last
   * @return the part, {@link #NONE} if it is not kept
   */
  public int beginFromSwitch(int op, int bytes, long startPs, int by) {
    int part = begin(op, bytes, startPs, by);
    if (part != NONE) {
      parts.set(part, OP_NUMBER, parts.get(part, OP_NUMBER) | FROM_SWITCH);
    }
    return part;
  }

  /** A copy of what an operation has sent begins its way from the switch to one that takes it. */
  public int beginCopy(int op, int bytes, long startPs) {
    int part = beginFromSwitch(op, bytes, startPs, op);
    if (part != NONE) {
      parts.set(part, OP_NUMBER, parts.get(part, OP_NUMBER) | COPY);
    }
    return part;
  }

  /** Written once: worlds that run apart share this. */
  private void lacks() {
    if (complete) {
      complete = false;
    }
  }

  /** A part travels as a transfer of the fabric. */
  public void travels(int part, int transfer) {
    if (opLimit == 0) {
      return; // worlds that run apart share this
    }
    partOfTransfer = roomFor(partOfTransfer, transfer);
    partOfTransfer[transfer] = part;
  }

  /** Part {@code number} of an operation ends: its fragment is visible, or taken. */
  public void end(int op, int number, long timePs) {
    int part = part(op, number);
    if (part != NONE) {
      parts.set(part, PART_END, timePs);
    }
  }

  /** A fragment was written to its slot after another, which it had to wait for. */
  public void writtenAfter(int op, int number, int otherOp, int otherNumber) {
    int part = part(op, number);
    if (part != NONE) {
      long packed = parts.get(part, BY_WRITTEN_AFTER);
      parts.set(part, BY_WRITTEN_AFTER, pack(high(packed), part(otherOp, otherNumber)));
    }
  }

  /**
   * A link serves a chunk.
   *
   * @param first whether it is the first link of the way
   */
  public void served(
      int transfer,
      int chunk,
      int link,
      long bytes,
      boolean first,
      long headPs,
      long startPs,
      long tailPs) {
    int part = transfer < partOfTransfer.length ? partOfTransfer[transfer] : NONE;
    if (part == NONE || isFull()) {
      lacks();
      return;
    }
    lastOfChunk = roomFor(lastOfChunk, chunk);
    int entered = low(parts.get(part, LAST_ENTERED));
    int service = services.add();
    services.set(service, LINK_PART, pack(link, part));
    services.set(service, BYTES_FROM, pack((int) bytes, first ? entered : lastOfChunk[chunk]));
    lastOfLink = roomFor(lastOfLink, link);
    services.set(service, BEFORE, lastOfLink[link]);
    services.set(service, HEAD, headPs);
    services.set(service, START, startPs);
    services.set(service, TAIL, tailPs);
    lastOfLink[link] = service;
    lastOfChunk[chunk] = service;
    parts.set(part, LAST_ENTERED, pack(service, first ? service : entered));
  }

  /**
   * A memory with banks serves a chunk, as if it were a link.
   *
   * @param first whether the way begins there: of a read
   */
  public void servedByMemory(
      int transfer,
      int chunk,
      int port,
      long bytes,
      boolean first,
      long headPs,
      long startPs,
      long tailPs) {
    int part = transfer < partOfTransfer.length ? partOfTransfer[transfer] : NONE;
    if (first && part != NONE) { // it did not wait for the chunk before
      parts.set(part, LAST_ENTERED, pack(high(parts.get(part, LAST_ENTERED)), NONE));
    }
    served(transfer, chunk, port, bytes, first, headPs, startPs, tailPs);
  }

  // ---- written again ----

  /** Parts and services of some operations, relative to a time. */
  static final class Excerpt {
    private final LongTable parts = new LongTable(6);
    private final LongTable services = new LongTable(6);
  }

  /**
   * What some operations moved.
   *
   * @param ops the operations
   * @param rowOf their numbers in the excerpt; negative for others
   * @param firstService the first that may be one of theirs
   * @return null if not all of it was kept
   */
  @Nullable Excerpt excerpt(IntStream ops, IntUnaryOperator rowOf, int firstService, long startPs) {
    if (!complete || isFull()) {
      return null;
    }
    Excerpt e = new Excerpt();
    List<Integer> theirs = new ArrayList<>();
    ops.forEach(op -> {
      for (int part = lastPart(op); part != NONE; part = previous(part)) {
        theirs.add(part);
      }
    });
    Collections.sort(theirs);
    Map<Integer, Integer> partOf = new HashMap<>();
    for (int part : theirs) {
      int by = by(part) == NONE ? NONE : rowOf.applyAsInt(by(part));
      int after = writtenAfter(part) == NONE ? NONE : partOf.getOrDefault(writtenAfter(part), NONE);
      boolean isKnown =
          (by < 0) == (by(part) == NONE) && (after < 0) == (writtenAfter(part) == NONE);
      if (!isKnown || isFromSwitch(part)) {
        return null;
      }
      int row = e.parts.add();
      partOf.put(part, row);
      int before = previous(part);
      e.parts.set(row, OP_NUMBER, pack(rowOf.applyAsInt(op(part)), number(part)));
      e.parts.set(row, PREVIOUS_BYTES, pack(partOf.getOrDefault(before, NONE), bytes(part)));
      e.parts.set(row, PART_START, startPs(part) - startPs);
      e.parts.set(row, PART_END, endPs(part) == 0 ? NONE : endPs(part) - startPs);
      e.parts.set(row, BY_WRITTEN_AFTER, pack(by, after));
    }
    Map<Integer, Integer> serviceOf = new HashMap<>();
    for (int service = firstService; service < services.rows(); service++) {
      Integer part = partOf.get(partOf(service));
      if (part != null) {
        int row = e.services.add();
        serviceOf.put(service, row);
        int from = from(service);
        e.services.set(row, LINK_PART, pack(link(service), part));
        e.services.set(
            row, BYTES_FROM, pack(chunkBytes(service), serviceOf.getOrDefault(from, NONE)));
        e.services.set(row, HEAD, headPs(service) - startPs);
        e.services.set(row, START, startPsOf(service) - startPs);
        e.services.set(row, TAIL, tailPs(service) - startPs);
      }
    }
    for (int part : theirs) {
      int last = lastService(part);
      int entry = lastEntry(part);
      e.parts.set(
          partOf.getOrDefault(part, NONE),
          LAST_ENTERED,
          pack(serviceOf.getOrDefault(last, NONE), serviceOf.getOrDefault(entry, NONE)));
    }
    return e;
  }

  /**
   * Writes what was moved once more.
   *
   * @param excerpt null if it was not kept
   * @param id of the operation with a number in the excerpt
   * @param linksOn what is added to the numbers of links
   */
  void write(@Nullable Excerpt excerpt, IntUnaryOperator id, int linksOn, long startPs) {
    if (excerpt == null) {
      lacks();
      return;
    }
    if (opLimit == 0) {
      return;
    }
    int firstPart = parts.rows();
    int firstService = services.rows();
    for (int row = 0; row < excerpt.parts.rows(); row++) {
      int op = id.applyAsInt(high(excerpt.parts.get(row, OP_NUMBER)));
      if (op >= opLimit || isFull()) {
        lacks();
        return;
      }
      int part = parts.add();
      int before = high(excerpt.parts.get(row, PREVIOUS_BYTES));
      long last = excerpt.parts.get(row, LAST_ENTERED);
      partOfOp = roomFor(partOfOp, op);
      partOfOp[op] = part;
      parts.set(part, OP_NUMBER, pack(op, low(excerpt.parts.get(row, OP_NUMBER))));
      parts.set(
          part,
          PREVIOUS_BYTES,
          pack(moved(before, firstPart), low(excerpt.parts.get(row, PREVIOUS_BYTES))));
      parts.set(part, PART_START, excerpt.parts.get(row, PART_START) + startPs);
      long end = excerpt.parts.get(row, PART_END);
      parts.set(part, PART_END, end == NONE ? 0 : end + startPs);
      long by = excerpt.parts.get(row, BY_WRITTEN_AFTER);
      int sentBy = high(by) == NONE ? NONE : id.applyAsInt(high(by));
      parts.set(part, BY_WRITTEN_AFTER, pack(sentBy, moved(low(by), firstPart)));
      parts.set(
          part,
          LAST_ENTERED,
          pack(moved(high(last), firstService), moved(low(last), firstService)));
    }
    for (int row = 0; row < excerpt.services.rows(); row++) {
      if (isFull()) {
        lacks();
        return;
      }
      int service = services.add();
      int link = high(excerpt.services.get(row, LINK_PART)) + linksOn;
      long bytesFrom = excerpt.services.get(row, BYTES_FROM);
      services.set(
          service, LINK_PART, pack(link, firstPart + low(excerpt.services.get(row, LINK_PART))));
      services.set(service, BYTES_FROM, pack(high(bytesFrom), moved(low(bytesFrom), firstService)));
      lastOfLink = roomFor(lastOfLink, link);
      services.set(service, BEFORE, lastOfLink[link]);
      lastOfLink[link] = service;
      services.set(service, HEAD, excerpt.services.get(row, HEAD) + startPs);
      services.set(service, START, excerpt.services.get(row, START) + startPs);
      services.set(service, TAIL, excerpt.services.get(row, TAIL) + startPs);
    }
  }

  private static int moved(int row, int by) {
    return row == NONE ? NONE : row + by;
  }

  // ---- saved and restored ----

  void write(DataOutput out) throws IOException {
    out.writeBoolean(complete);
    parts.write(out);
    services.write(out);
  }

  static TransferLog read(DataInput in, int links) throws IOException {
    TransferLog log = new TransferLog(Integer.MAX_VALUE);
    log.complete = in.readBoolean();
    log.parts.read(in);
    log.services.read(in);
    for (int part = 0; part < log.parts.rows(); part++) {
      int op = log.op(part);
      if (op < 0 || op >= OpLog.MOST_READ) {
        throw new StreamCorruptedException("a part of operation " + op);
      }
      log.partOfOp = roomFor(log.partOfOp, op);
      log.partOfOp[op] = part;
    }
    return log;
  }

  // ---- read ----

  /** Whether everything that moved has its rows. */
  public boolean isComplete() {
    return complete;
  }

  /** Number of services; their ids are 0 to this less one, in no order of time across links. */
  public int services() {
    return services.rows();
  }

  /** The last part of an operation; {@link #NONE} if it moved nothing over the fabric. */
  public int lastPart(int op) {
    return op >= 0 && op < partOfOp.length ? partOfOp[op] : NONE;
  }

  /** Part {@code number} of an operation, counted from 0; {@link #NONE} if it has none. */
  public int part(int op, int number) {
    int part = lastPart(op);
    while (part != NONE && number(part) > number) {
      part = previous(part);
    }
    return part;
  }

  /** The operation of a part. */
  public int op(int part) {
    return high(parts.get(part, OP_NUMBER));
  }

  /** Which part of its operation it is, from 0. */
  public int number(int part) {
    return low(parts.get(part, OP_NUMBER)) & ~(FROM_SWITCH | COPY);
  }

  /** Whether it is the way of a sum from the switch that has made it, not of what was sent. */
  public boolean isFromSwitch(int part) {
    return (low(parts.get(part, OP_NUMBER)) & FROM_SWITCH) != 0;
  }

  /** Whether it is the way of one of several copies that a switch hands out. */
  public boolean isCopy(int part) {
    return (low(parts.get(part, OP_NUMBER)) & COPY) != 0;
  }

  /** The last part of what an operation itself sent; {@link #NONE} if it moved nothing. */
  public int lastSent(int op) {
    int part = lastPart(op);
    while (part != NONE && isFromSwitch(part)) {
      part = previous(part);
    }
    return part;
  }

  /**
   * The part by which fragment {@code number} of a message arrives: of a sum its way down, of
   * copies the one of these that is looked for.
   *
   * @param isTheWay of copies, whether it is the way to where it arrives
   */
  public int arriving(int op, int number, IntPredicate isTheWay) {
    int part = lastPart(op);
    if (part == NONE || !isFromSwitch(part)) {
      return part(op, number);
    }
    while (isFromSwitch(previous(part)) && !isTheWay.test(part)) {
      part = previous(part);
    }
    return part;
  }

  /** The part of the same operation before this; {@link #NONE} for the first. */
  public int previous(int part) {
    return high(parts.get(part, PREVIOUS_BYTES));
  }

  /** Bytes of a part. */
  public int bytes(int part) {
    return low(parts.get(part, PREVIOUS_BYTES));
  }

  /** When a part began: its credit and its channel were there, or its fragment was. */
  public long startPs(int part) {
    return parts.get(part, PART_START);
  }

  /** When the fragment of a message was visible, or taken out of its slot; 0 for other parts. */
  public long endPs(int part) {
    return parts.get(part, PART_END);
  }

  /**
   * Of a receive the operation that sent; of a later fragment of a send the operation whose credit
   * it waited for, {@link #NONE} if it waited for its channel.
   */
  public int by(int part) {
    return high(parts.get(part, BY_WRITTEN_AFTER));
  }

  /** The part whose slot had to be written first; {@link #NONE} if none had. */
  public int writtenAfter(int part) {
    return low(parts.get(part, BY_WRITTEN_AFTER));
  }

  /** The last service of a part: of its last chunk, on the last link; {@link #NONE} for none. */
  public int lastService(int part) {
    return high(parts.get(part, LAST_ENTERED));
  }

  /** The service of a part's last chunk on its first link; {@link #NONE} for none. */
  public int lastEntry(int part) {
    return low(parts.get(part, LAST_ENTERED));
  }

  /** The link of a service. */
  public int link(int service) {
    return high(services.get(service, LINK_PART));
  }

  /** The part of a service. */
  public int partOf(int service) {
    return low(services.get(service, LINK_PART));
  }

  /** Bytes of the chunk. */
  public int chunkBytes(int service) {
    return high(services.get(service, BYTES_FROM));
  }

  /**
   * Where the chunk came from: its service on the link before; on the first link the service of the
   * chunk before it, {@link #NONE} for the first chunk.
   */
  public int from(int service) {
    return low(services.get(service, BYTES_FROM));
  }

  /** Whether the link of a service is the first of the way. */
  public boolean isEntry(int service) {
    int from = from(service);
    return from == NONE || link(from) == link(service);
  }

  /** What the link served before; {@link #NONE} if nothing. */
  public int before(int service) {
    return (int) services.get(service, BEFORE);
  }

  /** When the head reached the link. */
  public long headPs(int service) {
    return services.get(service, HEAD);
  }

  /** When the head entered the link. */
  public long startPsOf(int service) {
    return services.get(service, START);
  }

  /** When the tail had entered the link, which then was free. */
  public long tailPs(int service) {
    return services.get(service, TAIL);
  }
}
