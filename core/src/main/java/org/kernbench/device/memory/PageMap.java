package org.kernbench.device.memory;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongFunction;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.machine.PhysicalAddress;
import org.kernbench.machine.Place;
import org.kernbench.machine.SimulationException;
import org.kernbench.machine.VirtualAddress;

/**
 * Which memory backs which virtual addresses, for the whole machine.
 *
 * <p>Ranges have any number of bytes and begin anywhere: a page may hold the ends of several, each
 * with a memory of its own. So the unit that a TLB holds is not the page but its intersection with
 * one range; nothing is rounded to pages, and no address can be translated by its neighbour's
 * entry.
 */
public final class PageMap {
  private static final long[] NOWHERE = {};

  private final Machine machine;
  private final RangeTable ranges = new RangeTable();

  /** By PE, what ranges of one copy share. */
  private final Map<Integer, int[]> alone = new HashMap<>();

  public PageMap(Machine machine) {
    this.machine = machine;
  }

  /** Consecutive virtual addresses with the same copies. */
  public final class Range {
    public final String name;
    public final long start;
    public final long end;
    public final int[] holders; // PE numbers, ascending
    private final int[] nodes;

    /** Physical address of the first copy; then those of the others. */
    private final long base;

    private final long[] bases;

    /** False once it is unmapped. */
    private boolean mapped = true;

    /** The PEs whose TLB may hold a translation of it: a bit for each, from a word on. */
    private int firstWord;

    private long[] translatedAt = NOWHERE;

    Range(AddressMapping mapping) {
      this.name = mapping.name();
      this.start = mapping.at().value();
      this.end = start + mapping.bytes();
      int n = mapping.copies().size();
      int[] places = new int[n];
      int[] memories = new int[n];
      this.base = mapping.copies().getFirst().address().value();
      this.bases = n == 1 ? NOWHERE : new long[n - 1];
      for (int i = 0; i < n; i++) {
        AddressMapping.Copy copy = mapping.copies().get(i);
        Place place = machine.addresses().decode(copy.address());
        places[i] = machine.peIndex(copy.pe());
        memories[i] = place.nodeId();
        if (i > 0) {
          bases[i - 1] = copy.address().value();
        }
        if (i > 0 && places[i] <= places[i - 1]) {
          throw new IllegalArgumentException(
              "mapping of " + name + ": copies are not in structural order, one per PE");
        }
        if (place.offset() + mapping.bytes() > machine.memoryBytes(place.nodeId())) {
          throw new IllegalArgumentException(
              "mapping of %s runs over the end of %s"
                  .formatted(name, machine.node(place.nodeId()).name()));
        }
      }
      this.holders = shared(places);
      this.nodes = shared(memories);
    }

    /** What it was made of. */
    public AddressMapping mapping() {
      List<AddressMapping.Copy> copies = new ArrayList<>(holders.length);
      for (int i = 0; i < holders.length; i++) {
        copies.add(new AddressMapping.Copy(machine.peAt(holders[i]), new PhysicalAddress(base(i))));
      }
      return new AddressMapping(name, new VirtualAddress(start), end - start, copies);
    }

    private long base(int copy) {
      return copy == 0 ? base : bases[copy - 1];
    }

    /** The TLB of a PE may hold a translation of it now; asked by threads side by side. */
    synchronized void translatedAt(int pe) {
      int word = pe / Long.SIZE;
      makeRoom(word, 1);
      translatedAt[word - firstWord] |= 1L << pe;
    }

    /** The TLBs of some PEs may: a bit for each, from a word on. */
    synchronized void translatedAt(int first, long[] words) {
      makeRoom(first, words.length);
      for (int i = 0; i < words.length; i++) {
        translatedAt[first + i - firstWord] |= words[i];
      }
    }

    private void makeRoom(int first, int words) {
      if (translatedAt.length == 0) {
        firstWord = first;
        translatedAt = new long[words];
        return;
      }
      if (first < firstWord) {
        long[] more = new long[firstWord - first + translatedAt.length];
        System.arraycopy(translatedAt, 0, more, firstWord - first, translatedAt.length);
        translatedAt = more;
        firstWord = first;
      }
      if (first + words > firstWord + translatedAt.length) {
        translatedAt = Arrays.copyOf(translatedAt, first + words - firstWord);
      }
    }

    /** PEs whose TLB may hold a translation of it. */
    public synchronized IntStream translatedAt() {
      int first = firstWord * Long.SIZE;
      return IntStream.of(BitSet.valueOf(translatedAt).stream().map(bit -> first + bit).toArray());
    }

