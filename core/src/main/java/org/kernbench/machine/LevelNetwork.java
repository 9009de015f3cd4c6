package org.kernbench.machine;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntUnaryOperator;
import java.util.stream.Collectors;
import org.kernbench.machine.spec.Dimension;
import org.kernbench.machine.spec.DimensionKind;
import org.kernbench.machine.spec.LinkOverride;
import org.kernbench.machine.spec.LinkSpec;

/**
 * Packages in a product of dimensions, the first of them fastest in the packages' numbers.
 *
 * <p>Packages that differ in one dimension only form a <em>line</em> along it, and each line has
 * the links of its kind for itself. Routes take the dimensions in order, each by the shortest way;
 * in a ring on a tie the positive one. Round dead links they take a shortest way over those that
 * work, as usual where there are several.
 *
 * <p>Even dimensions leave a package on sides E and W, odd ones on S and N.
 */
final class LevelNetwork implements PackageNetwork {
  private static final Side[] PLUS = {Side.E, Side.S};
  private static final Side[] PEERS = {Side.E, Side.W, Side.N, Side.S};

  /** Packages up to which ways round dead links are looked for. */
  static final int MOST_DETOURS = 2048;

  private final List<Dimension> dimensions;
  private final int sips;
  private final int[] size;
  private final int[] stride;

  /** By dimension its first link, and how many a line has. */
  private final int[] firstLink;

  private final int[] lineLinks;

  /** By dimension its first switch; as many as lines, or none. */
  private final int[] firstSwitch;

  private final int links;
  private final int switches;
  private final List<LinkOverride> overrides;

  /** The dimension whose places no link joins; {@link #NONE} if all are joined. */
  private final int apart;

  /** By pair of packages the next one on the way, if some links are dead. */
  private final int[] detours;

  LevelNetwork(MachineConfig.SystemConfig system) {
    this(system.dimensions(), NONE, system.overrides());
  }

  /**
   * One of its own.
   *
   * @param apart a dimension without links; {@link #NONE} if there is none
   */
  LevelNetwork(List<Dimension> dimensions, int apart, List<LinkOverride> overrides) {
    this.dimensions = dimensions;
    this.apart = apart;
    this.overrides = overrides;
    sips = packages(dimensions);
    int n = dimensions.size();
    size = new int[n];
    stride = new int[n];
    firstLink = new int[n];
    lineLinks = new int[n];
    firstSwitch = new int[n];
    int linkCount = 0;
    int switchCount = 0;
    for (int d = 0, step = 1; d < n; step *= size[d], d++) {
      Dimension dimension = dimensions.get(d);
      size[d] = dimension.size();
      stride[d] = step;
      lineLinks[d] = d == apart ? 0 : linksOfLine(dimension.kind(), size[d]);
      firstLink[d] = linkCount;
      linkCount += lineLinks[d] * (sips / size[d]);
      firstSwitch[d] = switchCount;
      switchCount += dimension.kind() == DimensionKind.SWITCH ? sips / size[d] : 0;
    }
    links = linkCount;
    switches = switchCount;
    boolean around = overrides.stream().anyMatch(LinkOverride::dead) && sips <= MOST_DETOURS;
    detours = around ? detours() : new int[0];
  }

  private static int packages(List<Dimension> dimensions) {
    return dimensions.stream().mapToInt(Dimension::size).reduce(1, (a, b) -> a * b);
  }

  /** How many links a line of packages has. */
  static int linksOfLine(DimensionKind kind, int size) {
    return switch (kind) {
      case RING -> size > 2 ? 2 * size : size == 2 ? 2 : 0;
      case MESH -> 2 * (size - 1);
      case FULLY_CONNECTED -> size * (size - 1);
      case SWITCH -> 2 * size;
    };
  }

  // ---- packages, lines and links ----

  @Override
  public int place(int sip, int d) {
    return sip / stride[d] % size[d];
  }

  private int at(int sip, int d, int place) {
    return sip + (place - place(sip, d)) * stride[d];
  }

  /** The line along a dimension that a package is on. */
  private int line(int sip, int d) {
    return sip / (stride[d] * size[d]) * stride[d] + sip % stride[d];
  }

