package org.kernbench.device.simulator;

import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.CopyDirection;
import org.kernbench.device.Launch;
import org.kernbench.device.LaunchRequest;
import org.kernbench.device.PePort;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.QueueSet;
import org.kernbench.device.Reused;
import org.kernbench.device.Watch;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.memory.MmuCounts;
import org.kernbench.device.memory.PageMap;
import org.kernbench.machine.PhysicalAddress;

/** Runs launches; one implementation keeps time, one computes values only. */
interface Executor {
  QueueSet install(QueuePlan plan);

  void uninstall(QueueSet set);

  Launch launch(LaunchRequest spec, Function<PePort, Runnable> program);

  /** The host has mapped memory. */
  void mapped(PageMap.Range range);

  /**
   * The host is about to unmap memory. It is still there: a launch that has ended by what came of
   * another may have to be simulated after all, and reads it then.
   */
  void unmaps(PageMap.Range range);

  MmuCounts mmuCounts();

  /** Whether a translation has had to make room for another one in any TLB. */
  boolean hasEvicted();

  /** Runs until the host has copied bytes; returns how long it took. */
  long hostCopy(PhysicalAddress at, long bytes, CopyDirection direction);

  /** Runs to the end of the picosecond in which the first of the launches is done. */
  void driveToFirst(List<Launch> launches);

  long nowPs();

  long eventCount();

  OpLog log();

  /** Most slots in use at once in any queue of a set, from the oldest in use to the newest. */
  int peakSlots(QueueSet set);

  /** What became of launches so far; empty if each is simulated anyway. */
  Optional<Reused> reused();

  /** Watches the execution; null if nobody asked for it. */
  @Nullable Watch watch();

  void close();
}
