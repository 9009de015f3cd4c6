package org.kernbench.machine;

import java.util.List;

/**
 * The names of the bytes that a program reads and writes in its own order: of each memory those
 * from {@code start} on, {@code bytes} of them, where package {@code s} calls the byte {@code s *
 * step} further on (round at the end) what package 0 calls the first. Renamed so, programs of a
 * ring, each of which begins with another segment, are the same. Nothing that takes time asks where
 * bytes lie in a flat memory, only whether two accesses touch the same ones; and that a rotation
 * keeps (ADR 0109).
 *
 * @param start offset in a memory
 * @param bytes of one round; 0 if all packages use the same addresses
 * @param step from one package to the next
 * @param rounds that lie behind each other, each turned in itself
 * @param levels along which packages turn, the outermost first: a round has a part for each place
 *     of the first, which has one for each place of the second, and so on, and each of these is
 *     turned in what is around it. Empty if there is one, and {@code step} says how far it turns
 */
public record Turn(long start, long bytes, long step, long rounds, List<Level> levels) {
  /** All packages use the same addresses. */
  public static final Turn NONE = new Turn(0, 0, 0, 0);

  /**
   * A dimension of the network by whose places parts are numbered.
   *
   * @param size its places
   * @param stride from a package to the next along it, in numbers of packages
   */
  public record Level(int size, int stride) {}

  /** Copies the list. */
  public Turn {
    levels = List.copyOf(levels);
  }

  /** One that turns in one way. */
  public Turn(long start, long bytes, long step, long rounds) {
    this(start, bytes, step, rounds, List.of());
  }

  /** One that turns along several dimensions, the outermost first. */
  public static Turn along(List<Level> levels, long bytes, long rounds) {
    return new Turn(0, bytes, 0, rounds, levels);
  }

  /** This turn of a vector that begins elsewhere. */
  public Turn at(long newStart) {
    return new Turn(newStart, bytes, step, rounds, levels);
  }

  /** Whether a byte lies in what is turned. */
  public boolean holds(long offset) {
    return offset >= start && offset < start + bytes * rounds;
  }

  /** The offset in package 0 of {@code extent} bytes of package {@code sip}; -1 if apart. */
  public long name(int sip, long offset, long extent) {
    if (!holds(offset)) {
      return offset;
    }
    long at = offset - start;
    long inRound = at % bytes;
    if (!levels.isEmpty()) {
      long named = named(sip, inRound, extent);
      return named < 0 ? -1 : start + at - inRound + named;
    }
    long turned = Math.floorMod(inRound - sip * step, bytes);
    boolean whole = inRound + extent <= bytes && turned + extent <= bytes;
    return whole ? start + at - inRound + turned : -1;
  }

  /** Turned part by part until the part is what is asked for; -1 if it is none. */
  private long named(int sip, long inRound, long extent) {
    long named = 0;
    long rest = inRound;
    long part = bytes;
    for (Level level : levels) {
      if (extent == part && rest == 0) {
        return named;
      }
      part /= level.size;
      named += Math.floorMod(rest / part - sip / level.stride % level.size, level.size) * part;
      rest %= part;
    }
    return rest + extent <= part ? named + rest : -1;
  }
}
