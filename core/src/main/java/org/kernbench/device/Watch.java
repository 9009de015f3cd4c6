package org.kernbench.device;

import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.memory.CountedLanes;
import org.kernbench.device.memory.PageMap;
import org.kernbench.device.memory.Region;
import org.kernbench.machine.Machine;
import org.kernbench.machine.PhysicalAddress;

/**
 * Sees the execution of one simulator as it goes, to judge it: what the host does, what programs
 * issue, and what has happened. It changes no value and no time. The machine asks for it once per
 * operation that ends, so nothing is paid when nobody watches.
 */
public interface Watch {
  /** Watches every simulator that is opened with it. */
  interface Source {
    /** A watch for a simulator that is being opened. */
    Watch of(Machine machine, PageMap map, OpLog log, Mode mode);
  }

  /** One launch, known from the host's call on. */
  interface OfLaunch {
    /** A program that is watched: it does what {@code program} does. */
    Function<PePort, Runnable> watched(Function<PePort, Runnable> program);

    /** The machine has taken the launch. */
    void launched(Launch launch);
  }

  /**
   * A load or a store that has ended.
   *
   * @param value what the load makes, or the token of the store
   * @param isWhole whether it is all of the command, which otherwise has several parts
   * @param bytes 0 for one that moves none
   * @param line of the kernel, as the op log numbers them
   * @param physical where its first byte is
   * @param range the virtual addresses that it was given; null for a physical one
   * @param mask which lanes count; null if all do
   * @param firstLane its first lane in the mask
   */
  record Access(
      Register value,
      boolean isWhole,
      boolean writes,
      long bytes,
      long startPs,
      long endPs,
      int line,
      long physical,
      PageMap.@Nullable Range range,
      Region region,
      @Nullable CountedLanes mask,
      int firstLane) {}

  /** Queues are installed. */
  void installed(QueueSet set);

  /** Queues are taken away. */
  void uninstalled(QueueSet set);

  /** The host launches a kernel. */
  OfLaunch launches(LaunchRequest spec);

  /** The host reads or writes memory now. */
  void hostAccess(
      boolean writes, PhysicalAddress at, long bytes, PageMap.@Nullable Range range, long nowPs);

  /** The host gives memory back. */
  void erased(PhysicalAddress at, long bytes);

  /**
   * A load or store has ended.
   *
   * @param program the port on which it was issued
   */
  void accessed(PePort program, Access access);

  /**
   * A message has arrived.
   *
   * @param program the port on which it was sent
   * @param queue of the sender
   */
  void arrived(PePort program, int queue, int bytes, int line, long endPs);

  /** The run has stopped with an error. */
  void failed(boolean deadlock);

  /** The simulator is closed. */
  void closed();
}
