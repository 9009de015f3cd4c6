package org.kernbench.machine;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.kernbench.config.ConfigTree;
import org.kernbench.config.Problem;
import org.kernbench.config.Problems;
import org.kernbench.machine.spec.Dimension;
import org.kernbench.machine.spec.FabricSpec;
import org.kernbench.machine.spec.HbmSpec;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.machine.spec.LaunchSpec;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.machine.spec.LinkOverride;
import org.kernbench.machine.spec.LinkSpec;
import org.kernbench.machine.spec.NodesSpec;
import org.kernbench.machine.spec.PeSpec;
import org.kernbench.machine.spec.SipTopology;
import org.kernbench.machine.spec.SlowPackage;
import org.kernbench.machine.spec.SoftwareSpec;
import org.kernbench.machine.spec.SramSpec;
import org.kernbench.sim.Rate;

/**
 * An immutable machine: packages (SIPs) of cubes of processing elements, joined by directed links.
 *
 * <p>Nodes and links have dense ids. Packages are alike, so what this holds hardly grows with their
 * number, and {@link #node} and {@link #link} make their records when asked. {@link #route(int,
 * int)} is a pure function that builds its answer each time; callers that ask often keep it.
 */
public final class Machine {
  private final MachineConfig config;
  private final ConfigTree tree;
  private final String configText;
  private final List<Problem> warnings;
  private final SipTemplate template;
  private final PackageNetwork network;
  private final AddressMap addresses;
  private final LinkSpec[] specs;
  private final PackageOffsets offsets;
  private final NodeTable nodes;
  private final LinkTable links;
  private final int[] computesLike;
  private final int firstHostLink;
  private final int firstSipLink;
  private final int host;
  private final boolean uncontended;
  private final RoutePhases phases;

  /**
   * A machine from checked values.
   *
   * @param tree the resolved configuration; the hash is taken of its canonical text
   */
  Machine(MachineConfig config, ConfigTree tree, SipTemplate template, AddressMap addresses) {
    this.config = config;
    this.tree = tree;
    this.configText = tree.canonicalText(List.of("description"));
    this.warnings = List.of();
    this.template = template;
    this.addresses = addresses;
    network = PackageNetwork.of(config.system());
    specs = new LinkSpec[LinkKind.values().length];
    for (var entry : config.links().entrySet()) {
      specs[entry.getKey().ordinal()] = entry.getValue();
    }
    computesLike = computesLike();
    links = new LinkTable(template, network, sips());
    firstHostLink = links.firstHostLink;
    firstSipLink = links.firstSipLink;
    host = sips() * template.nodes;
    offsets = new PackageOffsets(sips(), sipTopology(), network);
    nodes = new NodeTable(template, network, host);
    uncontended = dimensions().stream().allMatch(Dimension::uncontended);
    phases = new RoutePhases(this, network, firstSipLink);
  }

  private Machine(Machine other, List<Problem> warnings) {
    config = other.config;
    tree = other.tree;
    configText = other.configText;
    template = other.template;
    network = other.network;
    addresses = other.addresses;
    specs = other.specs;
    computesLike = other.computesLike;
    links = other.links;
    firstHostLink = other.firstHostLink;
    firstSipLink = other.firstSipLink;
    host = other.host;
    offsets = other.offsets;
    nodes = other.nodes;
    uncontended = other.uncontended;
    phases = other.phases;
    this.warnings = List.copyOf(warnings);
  }

  Machine withWarnings(List<Problem> found) {
    return new Machine(this, found);
  }

  /** Name of the preset, or of the file without its extension. */
  public String name() {
    return config.name();
  }

  /** One line on what the machine is. */
  public String description() {
    return config.description();
  }

  /** First 12 hexadecimal digits of the SHA-256 of the resolved configuration. */
  public String hash() {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      byte[] hash = digest.digest(configText.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(hash, 0, 6);
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError("every Java platform has SHA-256", e);
    }
  }

  /** The resolved configuration, one sorted line {@code path=value} per key. */
  public String configText() {
    return configText;
  }

