package org.kernbench.device.check;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.Launch;
import org.kernbench.device.LaunchRequest;
import org.kernbench.machine.Pe;

/** A launch under a {@link Checker}: which programs are over for certain when it begins. */
final class CheckedLaunch {
  final String name;
  final @Nullable CheckedQueues queues;

  /** When the host made it, as a number of the checker. */
  final long number;

  /** When the host was seen to know that it is done; -1 before. */
  long doneNumber = -1;

  private final Set<Pe> pes;

  /** Launches of which every program is over before this one begins. */
  private final List<CheckedLaunch> whole;

  /** By PE, the launch whose program there is. */
  private final Map<Pe, CheckedLaunch> byPe = new HashMap<>();

  private final Map<CheckedProgram, Boolean> known = new IdentityHashMap<>();

  private @Nullable Launch launch;

  /**
   * @param after launches that it waits for
   * @param before the launch before it on the same stream, by PE
   */
  CheckedLaunch(
      LaunchRequest spec,
      long number,
      @Nullable CheckedQueues queues,
      List<CheckedLaunch> after,
      Map<Pe, CheckedLaunch> before) {
    this.name = spec.name();
    this.number = number;
    this.queues = queues;
    this.pes = Set.copyOf(spec.pes());
    this.whole = new ArrayList<>(after);
    before.forEach((pe, earlier) -> {
      if (!pes.containsAll(earlier.pes)) {
        byPe.put(pe, earlier);
      } else if (!whole.contains(earlier)) {
        whole.add(earlier);
      }
    });
  }

  void is(Launch started) {
    launch = started;
  }

  boolean isDone() {
    return launch != null && launch.isDone();
  }

  /** Whether a program of another launch is over before this one begins. */
  boolean beginsAfter(CheckedProgram program) {
    if (program.launch == this) {
      return false;
    }
    Boolean found = known.get(program);
    if (found == null) {
      found = follows(program, program.launch, new HashSet<>());
      known.put(program, found);
    }
    return found;
  }

  private boolean follows(CheckedProgram program, CheckedLaunch of, Set<CheckedLaunch> seen) {
    if (of.doneNumber >= 0 && of.doneNumber < number) {
      return true;
    }
    if (number <= of.number || !seen.add(this)) {
      return false;
    }
    for (CheckedLaunch w : whole) {
      if (w == of || w.follows(program, of, seen)) {
        return true;
      }
    }
    for (Map.Entry<Pe, CheckedLaunch> e : byPe.entrySet()) {
      CheckedLaunch w = e.getValue();
      if ((w == of && e.getKey().equals(program.pe)) || w.follows(program, of, seen)) {
        return true;
      }
    }
    return false;
  }
}