  /** The package at a place of a line. */
  private int onLine(int d, int line, int place) {
    return (line / stride[d] * size[d] + place) * stride[d] + line % stride[d];
  }

  /** The dimension of a link. */
  private int dimension(int link) {
    int d = size.length - 1;
    while (link < firstLink[d] || lineLinks[d] == 0) {
      d--;
    }
    return d;
  }

  private int inLine(int link, int d) {
    return (link - firstLink[d]) % lineLinks[d];
  }

  private int lineOf(int link, int d) {
    return (link - firstLink[d]) / lineLinks[d];
  }

  private int id(int d, int line, int inLine) {
    return firstLink[d] + line * lineLinks[d] + inLine;
  }

  /** The first dimension in which two packages differ; {@link #NONE} if they are one. */
  private int differing(int from, int to) {
    for (int d = 0; d < size.length; d++) {
      if (place(from, d) != place(to, d)) {
        return d;
      }
    }
    return NONE;
  }

  @Override
  public int links() {
    return links;
  }

  @Override
  public int width() {
    return size[0];
  }

  @Override
  public int height() {
    return sips / size[0];
  }

  @Override
  public int relays() {
    return switches;
  }

  @Override
  public String relayName(int relay) {
    return switchName(dimensions, switchDimension(relay), switchNumber(relay));
  }

  /**
   * The name of a switch.
   *
   * @param d its dimension
   * @param number among those of its dimension
   */
  static String switchName(List<Dimension> dimensions, int d, int number) {
    boolean one = dimensions.stream().filter(x -> x.kind() == DimensionKind.SWITCH).count() == 1;
    String name = one ? "switch" : "switch" + d;
    boolean alone = packages(dimensions) == dimensions.get(d).size();
    return alone ? name : name + "_" + number;
  }

  /** The number of a switch among those of its dimension. */
  int switchNumber(int relay) {
    return relay - firstSwitch[switchDimension(relay)];
  }

  /** The dimension of a switch. */
  int switchDimension(int relay) {
    int found = NONE;
    for (int d = 0; d < size.length; d++) {
      if (dimensions.get(d).kind() == DimensionKind.SWITCH && relay >= firstSwitch[d]) {
        found = d;
      }
    }
    return found;
  }

  @Override
  public List<Dimension> dimensions() {
    return dimensions;
  }

  // ---- the way ----

  @Override
  public int nextSip(int from, int to) {
    return detours.length > 0 ? detours[from * sips + to] : usualNext(from, to);
  }

  /** The next package on the way if all links work. */
  private int usualNext(int from, int to) {
    int d = differing(from, to);
    int here = place(from, d);
    int there = place(to, d);
    return switch (dimensions.get(d).kind()) {
      case FULLY_CONNECTED, SWITCH -> at(from, d, there);
      case MESH -> at(from, d, here + (there > here ? 1 : -1));
      case RING -> {
        int ahead = Math.floorMod(there - here, size[d]);
        yield at(from, d, Math.floorMod(here + (2 * ahead <= size[d] ? 1 : -1), size[d]));
      }
    };
  }

  @Override
  public int[] hop(int from, int to) {
    int next = nextSip(from, to);
    int d = differing(from, next);
    int line = line(from, d);
    if (dimensions.get(d).kind() == DimensionKind.SWITCH) {
      return new int[] {id(d, line, 2 * place(from, d)), id(d, line, 2 * place(next, d) + 1)};
    }
    return new int[] {id(d, line, inLine(d, place(from, d), place(next, d)))};
  }

  /** The link from one place of a line to the next or to a peer. */
  private int inLine(int d, int here, int there) {
    boolean plus = there == (here + 1) % size[d];
    return switch (dimensions.get(d).kind()) {
      case RING -> size[d] == 2 ? here : 2 * here + (plus ? 0 : 1);
      case MESH -> there > here ? 2 * here : 2 * there + 1;
      case FULLY_CONNECTED -> here * (size[d] - 1) + (there < here ? there : there - 1);
      case SWITCH -> throw new IllegalStateException("two links lead through a switch");
    };
  }