  /**
   * A copy with other values.
   *
   * @param overrides {@code path=value}, applied in order, as {@link Machines#load} takes them
   * @throws org.kernbench.config.ConfigException with every problem found
   */
  public Machine with(List<String> overrides) {
    Problems problems = new Problems();
    return MachineReader.read(name(), tree.overridden(overrides, problems), problems);
  }

  /** What is allowed but probably not meant, with the numbers it implies. */
  public List<Problem> warnings() {
    return warnings;
  }

  /** The values as they were read, for what this room derives from them. */
  MachineConfig config() {
    return config;
  }

  /** Number of packages. */
  public int sips() {
    return config.system().sips();
  }

  /** How packages are joined. */
  public SipTopology sipTopology() {
    return config.system().topology();
  }

  /** Packages along x; the length of a ring; 1 in networks without a grid. */
  public int sipGridWidth() {
    return network.width();
  }

  /** Packages along y; 1 in a ring and in networks without a grid. */
  public int sipGridHeight() {
    return network.height();
  }

  /**
   * The dimensions of the network of packages, innermost first: along each, packages that differ in
   * nothing else are joined alike. A ring has one, a torus two, {@code system.network} any number.
   */
  public List<Dimension> dimensions() {
    return network.dimensions();
  }

  /**
   * Where a package is along a dimension: 0 to its size less one.
   *
   * @param dimension number in {@link #dimensions}
   */
  public int place(int sip, int dimension) {
    return network.place(sip, dimension);
  }

  /**
   * The dimension that a link between packages leads along.
   *
   * @param id of a link {@linkplain LinkKind#isBetweenSips between packages}; a NIC belongs to the
   *     first dimension between nodes
   */
  public int dimensionOf(int id) {
    return network.axisOf(id - firstSipLink);
  }

  /** How packages are put together to nodes that have NICs; empty if they are not. */
  public Optional<NodesSpec> nodes() {
    return config.system().nodes();
  }

  /**
   * What passes before the first byte of a message enters a link, while nothing else does: the
   * message overhead of a NIC; 0 on other links, ps.
   */
  public long messagePs(int id) {
    return id >= firstSipLink ? network.messagePs(id - firstSipLink) : 0;
  }

  /**
   * The package that a node is in or belongs to: of a NIC the first that uses it; {@link #sips} for
   * the host and a switch.
   */
  public int homeOf(int node) {
    int home = node > host ? network.homeOf(node - host - 1) : PackageNetwork.NONE;
    return home == PackageNetwork.NONE ? packageOf(node) : home;
  }

  /** Whether what passes a link goes on only when a whole piece of it is there. */
  public boolean isStored(int id) {
    return id >= firstSipLink && network.isStored(id - firstSipLink);
  }

  /**
   * Whether messages pass each other on a link, so that it bounds no sum of bytes: links of
   * dimensions that say so, and where all do, links inside packages too, but for memories.
   */
  public boolean isUncontended(int id) {
    return id >= firstSipLink
        ? network.isUncontended(id - firstSipLink)
        : uncontended && !linkKind(id).isMemoryPort();
  }

  /** Cubes of a package along x. */
  public int cubeMeshWidth() {
    return template.cubesWidth;
  }

  /** Cubes of a package along y. */
  public int cubeMeshHeight() {
    return template.cubesHeight;
  }

  /** Cubes in a package; cube {@code c} stands at {@code x = c mod width, y = c / width}. */
  public int cubesPerSip() {
    return template.cubes();
  }

  /** Processing elements in a cube. */
  public int pesPerCube() {
    return template.cube.pes;
  }

  /** Routers of a cube along x. */
  public int nocWidth() {
    return template.cube.width;
  }

  /** Routers of a cube along y. */
  public int nocHeight() {
    return template.cube.height;
  }

  /** Processing elements of the machine. */
  public int peCount() {
    return sips() * cubesPerSip() * pesPerCube();
  }

