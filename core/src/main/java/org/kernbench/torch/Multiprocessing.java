package org.kernbench.torch;

import java.util.function.Consumer;
import org.kernbench.machine.CannotFoldException;
import org.kernbench.machine.SimulationException;

/** Starts ranks ({@code torch.multiprocessing} in PyTorch). */
public final class Multiprocessing {
  private final Session session;
  private final Groups groups;

  Multiprocessing(Session session, Groups groups) {
    this.session = session;
    this.groups = groups;
  }

  /**
   * Runs {@code body} once per rank and returns when all ranks have ended and everything they
   * launched is done. The ranks are cooperative: exactly one runs at a time, and they are switched
   * only where they wait, in rank order. They share the memory of this process.
   *
   * @param worldSize number of ranks; at most the number of devices
   * @throws SpawnException if a rank throws; the others are stopped where they next wait
   * @throws org.kernbench.device.DeadlockException if ranks or kernels wait for each other
   */
  public void spawn(Consumer<Worker> body, int worldSize) {
    spawn(body, worldSize, Scheduler.PENDING);
  }

  /**
   * As {@link #spawn(Consumer, int)}, with room for more or fewer launches.
   *
   * @param pending launches of a rank that may be under way before its host waits until half of
   *     them are done, as the queue of a driver is finite; that of {@link #spawn(Consumer, int)} is
   *     4096
   */
  public void spawn(Consumer<Worker> body, int worldSize, int pending) {
    if (pending < 1) {
      throw new SimulationException(
          "spawn with room for " + pending + " launches; expected 1 or more, such as 4096");
    }
    if (session.hasRanks()) {
      throw new SimulationException(
          "spawn inside a rank; expected it in the host program, one at a time");
    }
    int devices = session.deviceCount();
    if (worldSize < 1 || worldSize > devices) {
      throw new SimulationException(
          """
          spawn of %s ranks: expected 1 to %s, one per %s of machine %s; spawn fewer, \
          choose a finer rank_level or a larger machine\
          """
              .formatted(worldSize, devices, session.rankLevelName(), session.machine().name()));
    }
    if (session.isFolded() && worldSize != devices) {
      throw new CannotFoldException(
          "%s of %s devices are ranks; let all packages take part alike"
              .formatted(worldSize, devices));
    }
    Members before = groups.world();
    if (before != null && before.size() != worldSize) {
      throw new SimulationException(
          """
          spawn of %s ranks, but the process group has %s; spawn as many, or set \
          world_size of the collective configuration to %s\
          """
              .formatted(worldSize, before.size(), worldSize));
    }
    Scheduler scheduler = new Scheduler(session, groups, worldSize, body, pending);
    session.beginRanks(scheduler::current);
    try {
      scheduler.run();
    } finally {
      session.endRanks();
      groups.endOfSpawn();
    }
  }
}