  @Override
  public int linkToRelay(int sip, int relay) {
    int d = switchDimension(relay);
    return line(sip, d) == relay - firstSwitch[d] ? id(d, line(sip, d), 2 * place(sip, d)) : NONE;
  }

  @Override
  public int linkFromRelay(int relay, int sip) {
    int to = linkToRelay(sip, relay);
    return to == NONE ? NONE : to + 1;
  }

  /** The place that a link leaves, or its switch. */
  private int fromPlace(int link, int d) {
    int i = inLine(link, d);
    return switch (dimensions.get(d).kind()) {
      case RING -> size[d] == 2 ? i : i / 2;
      case MESH -> i / 2 + i % 2;
      case FULLY_CONNECTED -> i / (size[d] - 1);
      case SWITCH -> i % 2 == 0 ? i / 2 : NONE;
    };
  }

  private int toPlace(int link, int d) {
    int i = inLine(link, d);
    int from = fromPlace(link, d);
    return switch (dimensions.get(d).kind()) {
      case RING -> Math.floorMod(size[d] == 2 || i % 2 == 0 ? from + 1 : from - 1, size[d]);
      case MESH -> i / 2 + 1 - i % 2;
      case FULLY_CONNECTED -> i % (size[d] - 1) < from ? i % (size[d] - 1) : i % (size[d] - 1) + 1;
      case SWITCH -> i % 2 == 1 ? i / 2 : NONE;
    };
  }

  @Override
  public int fromSip(int link) {
    int d = dimension(link);
    int place = fromPlace(link, d);
    return place == NONE ? NONE : onLine(d, lineOf(link, d), place);
  }

  @Override
  public int toSip(int link) {
    int d = dimension(link);
    int place = toPlace(link, d);
    return place == NONE ? NONE : onLine(d, lineOf(link, d), place);
  }

  @Override
  public int linkToSwitch(int sip, int d) {
    return id(d, line(sip, d), 2 * place(sip, d));
  }

  @Override
  public int fromRelay(int link) {
    return relayOf(link);
  }

  @Override
  public int toRelay(int link) {
    return relayOf(link);
  }

  private int relayOf(int link) {
    int d = dimension(link);
    return dimensions.get(d).kind() == DimensionKind.SWITCH
        ? firstSwitch[d] + lineOf(link, d)
        : NONE;
  }

  // ---- sides ----

  @Override
  public Side exitSide(int from, int to) {
    int next = nextSip(from, to);
    int d = differing(from, next);
    return side(d, place(from, d), place(next, d));
  }

  @Override
  public Side entrySide(int from, int to) {
    int next = nextSip(from, to);
    int d = differing(from, next);
    return entry(d, place(from, d), place(next, d));
  }

  /** Whether two packages are a ring: each has its one link on the same side as the other. */
  private boolean isPair(int d) {
    return dimensions.get(d).kind() == DimensionKind.RING && size[d] == 2;
  }

  private Side side(int d, int from, int to) {
    return switch (dimensions.get(d).kind()) {
      case SWITCH -> PLUS[d % 2];
      case FULLY_CONNECTED -> PEERS[Math.floorMod(to - from - 1, size[d]) % 4];
      case RING, MESH -> {
        boolean plus = dimensions.get(d).wraps() ? to == (from + 1) % size[d] : to > from;
        yield plus || isPair(d) ? PLUS[d % 2] : PLUS[d % 2].opposite();
      }
    };
  }

  private Side entry(int d, int from, int to) {
    return switch (dimensions.get(d).kind()) {
      case SWITCH -> PLUS[d % 2];
      case FULLY_CONNECTED -> side(d, to, from);
      case RING, MESH -> isPair(d) ? PLUS[d % 2] : side(d, from, to).opposite();
    };
  }

  @Override
  public Side fromSide(int link) {
    int d = dimension(link);
    return dimensions.get(d).kind() == DimensionKind.SWITCH
        ? PLUS[d % 2]
        : side(d, fromPlace(link, d), toPlace(link, d));
  }