    /**
     * Number of the copy that a PE sees: its own, else the first in its cube, else in its package
     * the first of those that are the fewest cubes away, else the first of all.
     */
    public int copyFor(int pe) {
      int own = Arrays.binarySearch(holders, pe);
      if (own >= 0) {
        return own;
      }
      int pes = machine.pesPerCube();
      int cube = pe / pes;
      int near = firstWithin(cube * pes, pes);
      return near >= 0 ? near : inPackage(cube);
    }

    private int inPackage(int cube) {
      int cubes = machine.cubesPerSip();
      int all = cubes * machine.pesPerCube();
      int first = cube / cubes * all;
      int best = 0;
      int fewest = Integer.MAX_VALUE;
      for (int i = firstWithin(first, all); i >= 0 && i < holders.length; i++) {
        if (holders[i] >= first + all) {
          break;
        }
        int steps = steps(cube % cubes, holders[i] / machine.pesPerCube() % cubes);
        if (steps < fewest) {
          fewest = steps;
          best = i;
        }
      }
      return best;
    }

    /** Links between two cubes of a package. */
    private int steps(int a, int b) {
      int width = machine.cubeMeshWidth();
      return Math.abs(a % width - b % width) + Math.abs(a / width - b / width);
    }

    private int firstWithin(int first, int count) {
      int i = Arrays.binarySearch(holders, first);
      int at = i >= 0 ? i : -i - 1;
      return at < holders.length && holders[at] < first + count ? at : -1;
    }

    /** {@code bytes} from an address on, or as many of them as the range has. */
    public long atMost(long address, long bytes) {
      return Math.min(bytes, end - address);
    }

    public int copies() {
      return holders.length;
    }

    /** The memory of a copy, as a node of the machine. */
    public int node(int copy) {
      return nodes[copy];
    }

    /** The physical address, in a copy, of a virtual one. */
    public PhysicalAddress physical(int copy, long address) {
      return new PhysicalAddress(base(copy) + (address - start));
    }
  }

  /**
   * Bytes of one range: a part of a {@link Region}, and of the value that it is moved to or from.
   */
  public record Piece(Region region, int valueOffset) {}

  public Range map(AddressMapping mapping) {
    Range range = new Range(mapping);
    Range before = rangeBefore(range.end - 1);
    if (before != null && before.end > range.start) {
      throw new IllegalArgumentException(
          "mapping of " + range.name + " overlaps " + describe(before));
    }
    ranges.add(range);
    return range;
  }

  /**
   * The range that begins at an address.
   *
   * @throws IllegalArgumentException if none does
   */
  public Range startingAt(VirtualAddress at) {
    Range range = rangeBefore(at.value());
    if (range == null || range.start != at.value()) {
      throw new IllegalArgumentException("nothing is mapped from " + at + " on");
    }
    return range;
  }

  /** Removes the range that begins at an address. */
  public Range unmap(VirtualAddress at) {
    Range range = startingAt(at);
    ranges.remove(range);
    range.mapped = false;
    return range;
  }

  /** An array of one number is kept once. */
  private int[] shared(int[] numbers) {
    return numbers.length == 1 ? alone.computeIfAbsent(numbers[0], n -> numbers) : numbers;
  }

  private @Nullable Range rangeBefore(long address) {
    return ranges.atOrBefore(address);
  }

  /** The range that an address lies in; null if nothing is mapped there. */
  public @Nullable Range find(long address) {
    Range range = rangeBefore(address);
    return range != null && address < range.end ? range : null;
  }

  /**
   * The range that an address lies in.
   *
   * @param who asks, for the message
   * @throws SimulationException if nothing is mapped there, naming the nearest that is
   */
  public Range require(long address, String who) {
    Range found = find(address);
    if (found == null) {
      throw new SimulationException(who + ": page fault: " + nothingAt(address));
    }
    return found;
  }

  private String nothingAt(long address) {
    Range before = rangeBefore(address);
    Range after = ranges.after(address);
    StringBuilder s = new StringBuilder("nothing is mapped at " + new VirtualAddress(address));
    if (before != null) {
      s.append("; below lies ").append(describe(before));
    }
    if (after != null) {
      s.append("; above lies ").append(describe(after));
    }
    return s.append("; expected an address inside a tensor that is not closed").toString();
  }

  private static String describe(Range r) {
    return r.name + " [" + new VirtualAddress(r.start) + ", " + new VirtualAddress(r.end) + ")";
  }

