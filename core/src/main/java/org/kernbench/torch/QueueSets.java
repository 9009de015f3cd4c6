package org.kernbench.torch;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
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

  private final boolean folded;

  /**
   * None yet.
   *
   * @param folded whether package 0 stands for all, so that what a queue takes of others it takes
   *     there
   */
  QueueSets(Simulator simulator, boolean folded) {
    this.folded = folded;
    this.simulator = simulator;
  }

  /** What kernels may use of each TCM beside all sets: half. */
  static long roomBeside(Machine machine) {
    return machine.pe().tcm().sizeBytes() / 2;
  }

  /** Lets launches end that hold queues. */
  interface Waits {
    /** Those that hold some of these sets. */
    void forHolders(Set<QueueSet> sets);

    /** All. */
    void forAll();
  }

  /**
   * The queues of a plan.
   *
   * @param waits lets launches end that hold others, if there are any
   */
  QueueSet of(QueuePlan plan, Waits waits) {
    QueuePlan same = known.get(plan);
    QueueSet set = installed.get(same == null ? plan : same);
    if (set == null) {
      leaveHalf(plan, waits);
      set = install(plan, waits);
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

  private QueueSet install(QueuePlan plan, Waits waits) {
    boolean waited = false;
    while (true) {
      try {
        return simulator.installApart(plan);
      } catch (SimulationException e) {
        if (evict(set -> true)) {
          continue;
        }
        if (waited || installed.isEmpty()) {
          throw e;
        }
        waits.forAll();
        waited = true;
      }
    }
  }

  /**
   * Removes sets until those that stay take at most half of each TCM with another one. Only those
   * go, and only those are waited for, that take room where there is too little: so it does not
   * matter what ranks elsewhere have done by now.
   */
  private void leaveHalf(QueuePlan plan, Waits waits) {
    Machine machine = simulator.machine();
    long most = machine.pe().tcm().sizeBytes() - roomBeside(machine);
    Map<Pe, Long> more = new HashMap<>();
    addTo(more, plan, 1);
    boolean waited = false;
    Set<Pe> tight = tight(more, most);
    while (!tight.isEmpty()) {
      Set<Pe> here = tight;
      if (!evict(set -> takesRoomOn(here, set))) {
        Set<QueueSet> holders = new HashSet<>(installed.values());
        holders.removeIf(set -> !takesRoomOn(here, set));
        if (waited || holders.isEmpty()) {
          return; // who holds them is not done yet: half is a wish
        }
        waits.forHolders(holders);
        waited = true;
      }
      tight = tight(more, most);
    }
  }

  /** Where sets would take more than a number of bytes with another one. */
  private Set<Pe> tight(Map<Pe, Long> more, long most) {
    Set<Pe> tight = new HashSet<>(more.keySet());
    tight.removeIf(pe -> slotBytes.getOrDefault(pe, 0L) + more.getOrDefault(pe, 0L) <= most);
    return tight;
  }

  private boolean takesRoomOn(Set<Pe> pes, QueueSet set) {
    return set.plan().connections().stream()
        .flatMap(c -> c.receivers().stream())
        .anyMatch(pe -> pes.contains(home(pe)));
  }

  private void count(QueuePlan plan, int sign) {
    addTo(slotBytes, plan, sign);
  }

  private void addTo(Map<Pe, Long> bytes, QueuePlan plan, int sign) {
    IpcqSpec spec = plan.spec();
    if (spec.bufferKind() == BufferKind.TCM) {
      long each = (long) sign * spec.slots() * spec.slotBytes();
      for (QueuePlan.Connection c : plan.connections()) {
        boolean isOne = folded && c.isOneEnd(this::home);
        for (Pe pe : isOne ? List.of(c.a()) : c.receivers()) {
          bytes.merge(home(pe), each, Long::sum);
        }
      }
    }
  }

  private Pe home(Pe pe) {
    return folded ? new Pe(0, pe.cube(), pe.pe()) : pe;
  }

  /** Removes the idle set of some that was not used for the longest time; false if none is. */
  private boolean evict(Predicate<QueueSet> some) {
    for (Iterator<QueueSet> sets = installed.values().iterator(); sets.hasNext(); ) {
      QueueSet set = sets.next();
      if (!set.isInUse() && some.test(set)) {
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
    while (evict(set -> true)) {
      // one after the other
    }
    known.clear();
    unions.clear();
  }
}