  @Override
  public Side toSide(int link) {
    int d = dimension(link);
    return dimensions.get(d).kind() == DimensionKind.SWITCH
        ? PLUS[d % 2]
        : entry(d, fromPlace(link, d), toPlace(link, d));
  }

  // ---- what links are ----

  @Override
  public LinkSpec spec(int link, LinkSpec usual) {
    int d = dimension(link);
    Dimension dimension = dimensions.get(d);
    LinkSpec spec = fromPlace(link, d) == NONE ? dimension.fromSwitch() : dimension.link();
    for (LinkOverride each : overrides) {
      if (concerns(each, link, d)) {
        spec = each.over(spec);
      }
    }
    return spec;
  }

  private boolean concerns(LinkOverride each, int link, int d) {
    int from = fromSip(link);
    int to = toSip(link);
    return each.concerns(
        from == NONE ? LinkOverride.switchOf(d) : from, to == NONE ? LinkOverride.switchOf(d) : to);
  }

  @Override
  public boolean isDead(int link) {
    int d = dimension(link);
    return overrides.stream().anyMatch(o -> o.dead() && concerns(o, link, d));
  }

  @Override
  public boolean isUnequal(int link) {
    int d = dimension(link);
    return overrides.stream().anyMatch(o -> concerns(o, link, d));
  }

  @Override
  public boolean isStored(int link) {
    int d = dimension(link);
    return dimensions.get(d).wholeMessages() && toPlace(link, d) == NONE;
  }

  @Override
  public boolean isUncontended(int link) {
    return dimensions.get(dimension(link)).uncontended();
  }

  /** Whether a link leads from one end to another: packages, or a package and a switch. */
  boolean isLink(LinkOverride said) {
    for (int link : touching(said.from() >= 0 ? said.from() : said.to())) {
      if (concerns(said, link, dimension(link))) {
        return true;
      }
    }
    return false;
  }

  /** The links that leave or enter a package. */
  private List<Integer> touching(int sip) {
    List<Integer> found = new ArrayList<>();
    for (int d = 0; d < size.length && sip >= 0 && sip < sips; d++) {
      for (int i = 0; i < lineLinks[d]; i++) {
        int link = id(d, line(sip, d), i);
        if (fromSip(link) == sip || toSip(link) == sip) {
          found.add(link);
        }
      }
    }
    return found;
  }

  /** Links of packages that there are, for messages. */
  String someLinks() {
    return someEnds().stream()
        .map(ends -> exampleOf(ends[0], ends[1]))
        .collect(Collectors.joining(", "));
  }

  /** The ends of a link of each dimension that has some, as a configuration names them. */
  List<int[]> someEnds() {
    List<int[]> some = new ArrayList<>();
    for (int d = 0; d < size.length; d++) {
      if (lineLinks[d] > 0) {
        int to = toSip(id(d, 0, 0));
        some.add(new int[] {fromSip(id(d, 0, 0)), to == NONE ? LinkOverride.switchOf(d) : to});
      }
    }
    return some;
  }

  /** How a configuration speaks of a link. */
  static String exampleOf(int from, int to) {
    return "\"%s-%s 50 GB/s\"".formatted(from, to >= 0 ? to : "switch" + (-1 - to));
  }

  // ---- dead links ----

  /** By pair of packages the next one on a shortest way over links that work; or {@link #NONE}. */
  private int[] detours() {
    List<List<Integer>> next = new ArrayList<>();
    List<List<Integer>> before = new ArrayList<>();
    for (int sip = 0; sip < sips; sip++) {
      next.add(new ArrayList<>());
      before.add(new ArrayList<>());
    }
    for (int sip = 0; sip < sips; sip++) {
      for (int to : neighbours(sip)) {
        next.get(sip).add(to);
        before.get(to).add(sip);
      }
    }
    int[] ways = new int[sips * sips];
    Arrays.fill(ways, NONE);
    int[] distance = new int[sips];
    int[] queue = new int[sips];
    for (int to = 0; to < sips; to++) {
      Arrays.fill(distance, Integer.MAX_VALUE);
      distance[to] = 0;
      queue[0] = to;
      int end = 1;
      for (int i = 0; i < end; i++) {
        for (int from : before.get(queue[i])) {
          if (distance[from] == Integer.MAX_VALUE) {
            distance[from] = distance[queue[i]] + 1;
            queue[end++] = from;
          }
        }
      }
      for (int from = 0; from < sips; from++) {
        if (from != to && distance[from] < Integer.MAX_VALUE) {
          ways[from * sips + to] = towards(from, to, next.get(from), distance);
        }
      }
    }
    return ways;
  }