  /**
   * Dense index of a PE: {@code (sip * cubesPerSip + cube) * pesPerCube + pe}.
   *
   * @throws MachineException if there is no such PE
   */
  public int peIndex(Pe pe) {
    check(pe.sip(), pe.cube(), pe.pe());
    return (pe.sip() * cubesPerSip() + pe.cube()) * pesPerCube() + pe.pe();
  }

  /**
   * The PE of a dense index.
   *
   * @throws MachineException if there is no such PE
   */
  public Pe peAt(int index) {
    if (index < 0 || index >= peCount()) {
      throw new MachineException("no PE " + index + "; the machine has " + peCount());
    }
    int cube = index / pesPerCube();
    return new Pe(cube / cubesPerSip(), cube % cubesPerSip(), index % pesPerCube());
  }

  /**
   * Links inside each package, from cube to cube and to IO chiplets as well: those of package
   * {@code s} have the ids from {@code s} times this on, in one order in all.
   */
  public int linksPerSip() {
    return template.links;
  }

  /** Number of links; their ids are 0 to this less one. */
  public int linkCount() {
    return links.count();
  }

  /**
   * A link by its id, with its name, which takes longer than the rest.
   *
   * @throws MachineException if there is no such link
   */
  public Link link(int id) {
    LinkKind kind = linkKind(id);
    int from = linkFrom(id);
    int to = linkTo(id);
    String arrow = kind.isMemoryPort() ? "<->" : "->";
    LinkSpec spec = specOf(id);
    return new Link(
        id,
        nodes.name(from) + arrow + nodes.name(to),
        kind,
        from,
        to,
        spec.rate(),
        spec.latencyPs());
  }

  /**
   * Rate and latency of a link; those of its kind, unless {@code system.sips.links} or {@code
   * system.sips.slow} make it different. Cheaper than {@link #link}.
   *
   * @throws MachineException if there is no such link
   */
  public LinkSpec specOf(int id) {
    LinkKind kind = linkKind(id);
    LinkSpec usual = spec(kind);
    if (id >= firstSipLink) {
      return network.spec(id - firstSipLink, usual);
    }
    SlowPackage slow = id < firstHostLink ? slow(id / template.links) : null;
    return slow == null ? usual : slow.over(kind, usual);
  }

  /** Whether a link is there, but nothing can pass it: {@code system.sips.links} says so. */
  public boolean isDead(int id) {
    return id >= firstSipLink && network.isDead(id - firstSipLink);
  }

  /** Whether {@code system.sips.links} makes this one different: dead, slow or far. */
  public boolean isUnequal(int id) {
    return id >= firstSipLink && network.isUnequal(id - firstSipLink);
  }

  /** Links between packages that are not as the others, as the configuration says it. */
  public List<String> unequalSipLinks() {
    return config.system().overrides().stream().map(LinkOverride::toString).toList();
  }

  /** Whether {@code system.sips.links} makes links between packages different from the others. */
  public boolean hasUnequalSipLinks() {
    return !config.system().overrides().isEmpty();
  }

  private @Nullable SlowPackage slow(int sip) {
    for (SlowPackage each : config.system().slow()) {
      if (each.concerns(sip)) {
        return each;
      }
    }
    return null;
  }

  /** Packages that are slower than the others, as the configuration says it; empty if none are. */
  public List<String> slowPackages() {
    return config.system().slow().stream().map(SlowPackage::toString).toList();
  }

  /**
   * Rate and latency that all links of a kind share, but those made different.
   *
   * @throws MachineException if the machine has no such links: only one with nodes has NICs
   */
  public LinkSpec spec(LinkKind kind) {
    LinkSpec spec = specs[kind.ordinal()];
    if (spec == null) {
      throw new MachineException(
          "the machine has no links of kind %s; a machine with system.nodes has".formatted(kind));
    }
    return spec;
  }

  /**
   * The kind of a link; cheaper than {@link #link}.
   *
   * @throws MachineException if there is no such link
   */
  public LinkKind linkKind(int id) {
    if (id < 0 || id >= linkCount()) {
      throw new MachineException("no link " + id + "; the machine has " + linkCount());
    }
    return links.kind(id);
  }

