package org.kernbench.nn.parallel;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;

/**
 * A span of ranks numbered in several dimensions, of which the first listed varies fastest:
 *
 * <pre>{@code
 * rank = offset + c[0] + shape[0] c[1] + shape[0] shape[1] c[2] + ...
 * }</pre>
 *
 * <p>It says which ranks would form which groups; {@link HyperCommGrid} makes them. A grid may have
 * <em>views</em>: further factorisations of the same span, for example that of expert layers, which
 * share some dimensions with the base. Immutable. Source: {@code docs/spec/megatron.md} 1.
 */
public final class RankGrid {
  /** The view that every grid has: its own dimensions. */
  static final String BASE = "";

  private static final String OFFSET = "offset";

  private final List<String> names;
  private final int[] shape;
  private final int[] strides;
  private final int offset;
  private final int size;
  private final Map<String, View> views;

  /** A further factorisation, and which of its dimensions are those of the base. */
  private record View(RankGrid grid, Set<String> shared) {}

  private RankGrid(List<String> names, int[] shape, int offset, Map<String, View> views) {
    this.names = names;
    this.shape = shape;
    this.offset = offset;
    this.views = views;
    this.strides = new int[shape.length];
    int stride = 1;
    for (int i = 0; i < shape.length; i++) {
      strides[i] = stride;
      stride = Math.multiplyExact(stride, shape[i]);
    }
    this.size = stride;
  }

  /**
   * A grid without views.
   *
   * @param shape size of each dimension, 1 or more
   * @param names of the dimensions, each once; the first varies fastest with the rank
   * @param offset number of the first rank
   * @throws LayoutException if there are not as many names as sizes, a name occurs twice, a size is
   *     less than 1, or the offset is negative
   */
  public static RankGrid of(List<Integer> shape, List<String> names, int offset) {
    check("grid", shape, names);
    if (offset < 0) {
      throw LayoutException.argument(
          "grid %s: offset %s; expected the number of a rank, 0 or more"
              .formatted(text(names, shape), offset));
    }
    return unchecked(shape, names, offset);
  }

  /** {@link #of(List, List, int)} from rank 0 on. */
  public static RankGrid of(List<Integer> shape, List<String> names) {
    return of(shape, names, 0);
  }

  /**
   * A grid of the dimensions that training knows, from rank 0 on.
   *
   * @param dims the fastest first
   * @param sizes one for each
   */
  public static RankGrid of(List<Dim> dims, int... sizes) {
    return of(Arrays.stream(sizes).boxed().toList(), dims.stream().map(Dim::token).toList());
  }

  /**
   * Reads a grid such as {@code tp=2,cp=2,dp=2}: its dimensions in order, the first varies fastest;
   * {@code offset=8} at the end for another first rank than 0.
   *
   * @throws LayoutException if it cannot be read, or there is no such grid
   */
  public static RankGrid parse(String text) {
    List<String> names = new ArrayList<>();
    List<Integer> shape = new ArrayList<>();
    int offset = 0;
    String[] items = text.split(",", -1);
    for (int i = 0; i < items.length; i++) {
      String[] pair = items[i].strip().split("=", -1);
      int value = pair.length == 2 && !pair[0].isBlank() ? number(pair[1].strip()) : -1;
      if (value < 0) {
        throw LayoutException.argument(
            """
            grid "%s": got "%s"; expected dimension=size, e.g. tp=2,cp=2,dp=2, at the end \
            offset=8 if the first rank is not 0\
            """
                .formatted(text, items[i].strip()));
      }
      String name = pair[0].strip();
      if (name.equals(OFFSET) && i == items.length - 1) {
        offset = value;
      } else {
        names.add(name);
        shape.add(value);
      }
    }
    return of(shape, names, offset);
  }

  private static int number(String digits) {
    try {
      return digits.startsWith("+") ? -1 : Integer.parseInt(digits);
    } catch (NumberFormatException e) {
      return -1;
    }
  }

  private static RankGrid unchecked(List<Integer> shape, List<String> names, int offset) {
    int[] sizes = shape.stream().mapToInt(Integer::intValue).toArray();
    return new RankGrid(List.copyOf(names), sizes, offset, Map.of());
  }

  private static void check(String what, List<Integer> shape, List<String> names) {
    if (shape.size() != names.size()) {
      throw LayoutException.argument(
          """
          %s: shape %s has %s sizes, names %s are %s; expected one size for each name\
          """
              .formatted(what, shape, shape.size(), names, names.size()));
    }
    if (names.isEmpty()) {
      throw LayoutException.argument(what + ": no dimension; expected at least one");
    }
    Set<String> seen = new HashSet<>();
    long product = 1;
    for (int i = 0; i < names.size(); i++) {
      if (names.get(i).equals(OFFSET)) {
        throw LayoutException.argument(
            """
            %s %s: offset is no dimension; expected offset=... once, at the end, if the \
            first rank is not 0\
            """
                .formatted(what, text(names, shape)));
      }
      if (!seen.add(names.get(i))) {
        throw LayoutException.argument(
            "%s %s: dimension %s occurs twice; expected each name once"
                .formatted(what, text(names, shape), names.get(i)));
      }
      if (shape.get(i) < 1) {
        throw LayoutException.argument(
            "%s %s: %s has size %s; expected 1 or more"
                .formatted(what, text(names, shape), names.get(i), shape.get(i)));
      }
      product *= shape.get(i);
      if (product > Integer.MAX_VALUE) {
        throw LayoutException.argument(
            what + " " + text(names, shape) + ": more ranks than can be numbered");
      }
    }
  }

