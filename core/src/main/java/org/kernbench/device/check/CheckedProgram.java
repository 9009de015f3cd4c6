package org.kernbench.device.check;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Register;
import org.kernbench.machine.Pe;

/**
 * A program under a {@link Checker}: what it has issued so far, and what each command comes after.
 *
 * <p>Commands of one program are not ordered by being issued one after the other: a command comes
 * after its operands, after what the program has waited for, and after what a message it takes
 * comes after. Order of engines, room in TCM, a full command window and serial issue are timing,
 * and order nothing here.
 */
final class CheckedProgram {
  final CheckedLaunch launch;
  final Pe pe;

  /** The program whose composites this one issues; null for a kernel. */
  final @Nullable CheckedProgram owner;

  private final Checker checker;
  private final Map<Register, Held> values = new IdentityHashMap<>();
  private long commands;

  /** What later commands come after. */
  private @Nullable OrderPoint fence;

  /** What was issued since all earlier commands were waited for. */
  private List<OrderPoint> open = new ArrayList<>();

  /** The composite that is being issued. */
  @Nullable OrderPoint task;

  /** The command that is being issued: a part of it may end before it is issued in whole. */
  @Nullable OrderPoint issuing;

  CheckedProgram(Checker checker, CheckedLaunch launch, Pe pe, @Nullable CheckedProgram owner) {
    this.checker = checker;
    this.launch = launch;
    this.pe = pe;
    this.owner = owner;
  }

  /** A value: when it was there, and who has read it. */
  private static final class Held {
    final @Nullable OrderPoint made;
    final @Nullable OrderPoint slotFreed;
    final List<OrderPoint> readers = new ArrayList<>(0);

    Held(@Nullable OrderPoint made, @Nullable OrderPoint slotFreed) {
      this.made = made;
      this.slotFreed = slotFreed;
    }

    void isReadBy(@Nullable OrderPoint reader) {
      if (reader != null && reader != made) {
        readers.add(reader);
      }
    }
  }

  // ---- commands ----

  /** A command that accesses memory, or a message. */
  OrderPoint command(Register... operands) {
    OrderPoint moment = checker.moment(this, commands++, task);
    moment.after(fence);
    for (Register r : operands) {
      moment.after(made(r));
    }
    readBy(moment, operands);
    add(moment);
    issuing = moment;
    return moment;
  }

  /** A computation: only what it comes after matters, so often an operand stands for it. */
  void computes(Register out, Register... operands) {
    OrderPoint only = implied(fence, operands) ? null : fence;
    boolean several = false;
    for (Register r : operands) {
      OrderPoint m = made(r);
      several |= m != null && only != null && m != only;
      only = m == null ? only : m;
    }
    OrderPoint moment = only;
    if (several) {
      moment = checker.moment(this, commands++, task);
      moment.after(fence);
      for (Register r : operands) {
        moment.after(made(r));
      }
      add(moment);
    }
    readBy(moment, operands);
    makes(out, moment, null);
  }

  /** Whether an operand was made after the fence, and so comes after it. */
  private boolean implied(@Nullable OrderPoint before, Register[] operands) {
    if (before == null) {
      return true;
    }
    for (Register r : operands) {
      OrderPoint m = made(r);
      if (m != null && m.program == this && m.sequence > before.sequence) {
        return true;
      }
    }
    return false;
  }

  private void add(OrderPoint moment) {
    open.add(moment);
    if (task != null) {
      task.after(moment);
    }
  }

  private void readBy(@Nullable OrderPoint reader, Register[] operands) {
    for (Register r : operands) {
      Held held = values.get(r);
      if (held != null) {
        held.isReadBy(reader);
      }
    }
  }

  private @Nullable OrderPoint made(Register r) {
    Held held = values.get(r);
    return held == null ? null : held.made;
  }

  /** A register is ready at a moment. */
  void makes(Register out, @Nullable OrderPoint moment, @Nullable OrderPoint slotFreed) {
    issuing = null;
    values.put(out, new Held(moment, slotFreed));
  }

  /** The program gives a value up: its slot is free when its readers are done. */
  void releases(Register r) {
    // a tile scheduler asks for the readers of values that it has given up
    Held held = owner == null ? values.remove(r) : values.get(r);
    if (held != null && held.slotFreed != null) {
      held.slotFreed.after(held.made);
      held.readers.forEach(held.slotFreed::after);
    }
  }

  /** The program ends: it gives everything up. */
  void ends() {
    List.copyOf(values.keySet()).forEach(this::releases);
    open = List.of();
  }

  // ---- waiting ----

  /** Later commands wait for a value, or for a message. */
  void waitsFor(Register token) {
    waitsFor(made(token));
  }

  void waitsFor(@Nullable OrderPoint moment) {
    if (moment != null && moment != fence) {
      OrderPoint next = nextFence();
      next.after(moment);
    }
  }

  /** Later commands wait for everything so far. */
  void waitsForAll() {
    OrderPoint next = nextFence();
    open.forEach(next::after);
    open = new ArrayList<>();
  }

  /** Later commands wait for those that read a value. */
  void waitsForReaders(Register r) {
    Held held = values.get(r);
    if (held != null) {
      OrderPoint next = nextFence();
      next.after(held.made);
      held.readers.forEach(next::after);
    }
  }

  private OrderPoint nextFence() {
    OrderPoint next = checker.moment(this, commands++, task);
    next.after(fence);
    fence = next;
    return next;
  }

  // ---- composites ----

  /** A composite that reads values of this program is handed over. */
  OrderPoint schedules(List<Register> reads) {
    OrderPoint composite = command(reads.toArray(Register[]::new));
    issuing = null;
    return composite;
  }

  /** The commands of a composite are issued from now on. */
  void begins(OrderPoint composite, Map<Register, OrderPoint> reads) {
    task = null;
    values.clear();
    OrderPoint next = nextFence();
    for (int i = 0; i < composite.causes(); i++) {
      next.after(composite.cause(i)); // what the kernel had waited for, and its values
    }
    reads.forEach((r, made) -> values.put(r, new Held(made, null)));
    task = composite;
  }

  /** When values of this program are there. */
  Map<Register, OrderPoint> made(List<Register> registers) {
    Map<Register, OrderPoint> all = new IdentityHashMap<>();
    for (Register r : registers) {
      OrderPoint m = made(r);
      if (m != null) {
        all.put(r, m);
      }
    }
    return all;
  }
}