  /**
   * For each link the only link from which traffic can enter it, -1 if there are several or if
   * traffic can start there.
   *
   * <p>Holds for all routes, because no route turns back: whoever enters a link from {@code u} to
   * {@code v} came into {@code u} by another link than one from {@code v}. A memory port counts as
   * leading into its controller; nothing but a source enters a link that leaves a PE, a memory, an
   * M_CPU or the host.
   */
  public int[] soleFeeders() {
    return new Feeders(this).all();
  }

  /**
   * At which rate the switch that a link enters adds up what comes over it; empty if it keeps up
   * with the link.
   *
   * @param port a link to a switch that reduces
   */
  public Optional<Rate> sumRate(int port) {
    long share = dimensions().get(dimensionOf(port)).sumShareBillionths();
    double rate = specOf(port).rate().bytesPerSecond() * (share / 1e9);
    return share < Dimension.FULL_SHARE
        ? Optional.of(Rate.ofBytesPerSecond(Math.max(1, Math.round(rate))))
        : Optional.empty();
  }

  /**
   * The switch of a dimension that packages hang on, by a link or over a NIC.
   *
   * @param dimension whose kind is a switch
   */
  public int switchOf(int sip, int dimension) {
    return host + 1 + network.toRelay(network.linkToSwitch(sip, dimension));
  }

  /** The package that a node is in; {@link #sips} for the host, a switch and a NIC. */
  public int packageOf(int node) {
    checkNode(node);
    return node >= host ? sips() : node / template.nodes;
  }

  /**
   * The package that a link belongs to: the one that it leaves, or enters from a switch or the
   * host; of a NIC's links the first package that uses it. Cheaper than {@link #link}.
   *
   * @param id of a link that there is
   */
  public int packageOfLink(int id) {
    return links.home(id);
  }

  /**
   * Where a package lies as seen from another: in rings and grids the rows down times the width
   * plus the columns right, elsewhere the difference of numbers; all counted round, as if every
   * axis were closed. So it is 0 for a package itself, at most {@link #sips} less one, and the same
   * for all pairs that a shift of a ring or torus turns into each other.
   */
  public int displacement(int fromSip, int toSip) {
    return offsets.displacement(fromSip, toSip);
  }

  /**
   * {@link #displacement} counted from half-way round: on each axis the places to the west and the
   * north come first, the farthest before the next, then the package itself, then those to the east
   * and the south. So it grows with the number of the package wherever nothing wraps.
   */
  public int seat(int fromSip, int toSip) {
    return offsets.seat(fromSip, toSip);
  }

  /**
   * The shifts that take this machine to itself; empty if there are none but the one that changes
   * nothing, see {@link Symmetry#obstacle}.
   */
  public Optional<Symmetry> symmetry() {
    return Symmetry.obstacle(this).isPresent()
        ? Optional.empty()
        : Optional.of(new Symmetry(this, network, template.links, firstSipLink));
  }

  NodeKind kindOf(int node) {
    return nodes.kind(node);
  }

  /**
   * The node that a link leaves. Cheaper than {@link #link}.
   *
   * @param id of a link that there is
   */
  public int linkFrom(int id) {
    return links.from(id);
  }

  /**
   * The node that a link enters. Cheaper than {@link #link}.
   *
   * @param id of a link that there is
   */
  public int linkTo(int id) {
    return links.to(id);
  }

  /** Number of nodes; their ids are 0 to this less one. */
  public int nodeCount() {
    return nodes.count();
  }

  /**
   * A node by its id.
   *
   * @throws MachineException if there is no such node
   */
  public Node node(int id) {
    checkNode(id);
    return nodes.node(id);
  }

  /** The node of a PE; its TCM and its queues are behind the link into it. */
  public int peNode(Pe pe) {
    check(pe.sip(), pe.cube(), pe.pe());
    return inSip(pe.sip(), template.pe(pe.cube(), pe.pe()));
  }