  /**
   * Cuts a region of virtual addresses where the memory behind it changes. Rows that lie in one
   * range stay together.
   */
  public List<Piece> split(Region region, String who) {
    return split(region, at -> require(at, who));
  }

  private static List<Piece> split(Region region, LongFunction<Range> rangeAt) {
    List<Piece> pieces = new ArrayList<>();
    long start = region.address().value();
    int rowBytes = region.rowBytes();
    int row = 0;
    while (row < region.rows() && rowBytes > 0) {
      long at = start + row * region.strideBytes();
      Range range = rangeAt.apply(at);
      int whole = wholeRows(region, row, range);
      if (whole > 0) {
        Region part = new Region(new VirtualAddress(at), whole, rowBytes, region.strideBytes());
        pieces.add(new Piece(part, row * rowBytes));
        row += whole;
      } else {
        splitRow(at, row * rowBytes, rowBytes, rangeAt, pieces);
        row++;
      }
    }
    return pieces;
  }

  /** Rows from {@code row} on that lie in the range from end to end. */
  private static int wholeRows(Region region, int row, Range range) {
    long room = range.end - (region.address().value() + row * region.strideBytes());
    if (room < region.rowBytes()) {
      return 0;
    }
    long more = region.rows() == 1 ? 0 : (room - region.rowBytes()) / region.strideBytes();
    return (int) Math.min(region.rows() - row, more + 1);
  }

  private static void splitRow(
      long at, int valueOffset, int bytes, LongFunction<Range> rangeAt, List<Piece> pieces) {
    int done = 0;
    while (done < bytes) {
      Range range = rangeAt.apply(at + done);
      int step = (int) Math.min(bytes - done, range.end - (at + done));
      pieces.add(new Piece(Region.of(new VirtualAddress(at + done), step), valueOffset + done));
      done += step;
    }
  }

  // ---- as a PE sees it ----

  /** How a PE sees the map. */
  public View view(Pe pe) {
    return new View(machine.peIndex(pe), machine.hbmNode(pe), pe.toString());
  }

  /**
   * The map as one PE sees it: replicas are its own, and the ranges that were asked for last are at
   * hand, so that most accesses cost two comparisons.
   */
  public final class View {
    private final int pe;
    private final int home;
    private final String name;
    private @Nullable Range last;
    private int copy;

    /** Ranges that were asked for, with the number of the copy that it sees. */
    private final @Nullable Range[] recent = new Range[4];

    private final int[] copies = new int[recent.length];
    private int oldest;

    private View(int pe, int home, String name) {
      this.pe = pe;
      this.home = home;
      this.name = name;
    }

    private Range rangeOf(long address) {
      Range r = last;
      return r != null && contains(r, address) ? r : otherRangeOf(address);
    }

    private static boolean contains(Range r, long address) {
      return address >= r.start && address < r.end && r.mapped;
    }

    /** One of the latest, if it has the address: a kernel goes to and fro among a few ranges. */
    private Range otherRangeOf(long address) {
      Range found = null;
      for (int i = 0; i < recent.length && found == null; i++) {
        Range r = recent[i];
        if (r != null && contains(r, address)) {
          found = r;
          copy = copies[i];
        }
      }
      if (found == null) {
        found = require(address, name);
        copy = found.copyFor(pe);
        recent[oldest] = found;
        copies[oldest] = copy;
        oldest = (oldest + 1) % recent.length;
      }
      last = found;
      return found;
    }

    /** Whether one memory backs the whole region. */
    public boolean isOneRange(Region region) {
      if (region.address() instanceof PhysicalAddress || region.bytes() == 0) {
        return true;
      }
      long from = region.address().value();
      return from + region.extent() <= rangeOf(from).end;
    }

    /** Cuts a region where the memory behind it changes. */
    public List<Piece> split(Region region) {
      return PageMap.split(region, this::rangeOf);
    }

    /** The range of a virtual region that {@link #isOneRange}; null for one of no bytes. */
    @Nullable
    public Range range(Region region) {
      return region.bytes() == 0 ? null : rangeOf(region.address().value());
    }

    /** The physical address of a byte of a range. */
    public long physical(@Nullable Range range, long address) {
      return range == null ? 0 : range.base(copyOf(range)) + (address - range.start);
    }

    /** The memory that backs a range; the PE's own HBM for no bytes. */
    public int node(@Nullable Range range) {
      return range == null ? home : range.nodes[copyOf(range)];
    }

    private int copyOf(Range range) {
      return range == last ? copy : range.copyFor(pe);
    }
  }
}