  /**
   * This grid with one more view.
   *
   * @param view its name, which no other view has
   * @param viewShape size of each of its dimensions; their product is that of this grid
   * @param viewNames of its dimensions
   * @param shared dimensions of both that mean the same groups; requests of only these go to the
   *     base
   * @throws LayoutException if there can be no such view; the message says why
   */
  public RankGrid withView(
      String view, List<Integer> viewShape, List<String> viewNames, List<String> shared) {
    String what = "view \"" + view + "\" of grid " + this;
    if (view.equals(BASE) || views.containsKey(view)) {
      throw LayoutException.argument(
          "%s: the name is %s; expected another than %s"
              .formatted(what, view.equals(BASE) ? "empty" : "taken", views.keySet()));
    }
    check(what, viewShape, viewNames);
    RankGrid grid = unchecked(viewShape, viewNames, offset);
    if (grid.size != size) {
      throw LayoutException.argument(
          "%s: shape %s has %s ranks, the grid has %s; expected as many"
              .formatted(what, viewShape, grid.size, size));
    }
    checkShared(what, grid, shared);
    Map<String, View> all = new LinkedHashMap<>(views);
    all.put(view, new View(grid, Set.copyOf(shared)));
    return new RankGrid(names, shape, offset, all);
  }

  private void checkShared(String what, RankGrid view, List<String> shared) {
    Set<String> seen = new HashSet<>();
    for (String name : shared) {
      if (!seen.add(name)) {
        throw LayoutException.argument(
            what + ": shared dimension " + name + " occurs twice; expected each once");
      }
      if (!names.contains(name)) {
        throw LayoutException.argument(
            what + ": shared dimension " + name + " is not in the grid; expected some of " + names);
      }
      if (!view.names.contains(name)) {
        throw LayoutException.argument(
            "%s: shared dimension %s is not in the view; expected some of %s"
                .formatted(what, name, view.names));
      }
      checkSame(what, view, name);
    }
  }

  /**
   * Dimensions that have the same groups one by one have the same size and stride: also jointly.
   */
  private void checkSame(String what, RankGrid view, String dim) {
    List<List<Integer>> base = enumerate(dim);
    List<List<Integer>> other = view.enumerate(dim);
    if (!base.equals(other)) {
      throw LayoutException.argument(
          """
          %s: the groups of shared %s are %s in the grid and %s in the view; expected the \
          same\
          """
              .formatted(what, dim, base, other));
    }
  }

  // ---- what it is ----

  /** Names of the dimensions, the fastest first. */
  public List<String> names() {
    return names;
  }

  /** Sizes of the dimensions, in the order of {@link #names}. */
  public List<Integer> shape() {
    return Arrays.stream(shape).boxed().toList();
  }

  /** Number of the first rank. */
  public int offset() {
    return offset;
  }

  /** Number of ranks. */
  public int size() {
    return size;
  }

  /** Whether a rank is in the span. */
  public boolean contains(int rank) {
    return rank >= offset && rank - offset < size;
  }

  /** Whether no rank is in both. */
  public boolean isApartFrom(RankGrid other) {
    return offset + size <= other.offset || other.offset + other.size <= offset;
  }

  /** Whether there is a dimension of this name. */
  public boolean has(String dim) {
    return names.contains(dim);
  }

  /** The size of a dimension; 1 for one that the grid does not list. */
  public int size(String dim) {
    int at = names.indexOf(dim);
    return at < 0 ? 1 : shape[at];
  }

  /** The size of a dimension; 1 for one that the grid does not list. */
  public int size(Dim dim) {
    return size(dim.token());
  }

  /** Whether it lists a dimension. */
  public boolean has(Dim dim) {
    return has(dim.token());
  }

  /** A rank's coordinate in a dimension; 0 in one that the grid does not list. */
  public int coordinate(int rank, Dim dim) {
    return coordinate(rank, dim.token());
  }

  /** The groups of some dimensions, as {@link #enumerate(Collection)} makes them. */
  public List<List<Integer>> enumerate(Dim first, Dim... more) {
    return enumerate(Dim.tokens(first, more));
  }

  /** A rank's coordinate in a dimension; 0 in one that the grid does not list. */
  public int coordinate(int rank, String dim) {
    checkContains(rank);
    int at = names.indexOf(dim);
    return at < 0 ? 0 : (rank - offset) / strides[at] % shape[at];
  }

