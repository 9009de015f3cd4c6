package org.kernbench.device.reuse;

import java.util.List;
import org.kernbench.device.memory.Mmu;

/** A PE that launches run on. */
public interface MemoPe {
  /** What is remembered of it; always the same object. */
  PeMark mark();

  /** Its index in the machine. */
  int index();

  /** Its place in the simulation. */
  int place();

  /** Bytes of TCM that operations may take. */
  long tcmCapacity();

  /** Its memory management unit. */
  Mmu mmu();

  /** The engines that do what is no message, always in the same order. */
  List<? extends MemoEngine> computeEngines();

  /** Streams that may run programs, the tile scheduler's among them. */
  int streams();

  /** Commands so far, of all its programs. */
  int commands();

  /** So many more have been. */
  void addCommands(int count);

  /** Whether no other stream runs a program here. */
  boolean isAllFor(int stream);

  /** How many streams have a program, or a launch that has not started. */
  int activeStreams();

  /** It is so many. */
  void activeStreams(int count);
}
