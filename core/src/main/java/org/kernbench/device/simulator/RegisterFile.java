package org.kernbench.device.simulator;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.kernbench.machine.SimulationException;

/**
 * The values of one program: which are alive, who still reads them, and what becomes of their
 * storage. A value is dead when the program has released it, it exists, and its last reader has
 * ended; its room in TCM, or its message slot, is free from then on.
 */
final class RegisterFile {
  private static final int SHOWN = 5;

  private final TimedPe pe;
  private @Nullable TimedRegister alive;

  RegisterFile(ProgramContext context) {
    this.pe = context.pe;
  }

  // ---- what the program says, ahead of the CPU ----

  /** The program names a value that somebody is to read. */
  void mayRead(TimedRegister r) {
    if (r.released && r.keepers == 0) {
      throw new SimulationException(
          """
          %s: the kernel reads a value%s that it has released; release it after its last \
          use\
          """
              .formatted(pe.pe, pe.world.parts.atLine(r.line)));
    }
  }

  /** The program gives a value up. */
  void giveUp(TimedRegister r) {
    if (r.released) {
      throw new SimulationException(pe.pe + ": a value was released twice");
    }
    r.released = true;
  }

  // ---- what the CPU takes ----

  /** A command that makes a value is taken. */
  void add(TimedRegister r) {
    TimedRegister first = alive;
    r.next = first;
    if (first != null) {
      first.previous = r;
    }
    alive = r;
  }

  /** Somebody will read a value, up to {@link #finishedReading}. */
  void reads(TimedRegister r) {
    r.readers++;
  }

  /** One reader of a value is done with it at {@code timePs}, now or later. */
  void finishedReading(TimedRegister r, int op, long timePs) {
    if (r != TimedRegister.NONE) {
      r.readers--;
      if (timePs >= r.lastReadPs) {
        r.lastReadPs = timePs;
        r.lastReader = op;
      }
      freeIfDead(r);
    }
  }

  /** A value that the program has given up goes when it is dead. */
  void release(TimedRegister r) {
    r.dropped = true;
    freeIfDead(r);
  }

  /** A value's storage has become that of another. */
  void movedOn(TimedRegister r) {
    unlink(r);
  }

  void releaseAll() {
    List<TimedRegister> kept = new ArrayList<>(); // room that one gives may make others go
    for (TimedRegister r = alive; r != null; r = r.next) {
      if (!r.dropped) {
        kept.add(r);
      }
    }
    for (TimedRegister r : kept) {
      r.released = true;
      release(r);
    }
  }

  private void unlink(TimedRegister r) {
    TimedRegister p = r.previous;
    TimedRegister n = r.next;
    if (p == null && r != alive) {
      return; // never linked: the token of a store
    }
    if (p == null) {
      alive = n;
    } else {
      p.next = n;
    }
    if (n != null) {
      n.previous = p;
    }
    r.previous = null;
    r.next = null;
  }

  /** Gives back the storage of a value that nobody will read again, at the end of its last read. */
  void freeIfDead(TimedRegister r) {
    if (!r.dropped || r.readers > 0 || !r.ready || r.moved || r == TimedRegister.NONE) {
      return;
    }
    unlink(r);
    long deadPs = Math.max(pe.world.sim.nowPs(), Math.max(r.readyPs, r.lastReadPs));
    TimedRegister.Slots slots = r.slotQueue;
    if (slots != null) {
      r.slotQueue = null;
      slots.free(r.slot, r.lastReader, deadPs);
    } else if (r.inTcm && r.bytes > 0) {
      pe.giveTcm(deadPs, r.bytes, r.lastReader);
    }
  }

  // ---- for reports ----

  /** The largest values that have room in TCM: sizes and source lines; empty if none has. */
  String describeLive() {
    List<TimedRegister> with = new ArrayList<>();
    for (TimedRegister r = alive; r != null; r = r.next) {
      if (r.hasRoom && r.bytes > 0) {
        with.add(r);
      }
    }
    with.sort(Comparator.comparingInt((TimedRegister r) -> -r.bytes));
    StringBuilder s = new StringBuilder();
    for (TimedRegister r : with.subList(0, Math.min(SHOWN, with.size()))) {
      s.append(s.isEmpty() ? "" : ", ")
          .append(r.bytes)
          .append(" bytes")
          .append(pe.world.parts.atLine(r.line));
    }
    if (with.size() > SHOWN) {
      s.append(" and ").append(with.size() - SHOWN).append(" more");
    }
    return s.toString();
  }

  /** Slots of an end of this PE that unreleased values keep. */
  int slotsHeld(TimedRegister.Slots end) {
    int held = 0;
    for (TimedRegister r = alive; r != null; r = r.next) {
      if (r.slotQueue == end && !r.dropped) {
        held++;
      }
    }
    return held;
  }
}