  /** The node of the HBM slice that a PE owns. */
  public int hbmNode(Pe pe) {
    check(pe.sip(), pe.cube(), pe.pe());
    return inSip(pe.sip(), template.hbm(pe.cube(), pe.pe()));
  }

  /** The node of a cube's SRAM. */
  public int sramNode(int sip, int cube) {
    check(sip, cube, 0);
    return inSip(sip, template.sram(cube));
  }

  /** Size in bytes of the memory behind a node: an HBM slice, an SRAM, or a PE's TCM. */
  public long memoryBytes(int node) {
    return switch (kindOf(node)) {
      case HBM -> hbm().sizeBytes();
      case SRAM -> sram().sizeBytes();
      case PE -> pe().tcm().sizeBytes();
      case ROUTER, HBM_CONTROLLER, SRAM_CONTROLLER, M_CPU, IO, HOST, SWITCH, NIC ->
          throw new IllegalArgumentException("node " + node(node).name() + " is no memory");
    };
  }

  /** The node whose link leads to a PE's TCM: the PE's own. */
  public int tcmNode(Pe pe) {
    return peNode(pe);
  }

  /** The node of a cube's management CPU. */
  public int mCpuNode(int sip, int cube) {
    check(sip, cube, 0);
    return inSip(sip, template.mCpu(cube));
  }

  /** The node of a package's IO chiplet. */
  public int ioNode(int sip, Side side) {
    check(sip, 0, 0);
    return inSip(sip, template.io(side));
  }

  /** The node of the host. */
  public int hostNode() {
    return host;
  }

  /**
   * The way from one node to another.
   *
   * <p>Along x first, then y, for packages, cubes and routers; on rings and wrapped axes the
   * shorter way, on a tie the positive one (E, S). A route to or from a memory ends or begins with
   * the port of that memory, which has one id for both directions. The access latency of a memory
   * is the latency of its port.
   *
   * @throws MachineException if the two are the same, do not exist, or are the host and the switch
   */
  public Route route(int fromNode, int toNode) {
    checkNode(fromNode);
    checkNode(toNode);
    if (fromNode == toNode || (fromNode >= host && toNode >= host)) {
      throw new MachineException(
          """
          no route from %s to %s; a route joins two places, of which at most one is the \
          host or the switch\
          """
              .formatted(nodes.name(fromNode), nodes.name(toNode)));
    }
    RouteWalk walk = new RouteWalk(template, network, firstHostLink, firstSipLink);
    int fromLocal = fromNode % template.nodes;
    int toLocal = toNode % template.nodes;
    int fromSip = fromNode / template.nodes;
    int toSip = toNode / template.nodes;
    if (fromNode == host) {
      walk.walkFromHost(toSip, toLocal);
    } else if (toNode == host) {
      walk.walkToHost(fromSip, fromLocal);
    } else if (fromNode > host) {
      checkJoined(network.linksFromRelay(fromNode - host - 1, toSip), fromNode, toNode);
      walk.walkFromRelay(fromNode - host - 1, toSip, toLocal);
    } else if (toNode > host) {
      checkJoined(network.linksToRelay(fromSip, toNode - host - 1), fromNode, toNode);
      walk.walkToRelay(fromSip, fromLocal, toNode - host - 1);
    } else {
      walk.walk(fromSip, fromLocal, toSip, toLocal);
    }
    return new Route(this, walk.links());
  }

  private void checkJoined(int[] links, int fromNode, int toNode) {
    if (links.length == 0) {
      throw new MachineException(
          "no route from %s to %s; a package reaches the switches that it has a link to"
              .formatted(nodes.name(fromNode), nodes.name(toNode)));
    }
  }

  /** The links from one PE to another, see {@link #route(int, int)}. */
  public Route route(Pe from, Pe to) {
    return route(peNode(from), peNode(to));
  }

  /** The links from a PE to its router and back. */
  public Route loop(Pe pe) {
    Pe other = peAt(peIndex(pe) == 0 ? 1 : 0);
    return new Route(this, new int[] {route(pe, other).first(), route(other, pe).last()});
  }

