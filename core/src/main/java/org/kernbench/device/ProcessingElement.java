package org.kernbench.device;

import org.kernbench.device.memory.TcmSpace;
import org.kernbench.device.reuse.PeMark;
import org.kernbench.machine.Pe;

/**
 * A PE as its commands and messages know it: which it is, in what world, and what it is told of
 * them. There is one sort, {@link TimedPe}, so that a call costs no look-up.
 */
abstract class ProcessingElement {
  /** The world that it is in: another while packages run apart. */
  World world;

  final int index;
  final Pe pe;

  /** Dense over its package. */
  final int indexInPackage;

  /** Its place in the simulation: its package. */
  final int place;

  final TcmSpace tcm;

  /** What of its launches may be used again. */
  final PeMark mark = new PeMark();

  ProcessingElement(World world, int index, Pe pe) {
    this.world = world;
    this.index = index;
    this.pe = pe;
    this.place = pe.sip();
    var machine = world.machine;
    this.indexInPackage = index % (machine.cubesPerSip() * machine.pesPerCube());
    this.tcm = new TcmSpace(machine.pe().tcm().sizeBytes());
  }

  // ---- what it is told ----

  /**
   * The operation, no send, is complete, and its effects are visible from {@code endPs} on: now, or
   * later if that is certain.
   */
  abstract void complete(Op op, long endPs);

  /** The last byte of a message leaves its channel at {@code timePs}, now or later. */
  abstract void sendLeft(Op op, long timePs);

  /**
   * The receiver of a message sees it at {@code timePs}. The sender does not know: only the end of
   * its launch waits for that.
   */
  abstract void sendSeen(Op op, long timePs);

  /** A register that a command waits for is there; at the head of its engine it may start. */
  abstract void isThere(TimedRegister ready, Op op);

  /** Room in TCM may be free now. */
  abstract void tcmGiven();

  // ---- what it is asked for ----

  /**
   * Starts the commands at the heads of an engine's queues that can start; to be called through
   * {@link World#tryStart} only.
   */
  abstract void startHeads(Engine engine);

  /** Its way to a memory. */
  abstract MachineParts.MemoryPath path(int memory);

  /** The message channel that serves the sends of a queue, by the queue's place on the PE. */
  abstract Engine channel(int ordinal);

  /** Takes room in TCM for the slots of a queue. */
  void addSlots(long tcmBytes) {
    tcm.reserveForSlots(tcm.slotBytes() + tcmBytes);
  }

  /** Gives it back. */
  void removeSlots(long tcmBytes) {
    tcm.reserveForSlots(tcm.slotBytes() - tcmBytes);
    tcmGiven();
  }
}
