package org.kernbench.device;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.fabric.FabricRoute;
import org.kernbench.device.fabric.Ties;
import org.kernbench.device.log.CostModel;
import org.kernbench.device.log.KernelLines;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.memory.Memories;
import org.kernbench.device.memory.PageMap;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.PhysicalAddress;
import org.kernbench.machine.Symmetry;

/**
 * What all PEs of a machine in simulated time use, whichever {@link World} they are in: its
 * description, memories, costs and routes, and what is noted of a run.
 */
final class MachineParts {
  /**
   * The ways between a PE and a memory.
   *
   * @param there for written data, ending with the memory's port
   * @param back for read data, beginning with the memory's port
   * @param requestPs latency of a command to the memory, without the memory's own access time
   * @param replyPs latency of an acknowledgement from the memory
   */
  record MemoryPath(FabricRoute there, FabricRoute back, long requestPs, long replyPs) {}

  final Machine machine;
  final Mode mode;
  final OpLog log;
  final Memories memories;
  final PageMap map;

  /** The shifts by which packages are folded, so that package 0 stands for all; null if not. */
  final @Nullable Symmetry folded;

  /** How much a program says before the CPU takes it. */
  final int tapeSize;

  /** Is told which kernel has control; null if nobody asks. */
  final @Nullable RunWatch shown;

  /** Hears of every operation that ends; null if nothing is checked. */
  final @Nullable Watch watch;

  final Ties ties;

  private final boolean capturesLines;
  private final KernelLines lines = new KernelLines();

  /** By package; null for those with the usual engines, or if all have them. */
  private final @Nullable CostModel[] slowCosts;

  private final CostModel usualCost;

  private final Map<Integer, Map<Long, FabricRoute>> routes = new HashMap<>();

  MachineParts(
      Machine machine,
      Mode mode,
      Memories memories,
      PageMap map,
      SimulatorOptions options,
      int tapeSize,
      @Nullable Symmetry folded) {
    this.machine = machine;
    this.mode = mode;
    this.memories = memories;
    this.map = map;
    this.folded = folded;
    this.tapeSize = tapeSize;
    this.shown = options.shown().orElse(null);
    this.capturesLines = options.captureLines();
    this.log = new OpLog(machine, options.opLogLimit());
    this.ties = Ties.of(machine);
    if (folded != null) {
      log.foldedBy(folded);
    }
    this.usualCost = new CostModel(machine.pe());
    this.slowCosts = slowCosts(machine);
    this.watch = options.watch().map(source -> source.of(machine, map, log, mode)).orElse(null);
  }

  /** Where packages are folded, what a PE is when {@code of} is moved to package 0; else the PE. */
  Pe representative(Pe pe, Pe of) {
    return folded == null ? pe : folded.shifted(pe, folded.backFrom(of.sip()));
  }

  int node(PhysicalAddress address) {
    return memories.node(address);
  }

  // ---- routes ----

  /**
   * A route between two nodes.
   *
   * @param owner package of the PE that moves bytes on it, {@link Machine#sips} for the host
   */
  synchronized FabricRoute route(int from, int to, int owner) {
    return routes
        .computeIfAbsent(from, f -> new HashMap<>())
        .computeIfAbsent(
            ((long) owner << 32) | to,
            t -> FabricRoute.of(machine, machine.route(from, to), owner, folded));
  }

  /** How a PE of a package, or the host, reaches a memory. */
  MemoryPath path(int node, int memory, int owner) {
    long request = machine.route(node, memory).requestPs();
    long reply = machine.route(memory, node).replyPs();
    return new MemoryPath(route(node, memory, owner), route(memory, node, owner), request, reply);
  }

  // ---- costs ----

  private static @Nullable CostModel[] slowCosts(Machine machine) {
    CostModel[] costs = new CostModel[machine.slowPackages().isEmpty() ? 0 : machine.sips()];
    for (int sip = 0; sip < costs.length; sip++) {
      if (!machine.pe(sip).equals(machine.pe())) {
        costs[sip] = new CostModel(machine.pe(sip));
      }
    }
    return costs;
  }

  /** What computations cost in a package. */
  CostModel cost(int sip) {
    CostModel slow = slowCosts.length == 0 ? null : slowCosts[sip];
    return slow == null ? usualCost : slow;
  }

  // ---- source lines ----

  /** The kernel's line that has control, as the log numbers them; 0 if they are not noted. */
  int line() {
    return capturesLines ? log.lineId(lines.current()) : 0;
  }

  /** Where the program is, for a message that ends the run. */
  String currentLine() {
    return lines.current();
  }

  String atLine(int line) {
    return line == 0 ? "" : " at " + log.lineAt(line);
  }
}