  /**
   * The virtual channel of each link of a route, for finite buffers.
   *
   * <p>A route passes through phases, in this order, each of which goes along one axis or stays in
   * one place, so that waits inside a phase make no circle: for each dimension of the network
   * packages along it and those beyond the wrap link of its ring (the <em>dateline</em>: Dally and
   * Seitz, 1987), then the cubes of the last package, and the last cube. Each phase that the
   * machine has gets a channel of its own; if there are fewer channels, the first phases share
   * channel 0.
   *
   * @param route links in order, as {@link #route} gives them
   */
  public int[] virtualChannels(int[] route) {
    return phases.virtualChannels(route);
  }

  /**
   * Phases that routes of this machine pass through: as many virtual channels are of use, unless
   * packets choose among several ({@code fabric.router}).
   */
  public int phaseCount() {
    return phases.count();
  }

  /** Uncontended time of a launch from the host to a PE, over IO CPU and M_CPU, ps. */
  public long controlLatencyPs(Pe pe) {
    LaunchSpec launch = config.launch();
    int io = ioNode(pe.sip(), Side.N);
    int mCpu = mCpuNode(pe.sip(), pe.cube());
    return launch.doorbellPs()
        + route(host, io).latencyPs()
        + launch.ioCpuPs()
        + route(io, mCpu).latencyPs()
        + launch.mCpuPs()
        + route(mCpu, peNode(pe)).latencyPs()
        + launch.peCpuPs();
  }

  /** The processing elements; those of a slow package have slower engines, see {@link #pe(int)}. */
  public PeSpec pe() {
    return config.pe();
  }

  /** The processing elements of a package. */
  public PeSpec pe(int sip) {
    SlowPackage slow = slow(sip);
    return slow == null ? config.pe() : slow.over(config.pe());
  }

  /** The first package whose processing elements are those of {@code sip}. */
  public int computesLike(int sip) {
    return computesLike.length == 0 ? 0 : computesLike[sip];
  }

  /** For each package the first whose PEs are its own; empty if all are alike. */
  private int[] computesLike() {
    if (config.system().slow().isEmpty()) {
      return new int[0];
    }
    Map<PeSpec, Integer> first = new HashMap<>();
    return IntStream.range(0, sips())
        .map(sip -> first.computeIfAbsent(pe(sip), s -> sip))
        .toArray();
  }

  /** The queues between processing elements. */
  public IpcqSpec ipcq() {
    return config.ipcq();
  }

  /** How transfers share links. */
  public FabricSpec fabric() {
    FabricSpec f = config.fabric();
    return f.virtualChannels() > 0 ? f : f.withVirtualChannels(Math.max(1, phaseCount()));
  }

  /** The HBM slice of each PE. */
  public HbmSpec hbm() {
    return config.hbm();
  }

  /** The SRAM of each cube. */
  public SramSpec sram() {
    return config.sram();
  }

  /** What libraries and the host add to kernels. */
  public SoftwareSpec software() {
    return config.software();
  }

  /** Overheads of a launch. */
  public LaunchSpec launch() {
    return config.launch();
  }

  /** The physical address space. */
  public AddressMap addresses() {
    return addresses;
  }

  private int inSip(int sip, int local) {
    return sip * template.nodes + local;
  }

  private void checkNode(int id) {
    if (id < 0 || id >= nodeCount()) {
      throw new MachineException("no node " + id + "; the machine has " + nodeCount());
    }
  }

  private void check(int sip, int cube, int pe) {
    boolean exists =
        sip >= 0
            && sip < sips()
            && cube >= 0
            && cube < cubesPerSip()
            && pe >= 0
            && pe < pesPerCube();
    if (!exists) {
      throw new MachineException(
          "no such place: %s; %s has %s sips of %s cubes of %s PEs, numbered from 0"
              .formatted(new Pe(sip, cube, pe), name(), sips(), cubesPerSip(), pesPerCube()));
    }
  }
}
