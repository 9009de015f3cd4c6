package org.kernbench.machine;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.kernbench.config.ConfigMap;
import org.kernbench.config.Problems;
import org.kernbench.config.Quantity;
import org.kernbench.machine.spec.Dimension;
import org.kernbench.machine.spec.DimensionKind;
import org.kernbench.machine.spec.LinkSpec;
import org.kernbench.machine.spec.NodesSpec;
import org.kernbench.sim.Rate;

/** Reads {@code system.network} and {@code system.nodes}: networks of several levels. */
final class NetworkReader {
  /** More than anybody builds; routes need two virtual channels for each. */
  static final int MOST_DIMENSIONS = 8;

  /** The links of a line of packages that are all joined to each other grow with its square. */
  private static final int MOST_PEERS = 1024;

  private static final long MOST_LINKS = 1 << 28;

  private static final String NONE = "none";

  private NetworkReader() {}

  /** How links of a dimension count time. */
  private enum Counting {
    /** To the picosecond. */
    EXACT,
    /** Latency and bytes together in whole nanoseconds, the rest dropped. */
    WHOLE_NS
  }

  /** When a switch passes on what it gets. */
  private enum Forwarding {
    /** As it comes. */
    CUT_THROUGH,
    /** When a piece of {@code fabric.chunk} is there. */
    WHOLE_MESSAGES
  }

  /** Whether messages wait for each other on a link. */
  private enum Contention {
    /** They do. */
    QUEUE,
    /** Each has the link to itself. */
    NONE
  }

  /** The dimensions, innermost first; empty if the network is said by {@code system.sips}. */
  static List<Dimension> dimensions(ConfigMap system, Problems problems) {
    List<Dimension> dimensions = new ArrayList<>();
    if (!system.has("network") || system.isText("network", NONE)) {
      return dimensions;
    }
    List<ConfigMap> maps = system.maps("network");
    if (maps.isEmpty() && problems.isClean(system.path("network"))) {
      system.problem(
          "network", "got no dimension; expected at least one, e.g. [{kind: ring, size: 4, ...}]");
    }
    if (maps.size() > MOST_DIMENSIONS) {
      system.problem(
          "network", "got " + maps.size() + " dimensions; expected at most " + MOST_DIMENSIONS);
      return dimensions;
    }
    for (ConfigMap map : maps) {
      dimensions.add(dimension(map));
    }
    return dimensions;
  }

  private static Dimension dimension(ConfigMap map) {
    DimensionKind kind = map.choice("kind", DimensionKind.values());
    int most = kind == DimensionKind.FULLY_CONNECTED ? MOST_PEERS : 1 << 24;
    int size = map.integer("size", 1, most);
    long rate = map.bandwidth("bandwidth");
    long latency = map.quantity("latency", Quantity.TIME, 1);
    boolean whole = map.has("time") && map.choice("time", Counting.values()) == Counting.WHOLE_NS;
    boolean stores = false;
    long out = latency;
    if (kind == DimensionKind.SWITCH) {
      out =
          map.has("latency_from_switch")
              ? map.quantity("latency_from_switch", Quantity.TIME, 1)
              : latency;
      stores =
          map.has("forward")
              && map.choice("forward", Forwarding.values()) == Forwarding.WHOLE_MESSAGES;
    } else {
      for (String key : new String[] {"latency_from_switch", "forward"}) {
        if (map.has(key)) {
          map.problem(key, "only a switch has this; expected kind: switch, or no such key");
        }
      }
    }
    boolean passing =
        map.has("contention") && map.choice("contention", Contention.values()) == Contention.NONE;
    if (stores && passing) {
      map.problem(
          "contention", "a switch that forwards whole_messages keeps a queue; expected queue");
    }
    long elsewhere = map.has("latency_elsewhere") ? map.time("latency_elsewhere") : 0;
    if (elsewhere >= Math.max(1, whole ? latency - latency % 1000 : latency)) {
      map.problem("latency_elsewhere", "expected less than the latency that it is a part of");
      elsewhere = 0;
    }
    long sums = sumShare(map, kind == DimensionKind.SWITCH, "kind: switch");
    map.done();
    LinkSpec first = link(rate, latency, whole);
    return new Dimension(
        kind,
        size,
        new LinkSpec(first.rate(), first.latencyPs() - elsewhere),
        link(rate, out, whole),
        stores,
        passing,
        sums);
  }

  /**
   * What share of a port's rate a switch combines at, in billionths; 0 if it does not.
   *
   * @param isSwitch whether there is one
   * @param expected how a file says so
   */
  static long sumShare(ConfigMap map, boolean isSwitch, String expected) {
    boolean reduces = map.has("reduces") && map.flag("reduces");
    if (reduces && !isSwitch) {
      map.problem("reduces", "only a switch adds up; expected " + expected + ", or no such key");
    }
    if (!map.has("reduction_efficiency")) {
      return reduces && isSwitch ? Dimension.FULL_SHARE : 0;
    }
    long share = map.billionths("reduction_efficiency");
    if (!reduces) {
      map.problem(
          "reduction_efficiency",
          "only a switch that adds up has this; expected reduces: true, or no such key");
    }
    return reduces && isSwitch ? share : 0;
  }

