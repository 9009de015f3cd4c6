package org.kernbench.torch;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.device.QueuePlan;
import org.kernbench.device.QueueSet;
import org.kernbench.device.simulator.Simulator;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.SimulationException;
import org.kernbench.machine.spec.BufferKind;
import org.kernbench.machine.spec.IpcqSpec;

/**
 * The message queues of collectives that are installed. Equal plans share a set: collectives on one
 * PE run one after the other, and each takes all messages that it sends. Kernels run beside them
 * and are planned for half of every TCM; when slots do not fit the other half, the set that was not
 * used for the longest time makes room.
 */
final class QueueSets {
  /** Plans that are known without comparing them. */
  private static final int KNOWN = 256;

  private final Simulator simulator;
  private final Map<QueuePlan, QueueSet> installed = new LinkedHashMap<>(16, 0.75f, true);
  private final Map<QueuePlan, QueuePlan> known = new IdentityHashMap<>();
  private final Map<List<QueuePlan>, QueuePlan> unions = new HashMap<>();

  /** What all sets take of the TCM of each PE. */
  private final Map<Pe, Long> slotBytes = new HashMap<>();

  QueueSets(Simulator simulator) {
    this.simulator = simulator;
  }

  /** What kernels may use of each TCM beside all sets: half. */
  static long roomBeside(Machine machine) {
    return machine.pe().tcm().sizeBytes() / 2;
  }

  /**
   * The queues of a plan.
   *
   * @param wait lets launches end that hold others, if there are any
   */
  QueueSet of(QueuePlan plan, Runnable wait) {
    QueuePlan same = known.get(plan);
    QueueSet set = installed.get(same == null ? plan : same);
    if (set == null) {
      leaveHalf(plan, wait);
      set = install(plan, wait);
      count(plan, 1);
      installed.put(plan, set);
    }
    if (same != set.plan()) {
      if (known.size() >= KNOWN) {
        known.clear();
      }
      known.put(plan, set.plan());
    }
    return set;
  }

  /** The queues of several lanes, as one plan. */
  QueuePlan union(List<QueuePlan> lanes) {
    if (lanes.size() == 1) {
      return lanes.getFirst();
    }
    return unions.computeIfAbsent(
        List.copyOf(lanes),
        plans -> {
          List<QueuePlan.Connection> all = new ArrayList<>();
          plans.forEach(p -> all.addAll(p.connections()));
          return new QueuePlan(plans.getFirst().spec(), all);
        });
  }

  private QueueSet install(QueuePlan plan, Runnable wait) {
    boolean waited = false;
    while (true) {
      try {
        return simulator.installApart(plan);
      } catch (SimulationException e) {
        if (evict()) {
          continue;
        }
        if (waited || installed.isEmpty()) {
          throw e;
        }
        wait.run();
        waited = true;
      }
    }
  }

  /** Removes sets until those that stay take at most half of each TCM with another one. */
  private void leaveHalf(QueuePlan plan, Runnable wait) {
    Machine machine = simulator.machine();
    long most = machine.pe().tcm().sizeBytes() - roomBeside(machine);
    Map<Pe, Long> more = new HashMap<>();
    addTo(more, plan, 1);
    boolean waited = false;
    while (!installed.isEmpty() && !fits(more, most)) {
      if (!evict()) {
        if (waited) {
          return; // who holds them is not done yet: half is a wish
        }
        wait.run();
        waited = true;
      }
    }
  }

  private boolean fits(Map<Pe, Long> more, long most) {
    return more.entrySet().stream()
        .allMatch(e -> slotBytes.getOrDefault(e.getKey(), 0L) + e.getValue() <= most);
  }

  private void count(QueuePlan plan, int sign) {
    addTo(slotBytes, plan, sign);
  }

  private static void addTo(Map<Pe, Long> bytes, QueuePlan plan, int sign) {
    IpcqSpec spec = plan.spec();
    if (spec.bufferKind() == BufferKind.TCM) {
      long each = (long) sign * spec.slots() * spec.slotBytes();
      for (QueuePlan.Connection c : plan.connections()) {
        c.receivers().forEach(pe -> bytes.merge(pe, each, Long::sum));
      }
    }
  }

  /** Removes the idle set that was not used for the longest time; false if there is none. */
  private boolean evict() {
    for (Iterator<QueueSet> sets = installed.values().iterator(); sets.hasNext(); ) {
      QueueSet set = sets.next();
      if (!set.isInUse()) {
        sets.remove();
        simulator.uninstall(set);
        count(set.plan(), -1);
        return true;
      }
    }
    return false;
  }

  /** Removes all that are idle. */
  void clear() {
    while (evict()) {
      // one after the other
    }
    known.clear();
    unions.clear();
  }
}
