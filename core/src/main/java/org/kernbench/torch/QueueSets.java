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
import org.kernbench.device.Simulator;
import org.kernbench.machine.SimulationException;

/**
 * The message queues of collectives that are installed. Equal plans share a set: collectives on one
 * PE run one after the other, and each takes all messages that it sends. When the slots do not fit
 * the TCM, the set that was not used for the longest time makes room.
 */
final class QueueSets {
  /** Plans that are known without comparing them. */
  private static final int KNOWN = 256;

  private final Simulator simulator;
  private final Map<QueuePlan, QueueSet> installed = new LinkedHashMap<>(16, 0.75f, true);
  private final Map<QueuePlan, QueuePlan> known = new IdentityHashMap<>();
  private final Map<List<QueuePlan>, QueuePlan> unions = new HashMap<>();

  QueueSets(Simulator simulator) {
    this.simulator = simulator;
  }

  /** The queues of a plan; {@code wait} lets launches end that hold others, if there are any. */
  QueueSet of(QueuePlan plan, Runnable wait) {
    QueuePlan same = known.get(plan);
    QueueSet set = installed.get(same == null ? plan : same);
    if (set == null) {
      set = install(plan, wait);
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

  /** Removes the idle set that was not used for the longest time; false if there is none. */
  private boolean evict() {
    for (Iterator<QueueSet> sets = installed.values().iterator(); sets.hasNext(); ) {
      QueueSet set = sets.next();
      if (!set.isInUse()) {
        sets.remove();
        simulator.uninstall(set);
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