  /** Refuses a rank outside of the span. */
  public void checkContains(int rank) {
    if (!contains(rank)) {
      throw LayoutException.argument(
          "rank " + rank + " is not in grid " + this + ", which has ranks " + span());
    }
  }

  /** For example {@code 8 to 15}. */
  public String span() {
    return offset + " to " + (offset + size - 1);
  }

  /** Names of the views, in the order in which they were added. */
  public List<String> views() {
    return List.copyOf(views.keySet());
  }

  /**
   * A view as a grid of its own.
   *
   * @throws LayoutException if there is no such view
   */
  public RankGrid view(String view) {
    return view.equals(BASE) ? this : known(view).grid;
  }

  private View known(String view) {
    View found = views.get(view);
    if (found == null) {
      throw LayoutException.key(
          "grid " + this + ": unknown view \"" + view + "\"; registered are " + views.keySet());
    }
    return found;
  }

  // ---- groups ----

  /**
   * The groups of some dimensions: ranks that differ in these only. In a group the first listed of
   * them varies fastest, from group to group the first listed of the others; so members ascend, and
   * groups ascend by their first member. Every rank of the span is in exactly one.
   *
   * @param dims some names, in any order
   * @throws LayoutException if a name is unknown, occurs twice, or none is given
   */
  public List<List<Integer>> enumerate(Collection<String> dims) {
    boolean[] selected = selected(BASE, dims);
    int[] members = sums(selected, true);
    int[] firsts = sums(selected, false);
    List<List<Integer>> groups = new ArrayList<>(firsts.length);
    for (int first : firsts) {
      List<Integer> group = new ArrayList<>(members.length);
      for (int member : members) {
        group.add(offset + first + member);
      }
      groups.add(List.copyOf(group));
    }
    return groups;
  }

  /** {@link #enumerate(Collection)}. */
  public List<List<Integer>> enumerate(String... dims) {
    return enumerate(List.of(dims));
  }

  /**
   * The groups of some dimensions of a view; dimensions are looked up in the view only.
   *
   * @throws LayoutException if there is no such view; otherwise as {@link #enumerate(Collection)}
   */
  public List<List<Integer>> enumerateIn(String view, Collection<String> dims) {
    if (view.equals(BASE)) {
      return enumerate(dims);
    }
    RankGrid grid = known(view).grid;
    grid.selected(view, dims);
    return grid.enumerate(dims);
  }

  /** {@link #enumerateIn(String, Collection)}. */
  public List<List<Integer>> enumerateIn(String view, String... dims) {
    return enumerateIn(view, List.of(dims));
  }

  /**
   * The one name of a request, whatever the order of its dimensions: names against the listed
   * order, joined by {@code -}, for example {@code dp-tp}; of a view, with the view's name before
   * it, unless all of them are shared with the base.
   */
  public String key(String view, Collection<String> dims) {
    if (view.equals(BASE)) {
      boolean[] selected = selected(view, dims);
      StringJoiner key = new StringJoiner("-");
      for (int i = names.size() - 1; i >= 0; i--) {
        if (selected[i]) {
          key.add(names.get(i));
        }
      }
      return key.toString();
    }
    View found = known(view);
    found.grid.selected(view, dims);
    return found.shared.containsAll(dims)
        ? key(BASE, dims)
        : view + ":" + found.grid.key(BASE, dims);
  }

  private boolean[] selected(String view, Collection<String> dims) {
    boolean[] selected = new boolean[shape.length];
    if (dims.isEmpty()) {
      throw LayoutException.argument(
          "grid " + this + ": groups of no dimension; expected some of " + names);
    }
    for (String dim : dims) {
      int at = names.indexOf(dim);
      if (at < 0) {
        throw LayoutException.argument(
            "grid %s%s: unknown dimension %s; expected some of %s"
                .formatted(this, view.equals(BASE) ? "" : ", view \"" + view + "\"", dim, names));
      }
      if (selected[at]) {
        throw LayoutException.argument(
            "grid " + this + ": dimension " + dim + " twice in " + dims + "; expected each once");
      }
      selected[at] = true;
    }
    return selected;
  }

  /** What all coordinates in the chosen dimensions add to the rank, the first listed fastest. */
  private int[] sums(boolean[] selected, boolean chosen) {
    int[] sums = {0};
    for (int i = 0; i < shape.length; i++) {
      if (selected[i] == chosen) {
        int[] more = new int[sums.length * shape[i]];
        for (int j = 0; j < more.length; j++) {
          more[j] = sums[j % sums.length] + strides[i] * (j / sums.length);
        }
        sums = more;
      }
    }
    return sums;
  }

  private static String text(List<String> names, List<Integer> shape) {
    StringJoiner text = new StringJoiner(",");
    for (int i = 0; i < names.size(); i++) {
      text.add(names.get(i) + "=" + shape.get(i));
    }
    return text.toString();
  }

  /** For example {@code tp=2,cp=2,dp=2}, as {@link #parse} reads it. */
  @Override
  public String toString() {
    return text(names, shape()) + (offset == 0 ? "" : "," + OFFSET + "=" + offset);
  }
}
