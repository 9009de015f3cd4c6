package org.kernbench.device.reuse;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.kernbench.device.memory.Lookups;
import org.kernbench.device.memory.PageMap;

/**
 * Says what comes of a launch depends on, as seen from the package that its stretch is in: PEs and
 * memories by their place there. What is not all in that package is said with the numbers of the
 * machine, so that it is the same for the same package only.
 */
final class KeyWriter {
  private final PackageTwins packages;

  /** As in {@link Stretch#home}. */
  private final int home;

  private long[] words = new long[64];
  private int size;

  private KeyWriter(PackageTwins packages, int home) {
    this.packages = packages;
    this.home = home;
  }

  /**
   * Of a launch that is about to start; null if that is not known.
   *
   * @param home the package that its stretch is in; {@link PackageTwins#NONE} if in none alone
   * @param ranges of the stretch so far; those of the launch are added
   */
  static @Nullable Key keyOf(
      MemoLaunch launch, MemoHost host, PackageTwins packages, int home, Lookups.Ranges ranges) {
    Dependence program = launch.dependsOn().orElse(null);
    if (program == null) {
      return null;
    }
    int ranged = ranges.size();
    for (int sip : new int[] {home, PackageTwins.NONE}) {
      KeyWriter words = new KeyWriter(packages, sip);
      words.add(sip == PackageTwins.NONE ? -2 - home : packages.like(sip));
      Fit fit = words.launch(launch, program, host, ranges);
      if (fit == Fit.IS_ALL_HERE) {
        List<Object> what =
            sip == PackageTwins.NONE
                ? program.what()
                : program.what().stream().map(o -> PackageTwins.seenFrom(sip, o)).toList();
        Optional<Object> queues = Optional.ofNullable(launch.queues()).map(MemoQueues::set);
        return new Key(what, queues, words.all());
      }
      ranges.truncate(ranged);
      if (fit == Fit.IS_UNKNOWN) {
        return null;
      }
    }
    throw new IllegalStateException("bug: the whole machine lacks a part of " + launch.name());
  }

  private enum Fit {
    IS_ALL_HERE,
    IS_ELSEWHERE,
    IS_UNKNOWN
  }

  private Fit launch(MemoLaunch launch, Dependence program, MemoHost host, Lookups.Ranges ranges) {
    boolean anywhere = home == PackageTwins.NONE;
    if (!anywhere && launch.queues() != null) {
      return Fit.IS_ELSEWHERE;
    }
    PageMap map = host.map();
    int firstPe = anywhere ? 0 : home * packages.pes;
    int firstNode = anywhere ? 0 : home * packages.nodes;
    add(launch.stream());
    for (MemoPe p : launch.pes()) {
      if (!anywhere && !packages.hasPe(home, p.index())) {
        return Fit.IS_ELSEWHERE;
      }
      add(p.index() - firstPe);
      add(p.tcmCapacity());
      add(p.activeStreams() > 1 ? 1 : 0);
    }
    for (Dependence.Memory memory : program.memories()) {
      long address = memory.address();
      PageMap.Range r = map.find(address);
      if (r == null) {
        return Fit.IS_UNKNOWN;
      }
      int number = ranges.number(r);
      if (!anywhere && !isHere(r)) {
        return Fit.IS_ELSEWHERE;
      }
      if (number < 0) {
        number = ranges.add(new Lookups.Anchor(r, address));
        add(-1 - r.copies());
        for (int copy = 0; copy < r.copies(); copy++) {
          add(r.holders[copy] - firstPe);
          add(r.node(copy) - firstNode);
        }
      }
      add(number);
      add(address - ranges.anchor(number).address());
      add(memory.bytes() <= r.end - address ? -1 : r.end - address);
    }
    MemoQueues queues = Stretch.queuesOf(launch);
    add(queues == null ? 0 : 1);
    if (queues != null) {
      queues.ends().forEach(end -> end.say(this::add, host.nowPs()));
    }
    return Fit.IS_ALL_HERE;
  }

  private boolean isHere(PageMap.Range r) {
    for (int copy = 0; copy < r.copies(); copy++) {
      if (!packages.hasPe(home, r.holders[copy]) || !packages.hasNode(home, r.node(copy))) {
        return false;
      }
    }
    return true;
  }

  private void add(long word) {
    if (size == words.length) {
      words = Arrays.copyOf(words, size * 2);
    }
    words[size++] = word;
  }

  private long[] all() {
    return Arrays.copyOf(words, size);
  }
}