  private int towards(int from, int to, List<Integer> next, int[] distance) {
    int usual = usualNext(from, to);
    if (next.contains(usual) && distance[usual] == distance[from] - 1) {
      return usual;
    }
    for (int each : next) {
      if (distance[each] == distance[from] - 1) {
        return each;
      }
    }
    throw new IllegalStateException("bug: no way from sip " + from + " to " + to);
  }

  /** Packages to which a link that works leads, or a switch, in the order of dimensions. */
  private List<Integer> neighbours(int sip) {
    List<Integer> found = new ArrayList<>();
    for (int d = 0; d < size.length; d++) {
      boolean via = dimensions.get(d).kind() == DimensionKind.SWITCH;
      for (int place = 0; via && place < size[d]; place++) {
        if (place != place(sip, d)) {
          found.add(at(sip, d, place));
        }
      }
      for (int i = 0; !via && i < lineLinks[d]; i++) {
        int link = id(d, line(sip, d), i);
        if (fromSip(link) == sip && !isDead(link)) {
          found.add(toSip(link));
        }
      }
    }
    return found;
  }

  @Override
  public String unreachable() {
    int[] pair = unreachablePair();
    return pair.length == 0 ? "" : unreachable(pair[0], pair[1]);
  }

  /** Two packages between which no way is left; empty if there are none. */
  int[] unreachablePair() {
    for (int pair = 0; pair < detours.length; pair++) {
      int from = pair / sips;
      int to = pair % sips;
      boolean joined = apart == NONE || place(from, apart) == place(to, apart);
      if (from != to && joined && detours[pair] == NONE) {
        return new int[] {from, to};
      }
    }
    return new int[0];
  }

  static String unreachable(int from, int to) {
    return """
    with these links dead no way is left from sip %s to sip %s; leave one of them \
    alive, or make it slow instead, e.g. 1 GB/s\
    """
        .formatted(from, to);
  }

  // ---- axes ----

  @Override
  public int shifted(int link, IntUnaryOperator shift) {
    int d = dimension(link);
    int from = fromSip(link);
    int to = toSip(link);
    int line = line(shift.applyAsInt(from == NONE ? to : from), d);
    if (from == NONE || to == NONE) {
      int place = place(shift.applyAsInt(from == NONE ? to : from), d);
      return id(d, line, 2 * place + (from == NONE ? 1 : 0));
    }
    return id(d, line, inLine(d, place(shift.applyAsInt(from), d), place(shift.applyAsInt(to), d)));
  }

  @Override
  public int numberOfOwn(int link) {
    int d = dimension(link);
    int number = link - firstLink[d];
    for (int before = 0; before < d; before++) {
      number += linksOfPackage(before);
    }
    return number;
  }

  @Override
  public int own(int number) {
    int rest = number;
    int d = 0;
    while (rest >= linksOfPackage(d)) {
      rest -= linksOfPackage(d++);
    }
    return firstLink[d] + rest;
  }

  /** Links of a dimension that belong to each package, where all have as many. */
  private int linksOfPackage(int d) {
    return lineLinks[d] / size[d];
  }

  @Override
  public int axes() {
    return Math.max(2, size.length);
  }

  @Override
  public int axisOf(int link) {
    return dimension(link);
  }

  @Override
  public int axisSize(int axis) {
    return axis < size.length ? size[axis] : 1;
  }

  @Override
  public boolean wrapsAlong(int axis) {
    return axis < size.length && dimensions.get(axis).wraps();
  }

  @Override
  public boolean isWrap(int link) {
    int d = dimension(link);
    if (!dimensions.get(d).wraps()) {
      return false;
    }
    return Math.abs(fromPlace(link, d) - toPlace(link, d)) > 1;
  }
}
