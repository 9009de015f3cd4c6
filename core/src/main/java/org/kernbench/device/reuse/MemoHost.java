package org.kernbench.device.reuse;

import java.util.List;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.log.OpTally;
import org.kernbench.device.memory.PageMap;

/** The machine whose launches are remembered. */
public interface MemoHost {
  /** The PE with that index in the machine. */
  MemoPe pe(int index);

  /** PEs of a package. */
  int pesPerPackage();

  /** The PEs that have done anything, or are part of anything. */
  List<? extends MemoPe> pesInUse();

  /** What time it is there, in picoseconds. */
  long nowPs();

  /** How many starts of launches have been scheduled so far. */
  int startCount();

  /** Where what comes again is written. */
  OpLog log();

  /** Counts what comes again. */
  OpTally tally();

  /** Which memory is behind which addresses. */
  PageMap map();

  /** Something that is settled ends at a time, in picoseconds. */
  void isLater(long timePs);
}