  /**
   * How packages are put together to nodes; empty without {@code system.nodes}.
   *
   * @param dimensions of the network
   */
  static Optional<NodesSpec> nodes(
      ConfigMap system, List<Dimension> dimensions, Problems problems) {
    if (!system.has("nodes") || system.isText("nodes", NONE)) {
      return Optional.empty();
    }
    ConfigMap map = system.map("nodes");
    int packages = map.integer("packages", 1, 1 << 24);
    int nics = map.integer("nics", 1, 1 << 24);
    LinkSpec nic = linkSpec(map);
    long overhead = map.time("message_overhead");
    ConfigMap link = map.map("link");
    LinkSpec toNic = linkSpec(link);
    link.done();
    map.done();
    if (!problems.isClean(system.path("nodes"), system.path("network"))) {
      return Optional.empty();
    }
    if (dimensions.isEmpty()) {
      system.problem(
          "nodes",
          """
          there is no network for their NICs; expected system.network with the dimensions inside \
          a node and those between nodes, or nodes: none\
          """);
      return Optional.empty();
    }
    int inside = inside(dimensions, packages);
    if (inside < 0) {
      map.problem(
          "packages",
          """
          got %s; expected what the first dimensions of system.network hold, with one left for \
          the NICs: %s\
          """
              .formatted(packages, possible(dimensions)));
    } else if (packages % nics != 0) {
      map.problem(
          "nics",
          """
          got %s for %s packages; expected as many, each with a NIC of its own, or a number that \
          divides them, e.g. 1 for all\
          """
              .formatted(nics, packages));
    }
    return problems.isClean(map.path())
        ? Optional.of(new NodesSpec(packages, nics, inside, nic, overhead, toNic))
        : Optional.empty();
  }

  private static LinkSpec linkSpec(ConfigMap map) {
    return link(map.bandwidth("bandwidth"), map.quantity("latency", Quantity.TIME, 1), false);
  }

  /** How many of the first dimensions hold so many packages; -1 if none do. */
  private static int inside(List<Dimension> dimensions, int packages) {
    for (int d = 0; d < dimensions.size(); d++) {
      if (packages(dimensions.subList(0, d)) == packages) {
        return d;
      }
    }
    return -1;
  }

  /** The packages that nodes of this network can have. */
  private static String possible(List<Dimension> dimensions) {
    return IntStream.range(0, dimensions.size())
        .map(d -> packages(dimensions.subList(0, d)))
        .distinct()
        .mapToObj(String::valueOf)
        .collect(Collectors.joining(" or "));
  }

  private static LinkSpec link(long bytesPerSecond, long latencyPs, boolean wholeNs) {
    if (!wholeNs) {
      return new LinkSpec(Rate.ofBytesPerSecond(bytesPerSecond), latencyPs);
    }
    // What latency and bytes are together is cut, so the odd part of the latency goes with the
    // bytes.
    long odd = latencyPs % 1000;
    return new LinkSpec(Rate.inWholeNs(bytesPerSecond, odd), latencyPs - odd);
  }

  /** Packages of a network; as many as an int holds, if there are more. */
  static int packages(List<Dimension> dimensions) {
    long product = 1;
    for (Dimension each : dimensions) {
      product = Math.min(Integer.MAX_VALUE, product * each.size());
    }
    return (int) product;
  }

  /** Whether the packages are not too many, and as many as the same file says elsewhere. */
  static void checkCount(
      ConfigMap system, ConfigMap sips, int stated, List<Dimension> dimensions, int mostSips) {
    int packages = packages(dimensions);
    BigInteger all =
        dimensions.stream()
            .map(d -> BigInteger.valueOf(d.size()))
            .reduce(BigInteger.ONE, BigInteger::multiply);
    String sizes = dimensions.stream().map(d -> "" + d.size()).collect(Collectors.joining(" x "));
    double links = 0;
    for (Dimension each : dimensions) {
      double lines = all.doubleValue() / each.size();
      links += lines * LevelNetwork.linksOfLine(each.kind(), each.size());
    }
    if (packages > mostSips || links > MOST_LINKS) {
      system.problem(
          "network",
          "got %s = %s sips and %s links; expected at most %s sips and %s links"
              .formatted(
                  sizes,
                  all,
                  String.format(Locale.ROOT, links < 1e15 ? "%.0f" : "%.1e", links),
                  mostSips,
                  MOST_LINKS));
    }
    boolean sameFile = sips.at("count").file().equals(system.at("network").file());
    if (sameFile && stated != packages) {
      sips.problem(
          "count",
          "got %s, but system.network has %s = %s sips; leave one of the two out"
              .formatted(stated, sizes, packages));
    }
  }
}
