package org.kernbench.device.simulator;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Mode;
import org.kernbench.device.Steps;
import org.kernbench.device.fabric.Fabric;
import org.kernbench.device.fabric.PackagePlaces;
import org.kernbench.device.log.OpTally;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.spec.DimensionKind;
import org.kernbench.machine.spec.IssuePolicy;
import org.kernbench.sim.ApartSimulation;
import org.kernbench.sim.Simulation;

/**
 * When packages may run ahead of each other, and the beginning and end of that (ADR 0065, ADR
 * 0066).
 *
 * <p>Nobody may be able to tell: nobody looks at data, which would have to be there; no rows are
 * kept, whose numbers follow the order of the simulator; and a command that waits for a credit
 * holds up none but its queue. Then all that passes between packages takes at least the latency of
 * the links between them: messages, credits, accesses and their replies.
 */
final class ApartRun {
  /**
   * When it pays.
   *
   * @param fewestPackages launches over fewer run together: their records stay in the cache anyway
   * @param perPartition packages, of which two partitions, with some kilobytes each, should fit a
   *     second-level cache
   * @param threads at most so many, for programs in {@link Steps}; for others one
   */
  record Limits(int fewestPackages, int perPartition, int threads) {
    static final Limits NEVER = new Limits(Integer.MAX_VALUE, 1, 1);

    /** Round a switch each is everybody's neighbour, and none gets far ahead of the others. */
    static Limits usual(Machine machine) {
      return machine.dimensions().stream().anyMatch(d -> d.kind() == DimensionKind.SWITCH)
          ? NEVER
          : new Limits(256, 64, Runtime.getRuntime().availableProcessors());
    }
  }

  private final TimedExecutor executor;
  private final MachineParts parts;
  private final CommandTable commands;
  private final World together;
  private final Limits limits;
  private final boolean allowed;

  /** Whether source lines are noted, in a table that threads do not share. */
  private final boolean capturesLines;

  /** Made when a launch runs apart for the first time. */
  private @Nullable PackagePlaces packages;

  /** While a launch runs apart. */
  private @Nullable ApartSimulation sim;

  /** The launch that ran apart last. */
  private @Nullable LaunchState running;

  private List<World> worlds = List.of();

  /**
   * Of a machine that records so much.
   *
   * @param together the world of all PEs when they do not run apart
   */
  ApartRun(
      TimedExecutor executor,
      MachineParts parts,
      CommandTable commands,
      SimulatorOptions options,
      World together,
      Limits limits) {
    this.executor = executor;
    this.parts = parts;
    this.commands = commands;
    this.together = together;
    this.limits = limits;
    this.capturesLines = options.captureLines();
    this.allowed =
        parts.mode == Mode.TIME
            && options.opLogLimit() == 0
            && options.watch().isEmpty()
            && parts.machine.pe().cpu().issue() != IssuePolicy.SERIAL;
  }

  /** The only launch starts, whose end the host waits for: if it may, it runs apart. */
  void beginIfAllowed(LaunchState launch) {
    if (!allowed
        || !together.sim.isQuiet()
        || launch.pes().stream().mapToInt(Pe::sip).distinct().count() < limits.fewestPackages
        || !(together.fabric instanceof Fabric fabric)
        || fabric.isBanked()) {
      return;
    }
    PackagePlaces p = packages;
    if (p == null) {
      p = new PackagePlaces(parts.machine);
      packages = p;
    }
    ApartSimulation apart =
        new ApartSimulation(p.places, limits.perPartition, together.sim.nowPs());
    sim = apart;
    running = launch;
    Fabric[] fabrics = new Fabric[apart.partitions()];
    IntFunction<Fabric> byPlace = place -> fabrics[apart.partitionOf(place)];
    List<World> made = new ArrayList<>();
    for (int i = 0; i < fabrics.length; i++) {
      Simulation part = apart.simulation(i);
      fabrics[i] = fabric.part(part, p, byPlace);
      World world = new World(parts, commands, executor, part, fabrics[i], new OpTally(parts.log));
      fabrics[i].tells(world);
      made.add(world);
    }
    worlds = made;
    executor.follow(apart);
    for (TimedPe pe : executor.pesInUse()) {
      pe.world = made.get(apart.partitionOf(pe.place));
    }
  }

  private boolean hasThread(Pe pe, LaunchState launch) {
    return executor.pe(pe).context(launch.stream()).program.hasThread();
  }

  /**
   * Runs what has begun to its end.
   *
   * @return false if nothing has
   */
  boolean run() {
    ApartSimulation apart = sim;
    LaunchState launch = running;
    if (apart == null || launch == null) {
      return false;
    }
    boolean alone = capturesLines || launch.pes().stream().anyMatch(pe -> hasThread(pe, launch));
    apart.run(alone ? 1 : limits.threads);
    end(Math.max(apart.latestPs(), launch.isDone() ? launch.donePs() : 0));
    return true;
  }

  private void end(long timePs) {
    ApartSimulation apart = Objects.requireNonNull(sim);
    for (World world : worlds) {
      together.add(world);
    }
    for (TimedPe pe : executor.pesInUse()) {
      pe.world = together;
    }
    together.sim.passOver(timePs, apart.eventCount());
    sim = null;
    running = null;
    worlds = List.of();
    executor.follow(null);
  }

  /** The run has failed, if it has not ended: what is under way is lost. */
  void giveUp() {
    ApartSimulation apart = sim;
    if (apart != null) {
      end(apart.latestPs());
    }
  }
}
