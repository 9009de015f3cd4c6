package org.kernbench.device;

import org.jspecify.annotations.Nullable;

/** A command on its way from issue to completion. Pooled: see {@link TimedExecutor#newOp}. */
final class Op {
  final int index;
  int id;

  /** Its number in the program. */
  long number;

  @Nullable OpKind kind; // null: a fence
  @Nullable Op next;
  @Nullable Engine engine;
  @Nullable CommandQueue queue;
  final TimedPe pe;
  private @Nullable ProgramContext context;

  Register a = Register.NONE;
  Register b = Register.NONE;
  Register c = Register.NONE;
  Register out = Register.NONE;
  int aOffset;
  int bOffset;
  int cOffset;

  /**
   * Operands that do not exist yet, and when and by which operation the last of the others was
   * made.
   */
  int missingOperands;

  long operandsPs;
  int operandsOp;
  @Nullable ComputeOp compute;
  @Nullable Region region;
  @Nullable QueueEnd end;
  boolean inPlace;
  boolean async;
  int bytes;
  int line;

  /** What it computes, in the op log's list. */
  int work;

  Cause issueCause = Cause.KERNEL_START;
  int issueCauseOp;
  long issuePs;
  Cause cause = Cause.KERNEL_START;
  int causeOp;
  long startPs;
  long contentionPs;
  long serialisationPs;
  int link;

  /** Which lanes of a load or store count; null if all do. Its bools are operand b. */
  @Nullable LaneMask mask;

  /** First lane of the command in the mask. */
  int firstLane;

  /** The task of the tile scheduler that this command hands over, or is a part of. */
  @Nullable ScheduledTask task;

  /** When its engine is free for the next; -1 if at its end. */
  long engineFreePs;

  /** A product whose sums take over the storage of its accumulator. */
  boolean inPlaceSum;

  /** A fence: the value whose readers it waits for. */
  Register readersOf = Register.NONE;

  /** Its place in the order in which the PE's loads and stores were issued. */
  long memoryOrder;

  // loads and stores: the earlier operation on the same bytes that must end first
  int memoryBlocker;
  long memoryReadyPs;
  long replyPs;

  /** Where its bytes are: the first one, and the memory that has them all. */
  long physical;

  int memory;

  /** The range of virtual addresses that it was given; null for a physical one. */
  PageMap.@Nullable Range range;

  /** What it took to translate that. */
  long translatePs;

  /** Which byte of the register it begins to fill. */
  int outOffset;

  @Nullable Op previousMemory;
  @Nullable Op nextMemory;

  // messages
  int fragments;
  int fragmentsStarted;
  int fragmentsDone;
  long firstFragment;
  boolean waitsForCredit;
  long channelFreePs;
  long copiedPs;

  /**
   * The bytes of a message, taken when it starts: its source may be a slot that is free again when
   * it arrives.
   */
  byte[] payload = Register.NO_DATA;

  int payloadOffset;
  int slot;

  Op(int index, TimedPe pe) {
    this.index = index;
    this.pe = pe;
  }

  /** The program that it belongs to. */
  ProgramContext context() {
    ProgramContext c = context;
    if (c == null) {
      throw new IllegalStateException("operation " + id + " belongs to no program");
    }
    return c;
  }

  OpKind kind() {
    OpKind k = kind;
    if (k == null) {
      throw new IllegalStateException("a fence has no kind");
    }
    return k;
  }

  void operandReady(long timePs, int producer) {
    if (timePs >= operandsPs) {
      operandsPs = timePs;
      operandsOp = producer;
    }
  }

  /** Whether a register is the accumulator of this product, which may be taken on in the array. */
  boolean takesSumsFrom(Register r) {
    return kind == OpKind.GEMM && c == r && a != r && b != r;
  }

  ComputeOp compute() {
    ComputeOp c = compute;
    if (c == null) {
      throw new IllegalStateException("operation " + id + " computes nothing");
    }
    return c;
  }

  QueueEnd end() {
    QueueEnd e = end;
    if (e == null) {
      throw new IllegalStateException("operation " + id + " is not a message");
    }
    return e;
  }

  Region region() {
    Region r = region;
    if (r == null) {
      throw new IllegalStateException("operation " + id + " moves no memory");
    }
    return r;
  }

  Engine engine() {
    Engine e = engine;
    if (e == null) {
      throw new IllegalStateException("operation " + id + " runs on no engine");
    }
    return e;
  }

  CommandQueue queue() {
    CommandQueue q = queue;
    if (q == null) {
      throw new IllegalStateException("operation " + id + " is in no queue");
    }
    return q;
  }

  /** The stream of the program that issued it, or handed over the task that it is a part of. */
  int stream() {
    return task == null ? context().stream : task.owner.stream;
  }

  /** Of two heads that are ready: the one whose stream was served longer ago, then the older. */
  boolean goesBefore(Op other) {
    long served = queue().startedPs();
    long otherServed = other.queue().startedPs();
    return served != otherServed ? served < otherServed : id < other.id;
  }

  /** Whether it touches bytes that another access touches; gaps between rows count as touched. */
  boolean overlaps(Op other) {
    return bytes > 0
        && other.bytes > 0
        && physical < other.physical + other.region().extent()
        && other.physical < physical + region().extent()
        && !areColumnsApart(other);
  }

  /** Whether both are blocks of one matrix whose columns do not meet, although their spans do. */
  private boolean areColumnsApart(Op other) {
    long stride = region().rows() > 1 ? region().strideBytes() : other.region().strideBytes();
    boolean sameMatrix =
        (region().rows() <= 1 || region().strideBytes() == stride)
            && (other.region().rows() <= 1 || other.region().strideBytes() == stride);
    if (!sameMatrix || region().rowBytes() > stride || other.region().rowBytes() > stride) {
      return false;
    }
    long apart = Math.floorMod(other.physical - physical, stride);
    return apart >= region().rowBytes() && apart + other.region().rowBytes() <= stride;
  }

  /** Bytes of fragment {@code k} of a message. */
  int fragmentBytes(int k, long slotBytes) {
    return fragments == 1 ? bytes : (int) Math.min(slotBytes, bytes - k * slotBytes);
  }

  /** Notes the way that the bytes take: its narrowest link unless contention names another. */
  void moves(Route route, long serialPs) {
    serialisationPs = serialPs;
    if (link < 0) {
      link = route.narrowestLink;
    }
  }

  /** Makes it a new command of a program. */
  void clear(ProgramContext of) {
    context = of;
    kind = null;
    next = null;
    engine = null;
    queue = null;
    a = Register.NONE;
    b = Register.NONE;
    c = Register.NONE;
    out = Register.NONE;
    missingOperands = 0;
    operandsPs = 0;
    operandsOp = -1;
    compute = null;
    region = null;
    range = null;
    translatePs = 0;
    outOffset = 0;
    end = null;
    inPlace = false;
    async = false;
    contentionPs = 0;
    serialisationPs = 0;
    link = -1;
    memoryBlocker = -1;
    memoryReadyPs = -1;
    fragments = 1;
    fragmentsStarted = 0;
    fragmentsDone = 0;
    waitsForCredit = false;
    task = null;
    mask = null;
    firstLane = 0;
    engineFreePs = -1;
    inPlaceSum = false;
    readersOf = Register.NONE;
    line = 0;
    work = 0;
    payload = Register.NO_DATA;
  }
}
