package org.kernbench.device.simulator;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.DeadlockException;
import org.kernbench.machine.Pe;

/**
 * Text of a stop in which nothing can move: every waiter, the cycle among them, and what would
 * break it.
 */
final class DeadlockReport {
  private static final int SHOWN = 12;

  private DeadlockReport() {}

  /** Where a message could come from. */
  record Source(String direction, Pe peer, String peerDirection) {}

  /** A program that waits for a message from any of several. */
  static String anyOf(List<Source> sources, String atLine) {
    List<String> names = new ArrayList<>();
    List<String> peers = new ArrayList<>();
    for (Source s : sources) {
      names.add(s.direction);
      peers.add(s.peer + " (" + s.peerDirection + ")");
    }
    return "recvAny %s%s: no message from %s"
        .formatted(String.join(", ", names), atLine, String.join(" or ", peers));
  }

  /** One program that waits. */
  private record Wait(Pe pe, String what, @Nullable Pe on) {}

  /** Collects the waits. */
  static final class Builder {
    private final List<Wait> waits = new ArrayList<>();
    private int neededSlots;
    private int slots;
    private boolean valuesHoldSlots;
    private long wantedTcmBytes;

    void waits(Pe pe, String what, @Nullable Pe on) {
      waits.add(new Wait(pe, what, on));
    }

    void needsSlots(int needed, int have) {
      neededSlots = Math.max(neededSlots, needed);
      slots = have;
    }

    /** Received values that were not released keep slots which a send wants. */
    void valuesHoldSlots() {
      valuesHoldSlots = true;
    }

    /** A command waits for room in TCM. */
    void wantsTcm(long bytes) {
      wantedTcmBytes = wantedTcmBytes == 0 ? bytes : wantedTcmBytes;
    }

    /** The deadlock of a kernel. */
    DeadlockException build(long nowPs, String kernel) {
      return new DeadlockException(
          text(nowPs, "kernel " + kernel),
          wantedTcmBytes == 0
              ? Optional.empty()
              : Optional.of(new DeadlockException.Shortage(kernel, wantedTcmBytes)));
    }

    private String text(long nowPs, String launch) {
      StringBuilder s = new StringBuilder();
      s.append(
          String.format(
              Locale.ROOT,
              "deadlock at t=%.3f ns in %s: no event is queued and %d %s",
              nowPs / 1e3,
              launch,
              waits.size(),
              waits.size() == 1 ? "wait remains" : "waits remain"));
      List<Wait> cycle = cycle();
      if (!cycle.isEmpty()) {
        s.append("\n  wait cycle:");
        for (Wait w : cycle) {
          s.append("\n    ").append(w.pe).append(": ").append(w.what);
        }
      }
      Set<Wait> told = new HashSet<>(cycle);
      List<Wait> others = waits.stream().filter(w -> !told.contains(w)).toList();
      if (!others.isEmpty()) {
        s.append(cycle.isEmpty() ? "\n  waiting:" : "\n  also waiting:");
        for (Wait w : others.subList(0, Math.min(SHOWN, others.size()))) {
          s.append("\n    ").append(w.pe).append(": ").append(w.what);
        }
        if (others.size() > SHOWN) {
          s.append("\n    … and ").append(others.size() - SHOWN).append(" more");
        }
      }
      s.append("\n  remedy: ").append(remedy(cycle));
      return s.toString();
    }

    private String remedy(List<Wait> cycle) {
      if (neededSlots > 0) {
        return """
        the sends above need %s slots, the queues have %s; %sraise ipcq.slots, or \
        receive before sending more\
        """
            .formatted(
                neededSlots,
                slots,
                valuesHoldSlots
                    ? "release received values after their last use (or receive copies), or "
                    : "");
      }
      if (wantedTcmBytes > 0) {
        return "release values after their last use, keep fewer alive at once, or work on smaller tiles";
      }
      if (!cycle.isEmpty()) {
        return "every program in the cycle receives before it sends; let one of them send first";
      }
      return "a receive has no matching send: check that all programs exchange the same number of messages on each direction";
    }

    /** Follows waits from program to program until one comes round. */
    private List<Wait> cycle() {
      Map<Pe, List<Wait>> from = new HashMap<>();
      for (Wait w : waits) {
        from.computeIfAbsent(w.pe, p -> new ArrayList<>()).add(w);
      }
      Set<Pe> finished = new HashSet<>();
      for (Wait w : waits) {
        List<Wait> path = new ArrayList<>();
        List<Wait> found = follow(w.pe, from, path, new HashMap<>(), finished);
        if (!found.isEmpty()) {
          return found;
        }
      }
      return List.of();
    }

    private static List<Wait> follow(
        Pe pe,
        Map<Pe, List<Wait>> from,
        List<Wait> path,
        Map<Pe, Integer> onPath,
        Set<Pe> finished) {
      Integer at = onPath.get(pe);
      if (at != null) {
        return List.copyOf(path.subList(at, path.size()));
      }
      if (finished.contains(pe) || path.size() > 2000) {
        return List.of();
      }
      onPath.put(pe, path.size());
      for (Wait w : from.getOrDefault(pe, List.of())) {
        if (w.on != null) {
          path.add(w);
          List<Wait> found = follow(w.on, from, path, onPath, finished);
          if (!found.isEmpty()) {
            return found;
          }
          path.removeLast();
        }
      }
      onPath.remove(pe);
      finished.add(pe);
      return List.of();
    }
  }
}
