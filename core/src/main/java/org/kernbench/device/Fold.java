package org.kernbench.device;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Function;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.Symmetry;

/**
 * When one package may be simulated for all, and the proof of it (ADR 0109).
 *
 * <p>Packages meet at the heads of links, in each other's memories and through credits. If the
 * machine has shifts, if queues go where shifts take them, if each package runs the program of
 * package 0 with peers renamed, and if ties go by what shifts preserve ({@code Ties}), then by
 * induction over the times of events the rows of package 0 are those of every package. Package 0 is
 * simulated with itself as each of its neighbours: a queue that leads to the package {@code d}
 * further on comes back from the one {@code d} before, and what leaves by a link comes in by the
 * image of that link.
 *
 * <p>The machine and the queues are looked at whole. Of programs, those of some packages are run
 * without time and data and compared command by command with that of package 0.
 */
public final class Fold {
  /** Other packages whose programs are compared in any case, and at most. */
  private static final int FEWEST_COMPARED = 4;

  private static final int MOST_COMPARED = 67;

  /** Commands that are compared besides those of the fewest. */
  private static final long COMMANDS = 4_000_000;

  private final Machine machine;
  private final Symmetry symmetry;
  private int compared;

  /**
   * The names of the bytes that a program reads and writes in its own order: of each memory those
   * from {@code start} on, {@code bytes} of them, where package {@code s} calls the byte {@code s *
   * step} further on (round at the end) what package 0 calls the first. Renamed so, programs of a
   * ring, each of which begins with another segment, are the same. Nothing that takes time asks
   * where bytes lie in a flat memory, only whether two accesses touch the same ones; and that a
   * rotation keeps.
   *
   * @param start offset in a memory
   * @param bytes of one round; 0 if all packages use the same addresses
   * @param step from one package to the next
   * @param rounds that lie behind each other, each turned in itself
   */
  public record Turn(long start, long bytes, long step, long rounds) {
    /** All packages use the same addresses. */
    public static final Turn NONE = new Turn(0, 0, 0, 0);

    /** The offset in package 0 of {@code extent} bytes of package {@code sip}; -1 if apart. */
    long name(int sip, long offset, long extent) {
      long at = offset - start;
      if (at < 0 || at >= bytes * rounds) {
        return offset;
      }
      long inRound = at % bytes;
      long turned = Math.floorMod(inRound - sip * step, bytes);
      boolean whole = inRound + extent <= bytes && turned + extent <= bytes;
      return whole ? start + at - inRound + turned : -1;
    }
  }

  private Fold(Machine machine, Symmetry symmetry) {
    this.machine = machine;
    this.symmetry = symmetry;
  }

  /**
   * The fold of a machine to one package.
   *
   * @throws CannotFoldException if packages are not alike, or something in them is not preserved by
   *     shifts
   */
  public static Fold of(Machine machine) {
    Symmetry symmetry =
        machine
            .symmetry()
            .orElseThrow(
                () -> new CannotFoldException(Symmetry.obstacle(machine).orElseThrow()));
    if (machine.hbm().isBanked()) {
      throw new CannotFoldException(
          "banks of HBM are at other rows in each package; use cube.hbm.fidelity: flat to fold");
    }
    if (machine.fabric().isBuffered()) {
      throw new CannotFoldException(
          "routers with finite buffers serve their links by number; leave fabric.buffer out to"
              + " fold");
    }
    return new Fold(machine, symmetry);
  }

  /** The shifts. */
  public Symmetry symmetry() {
    return symmetry;
  }

  /** Package 0, at time 0, in mode {@code time}. */
  public Simulator open(SimulatorOptions options) {
    if (options.watch().isPresent()) {
      throw new CannotFoldException(
          "--check looks at the memories of all packages; leave one of the two out");
    }
    return Simulator.openFolded(machine, options, symmetry);
  }

  /** For example {@code folded 1,024 packages in 1 orbit (shifts of ring_1d); 68 programs ...}. */
  public String note() {
    return String.format(
        Locale.ROOT,
        "folded %,d packages in 1 orbit (%s); %d programs compared; rows of package 0 stand for all",
        symmetry.order(),
        symmetry.name(),
        compared + 1);
  }

  // ---- places ----

  /**
   * Of the PEs of a launch those in package 0.
   *
   * @throws CannotFoldException if another package takes part with other PEs
   */
  public List<Pe> representatives(List<Pe> pes) {
    List<Pe> first = pes.stream().filter(pe -> pe.sip() == 0).toList();
    Set<Pe> places = new LinkedHashSet<>(first);
    int[] count = new int[machine.sips()];
    for (Pe pe : pes) {
      if (!places.contains(symmetry.shifted(pe, symmetry.backFrom(pe.sip())))) {
        throw new CannotFoldException(
            "%s takes part, and the PE at its place in package 0 does not; let all packages take"
                .formatted(pe)
                + " part alike");
      }
      count[pe.sip()]++;
    }
    for (int sip = 0; sip < count.length; sip++) {
      if (count[sip] != first.size()) {
        throw new CannotFoldException(
            "%s PEs of package %s take part, and %s of package 0; let all packages take part alike"
                .formatted(count[sip], sip, first.size()));
      }
    }
    return first;
  }

