package org.kernbench.device;

import org.jspecify.annotations.Nullable;
import org.kernbench.device.log.Cause;
import org.kernbench.device.log.OpKind;

/**
 * A command on its way from issue to completion: here what all have in common, which is all of a
 * fence or of a task for the tile scheduler. Pooled, each sort by itself (see {@link CommandPool}):
 * with thousands of PEs in step the lines of the cache that a command takes are what it costs.
 */
class Op extends TimedRegister.Reader {
  final int index;
  int id;

  /** Which command of its PE it is, of all its programs. */
  int ordinal;

  /** Its number in the program. */
  long number;

  @Nullable OpKind kind; // null: a fence
  @Nullable Op next;
  @Nullable Engine engine;
  @Nullable CommandQueue queue;
  final ProcessingElement pe;
  private @Nullable Issuer issuer;

  /** Operands; what they are is the business of the sort of command. */
  TimedRegister a = TimedRegister.NONE;

  TimedRegister b = TimedRegister.NONE;
  TimedRegister c = TimedRegister.NONE;

  TimedRegister out = TimedRegister.NONE;

  /** Where in the first operand its bytes begin. */
  int aOffset;

  /**
   * Operands that do not exist yet, and when and by which operation the last of the others was
   * made.
   */
  int missingOperands;

  long operandsPs;
  int operandsOp;
  boolean async;

  /** Its result is in storage that another command has taken. */
  boolean hasRoom;

  int bytes;
  int line;

  Cause issueCause = Cause.KERNEL_START;
  int issueCauseOp;
  long issuePs;
  Cause cause = Cause.KERNEL_START;
  int causeOp;
  long startPs;

  /** The task of the tile scheduler that this command hands over, or is a part of. */
  @Nullable ScheduledTask task;

  /** A fence: the value whose readers it waits for. */
  TimedRegister readersOf = TimedRegister.NONE;

  Op(int index, ProcessingElement pe) {
    this.index = index;
    this.pe = pe;
  }

  /** Whose command it is. */
  Issuer issuer() {
    Issuer i = issuer;
    if (i == null) {
      throw new IllegalStateException("operation " + id + " belongs to no program");
    }
    return i;
  }

  /** Who handed over the task that it is a part of; else whose command it is. */
  Issuer owner() {
    return task == null ? issuer() : task.owner;
  }

  @Override
  final void isThere(TimedRegister value) {
    pe.isThere(value, this);
  }

  /** Tells a watch that it has ended, if that is worth telling. */
  void tells(Watch watch, long endPs) {}

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
  boolean takesSumsFrom(TimedRegister r) {
    return kind == OpKind.GEMM && c == r && a != r && b != r;
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
    return owner().stream;
  }

  /** Of two heads that are ready: the one whose stream was served longer ago, then the older. */
  boolean goesBefore(Op other) {
    long served = queue().startedPs();
    long otherServed = other.queue().startedPs();
    return served != otherServed ? served < otherServed : id < other.id;
  }

  /** Makes it a new command of a program. */
  void clear(Issuer of) {
    issuer = of;
    kind = null;
    next = null;
    engine = null;
    queue = null;
    missingOperands = 0;
    operandsPs = 0;
    operandsOp = -1;
    async = false;
    hasRoom = false;
    line = 0;
    task = null;
    readersOf = TimedRegister.NONE;
  }

  /** Lets go of its values. */
  void forget() {
    a = TimedRegister.NONE;
    b = TimedRegister.NONE;
    c = TimedRegister.NONE;
    out = TimedRegister.NONE;
  }
}