  // ---- queues ----

  private record Wire(Pe a, String aDirection, Pe b, String bDirection) {}

  /**
   * Of the queues of a plan those that begin in package 0, one for each orbit.
   *
   * @throws CannotFoldException if a shift takes some queue to where none is
   */
  public QueuePlan representatives(QueuePlan plan) {
    Map<Wire, BitSet> orbits = new LinkedHashMap<>();
    for (QueuePlan.Connection c : plan.connections()) {
      int by = symmetry.backFrom(c.a().sip());
      Wire first =
          new Wire(
              symmetry.shifted(c.a(), by),
              c.aDirection(),
              symmetry.shifted(c.b(), by),
              c.bDirection());
      BitSet sips = orbits.computeIfAbsent(first, w -> new BitSet(machine.sips()));
      sips.set(c.a().sip());
    }
    List<QueuePlan.Connection> kept = new ArrayList<>();
    orbits.forEach(
        (w, sips) -> {
          int missing = sips.nextClearBit(0);
          if (missing < machine.sips()) {
            throw new CannotFoldException(notEverywhere(w, sips.nextSetBit(0), missing));
          }
          kept.add(new QueuePlan.Connection(w.a, w.aDirection, w.b, w.bDirection));
        });
    return new QueuePlan(plan.spec(), kept);
  }

  private String notEverywhere(Wire w, int there, int missing) {
    return "a queue leads from %s (%s) to %s (%s), and none likewise from package %s; use an algorithm whose ranks all have the same neighbours"
        .formatted(
            symmetry.shifted(w.a, there),
            w.aDirection,
            symmetry.shifted(w.b, there),
            w.bDirection,
            missing);
  }

  // ---- programs ----

  /**
   * Compares the programs of some packages with those of package 0: of the second, the middle and
   * the last, and of others by a hash of their number, as many as take a few seconds at most.
   *
   * @param pes of package 0 that run programs
   * @param plan the queues that begin in package 0
   * @param program makes the program of a PE
   * @param turn how packages name their bytes
   * @throws CannotFoldException if one does something else than package 0
   */
  public void compare(
      List<Pe> pes, QueuePlan plan, Function<PePort, Runnable> program, Turn turn) {
    long commands = 0;
    Map<Pe, Long> expected = new HashMap<>();
    for (Pe pe : pes) {
      Tape tape = tape(pe, 0, plan, program, turn);
      commands += tape.commands();
      expected.put(pe, tape.hash());
    }
    Set<Integer> others = chosen(commands);
    for (int sip : others) {
      for (Pe pe : pes) {
        if (tape(pe, sip, plan, program, turn).hash() != expected.get(pe)) {
          throw new CannotFoldException(difference(pe, sip, plan, program, turn));
        }
      }
    }
    compared = others.size();
  }

  private Set<Integer> chosen(long commands) {
    int n = machine.sips();
    long many = Math.min(MOST_COMPARED, Math.max(FEWEST_COMPARED, COMMANDS / (commands + 1)));
    Set<Integer> chosen = new LinkedHashSet<>(List.of(1 % n, n / 2, n - 1));
    SplittableRandom hash = new SplittableRandom(n);
    if (n <= many) {
      for (int sip = 1; sip < n; sip++) {
        chosen.add(sip);
      }
    }
    while (chosen.size() < Math.min(n - 1, many)) {
      chosen.add(1 + hash.nextInt(n - 1));
    }
    chosen.remove(0);
    return chosen;
  }

  private Tape tape(
      Pe pe, int sip, QueuePlan plan, Function<PePort, Runnable> program, Turn turn) {
    Tape tape = new Tape(machine, symmetry, symmetry.shifted(pe, sip), plan, turn);
    tape.run(program);
    return tape;
  }

  /** Runs both again, with every command in words. */
  private String difference(
      Pe pe, int sip, QueuePlan plan, Function<PePort, Runnable> program, Turn turn) {
    List<List<String>> words = new ArrayList<>();
    for (int which : new int[] {0, sip}) {
      Tape tape = new Tape(machine, symmetry, symmetry.shifted(pe, which), plan, turn);
      tape.inWords();
      tape.run(program);
      words.add(tape.words());
    }
    List<String> first = words.get(0);
    List<String> second = words.get(1);
    int at = 0;
    while (at < Math.min(first.size(), second.size()) && first.get(at).equals(second.get(at))) {
      at++;
    }
    return "command %s of %s is %s, that of %s is %s; expected the same with peers renamed"
        .formatted(
            at, pe, wordAt(first, at), symmetry.shifted(pe, sip), wordAt(second, at));
  }

  private static String wordAt(List<String> words, int at) {
    return at < words.size() ? words.get(at) : "none";
  }
}
