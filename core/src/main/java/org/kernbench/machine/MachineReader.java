package org.kernbench.machine;

import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.kernbench.config.ConfigMap;
import org.kernbench.config.ConfigTree;
import org.kernbench.config.Problems;
import org.kernbench.config.Quantity;
import org.kernbench.machine.MachineConfig.CubeConfig;
import org.kernbench.machine.MachineConfig.SystemConfig;
import org.kernbench.machine.spec.Dimension;
import org.kernbench.machine.spec.DramSpec;
import org.kernbench.machine.spec.FabricSpec;
import org.kernbench.machine.spec.HbmFidelity;
import org.kernbench.machine.spec.HbmSpec;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.machine.spec.LaunchSpec;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.machine.spec.LinkOverride;
import org.kernbench.machine.spec.LinkSpec;
import org.kernbench.machine.spec.NodesSpec;
import org.kernbench.machine.spec.PeSpec;
import org.kernbench.machine.spec.RouterSpec;
import org.kernbench.machine.spec.SipTopology;
import org.kernbench.machine.spec.SlowPackage;
import org.kernbench.machine.spec.SoftwareSpec;
import org.kernbench.machine.spec.SramSpec;
import org.kernbench.machine.spec.WrapPairs;
import org.kernbench.sim.Rate;

/**
 * Turns a configuration into a machine: reads every key, then checks values against each other.
 *
 * <p>Each check runs only if the keys it looks at were read without a problem.
 */
final class MachineReader {
  /** Bytes of an operand that the GEMM engine is fed with, f16. */
  static final int GEMM_OPERAND_BYTES = 2;

  private static final long BILLION = 1_000_000_000;

  private static final int MAX_SIPS = 1 << 24;
  private static final int MAX_FULLY_CONNECTED = 4096;
  private static final int MAX_AXIS = 256;

  /** So that node and link ids fit an int with room to spare. */
  private static final long MAX_NODES = 1 << 28;

  private final String name;
  private final ConfigTree tree;
  private final Problems problems;
  private final Map<LinkKind, LinkSpec> links = new EnumMap<>(LinkKind.class);

  private MachineReader(String name, ConfigTree tree, Problems problems) {
    this.name = name;
    this.tree = tree;
    this.problems = problems;
  }

  /**
   * Reads a resolved configuration.
   *
   * @throws org.kernbench.config.ConfigException with all problems, if there are any
   */
  static Machine read(String name, ConfigTree tree, Problems problems) {
    return new MachineReader(name, tree, problems).machine();
  }

  private Machine machine() {
    ConfigMap root = tree.root(problems);
    String description = root.text("description");
    ConfigMap systemMap = root.map("system");
    LinkSpec betweenSips = sipLinks(systemMap);
    List<Dimension> dimensions = NetworkReader.dimensions(systemMap, problems);
    SystemConfig system = system(systemMap, root.map("sip"), dimensions, betweenSips);
    LaunchSpec launch = LaunchSpec.read(systemMap.map("launch"));
    systemMap.done();
    ConfigMap cubeMap = root.map("cube");
    CubeConfig cube = cube(cubeMap);
    HbmSpec hbm = hbm(cubeMap, cube);
    UnequalParts.checkHbm(systemMap.map("sips"), system, hbm);
    SramSpec sram = SramSpec.read(cubeMap.map("sram"));
    links.put(LinkKind.SRAM_PORT, new LinkSpec(sram.rate(), sram.latencyPs()));
    cubeMap.done();
    PeSpec pe = PeSpec.read(root.map("pe"));
    IpcqSpec ipcq = IpcqSpec.read(root.map("ipcq"));
    FabricSpec fabric = fabric(root.map("fabric"), hbm, dimensions.size());
    if (fabric.isBuffered() && dimensions.stream().anyMatch(Dimension::wholeMessages)) {
      systemMap.problem(
          "network",
          """
          a switch that forwards whole_messages has room for them; expected forward: cut_through \
          with finite buffers, or fabric.buffer: unlimited\
          """);
    }
    if (fabric.isBuffered() && dimensions.stream().anyMatch(Dimension::uncontended)) {
      systemMap.problem(
          "network",
          """
          links without contention never fill a buffer; expected contention: queue with finite \
          buffers, or fabric.buffer: unlimited\
          """);
    }
    if (fabric.isBuffered() && system.nodes().filter(n -> n.messageOverheadPs() > 0).isPresent()) {
      systemMap.problem(
          "nodes",
          """
          finite buffers count no message_overhead of NICs; expected message_overhead: 0 ns with \
          them, or fabric.buffer: unlimited\
          """);
    }
    SoftwareSpec software = SoftwareSpec.read(root);
    root.done();
    checkQueues(ipcq, pe, hbm, sram, cube);
    checkSize(system, cube);
    if (!problems.isClean("cube", "sip", "system", "pe.tcm")) {
      problems.throwIfAny();
    }
    SipTemplate template =
        new SipTemplate(new CubeLayout(cube), system.cubesWidth(), system.cubesHeight());
    AddressMap addresses =
        new AddressMap(
            template, system.sips(), hbm.sizeBytes(), sram.sizeBytes(), pe.tcm().sizeBytes());
    checkAddresses(addresses);
    problems.throwIfAny();
    // Data for a PE is written to its TCM, so the link into the PE has the TCM's latency too.
    LinkSpec out = Objects.requireNonNull(links.get(LinkKind.PE_TO_ROUTER));
    links.put(
        LinkKind.ROUTER_TO_PE, new LinkSpec(out.rate(), out.latencyPs() + pe.tcm().latencyPs()));
    MachineConfig config =
        new MachineConfig(
            name, description, system, cube, links, launch, hbm, sram, pe, ipcq, fabric, software);
    Machine machine = new Machine(config, tree, template, addresses);
    checkDeadlock(machine);
    return machine.withWarnings(MachineWarnings.of(machine, tree));
  }

  private LinkSpec sipLinks(ConfigMap system) {
    ConfigMap systemLinks = system.map("links");
    link(systemLinks, "sip_to_sip", LinkKind.SIP_TO_SIP);
    link(systemLinks, "host_to_sip", LinkKind.HOST_LINK);
    systemLinks.done();
    return Objects.requireNonNull(links.get(LinkKind.SIP_TO_SIP));
  }

  private SystemConfig system(
      ConfigMap system, ConfigMap sip, List<Dimension> dimensions, LinkSpec sipLink) {
    ConfigMap sipsMap = system.map("sips");
    int stated = sipsMap.integer("count", 1, MAX_SIPS);
    Optional<NodesSpec> nodes = NetworkReader.nodes(system, dimensions, problems);
    nodes.ifPresent(each -> {
      links.put(LinkKind.NIC, each.nic());
      links.put(LinkKind.SIP_TO_NIC, each.link());
    });
    boolean levels = !dimensions.isEmpty();
    int sips = levels ? NetworkReader.packages(dimensions) : stated;
    SipTopology word = sipsMap.choice("topology", SipTopology.shortForms());
    SipTopology topology = levels ? SipTopology.NETWORK : word;
    int[] grid = levels ? new int[] {sips, 1} : grid(sipsMap, sips, topology);
    if (levels) {
      NetworkReader.checkCount(system, sipsMap, stated, dimensions, MAX_SIPS);
      axis(sipsMap, "w");
      axis(sipsMap, "h");
    }
    WrapPairs wrapPairs = sipsMap.choice("wrap_pairs", WrapPairs.values());
    long sums = NetworkReader.sumShare(sipsMap, topology == SipTopology.SWITCH, "topology: switch");
    List<LinkOverride> overrides = UnequalParts.links(sipsMap);
    List<SlowPackage> slow = UnequalParts.slow(sipsMap);
    sipsMap.done();
    if (topology == SipTopology.FULLY_CONNECTED && sips > MAX_FULLY_CONNECTED) {
      sipsMap.problem(
          "count",
          "got " + sips + " fully connected sips; expected at most " + MAX_FULLY_CONNECTED);
    }
    ConfigMap mesh = sip.map("cube_mesh");
    int width = mesh.integer("w", 1, MAX_AXIS);
    int height = mesh.integer("h", 1, MAX_AXIS);
    mesh.done();
    ConfigMap sipLinks = sip.map("links");
    link(sipLinks, "cube_to_cube", LinkKind.CUBE_TO_CUBE);
    link(sipLinks, "cube_to_io", LinkKind.CUBE_TO_IO);
    sipLinks.done();
    sip.done();
    SystemConfig config =
        new SystemConfig(
            sips,
            topology,
            grid[0],
            grid[1],
            wrapPairs,
            width,
            height,
            overrides,
            slow,
            dimensions,
            nodes,
            sums,
            sipLink);
    if (problems.isClean("system")) {
      UnequalParts.check(sipsMap, config);
    }
    return config;
  }

  /** Width and height of the SIP grid; {@code auto} picks the squarest one. */
  private int[] grid(ConfigMap sipsMap, int sips, SipTopology topology) {
    int width = axis(sipsMap, "w");
    int height = axis(sipsMap, "h");
    int shorter = (int) Math.sqrt(sips);
    while (sips % shorter != 0) {
      shorter--;
    }
    int wanted = width > 0 ? width : height > 0 ? sips / height : sips / shorter;
    int other = height > 0 ? height : sips / Math.max(1, wanted);
    boolean readable = problems.isClean(sipsMap.path());
    if (readable && topology.isGrid() && wanted * (long) other != sips) {
      sipsMap.problem(
          width > 0 || height <= 0 ? "w" : "h",
          """
          got a grid of w %s x h %s for %s sips; expected w x h = count, e.g. w: %s, h: %s\
          """
              .formatted(
                  width > 0 ? width : "auto",
                  height > 0 ? height : "auto",
                  sips,
                  sips / shorter,
                  shorter));
    }
    return new int[] {wanted, other};
  }

  /** A number of packages, or 0 for {@code auto}. */
  private int axis(ConfigMap sipsMap, String key) {
    return sipsMap.integerOr(key, "auto", 1, MAX_SIPS);
  }

  private CubeConfig cube(ConfigMap cube) {
    ConfigMap noc = cube.map("noc");
    int width = noc.integer("w", 1, MAX_AXIS);
    int height = noc.integer("h", 1, MAX_AXIS);
    links.put(LinkKind.NOC, LinkSpec.read(noc));
    noc.done();
    ConfigMap layout = cube.map("pe_layout");
    int corners = layout.integer("corners", 1, 4);
    int perCorner = layout.integer("pe_per_corner", 1, MAX_AXIS * MAX_AXIS);
    layout.done();
    ConfigMap cubeLinks = cube.map("links");
    link(cubeLinks, "pe_to_router", LinkKind.PE_TO_ROUTER);
    link(cubeLinks, "hbm_to_router", LinkKind.HBM_LINK);
    link(cubeLinks, "sram_to_router", LinkKind.SRAM_LINK);
    link(cubeLinks, "m_cpu_to_router", LinkKind.M_CPU_LINK);
    cubeLinks.done();
    int capacity = CubeLayout.capacityPerCorner(width, height, corners);
    if (problems.isClean("cube.noc.w", "cube.noc.h", "cube.pe_layout") && perCorner > capacity) {
      layout.problem(
          "pe_per_corner",
          """
          got %s PEs at each of %s corners; expected at most %s: each PE needs a router \
          of its own in its part of the %s x %s mesh; enlarge cube.noc.w or .h\
          """
              .formatted(perCorner, corners, capacity, width, height));
    }
    return new CubeConfig(width, height, corners, perCorner);
  }

  private HbmSpec hbm(ConfigMap cubeMap, CubeConfig cube) {
    ConfigMap memory = cubeMap.map("memory_map");
    long total = (long) memory.integer("hbm_total_gb_per_cube", 1, 1 << 20) << 30;
    int pes = cube.pes();
    int slices = memory.integerOr("hbm_slices_per_cube", "per_pe", 1, MAX_AXIS * MAX_AXIS);
    memory.done();
    boolean layoutKnown = problems.isClean("cube.pe_layout");
    boolean perPe = slices == 0 || slices == pes;
    if (layoutKnown && problems.isClean(memory.path("hbm_slices_per_cube")) && !perPe) {
      memory.problem(
          "hbm_slices_per_cube",
          """
          got %s slices for %s PEs (%s corners x %s); expected one each: %s, or per_pe\
          """
              .formatted(slices, pes, cube.corners(), cube.pesPerCorner(), pes));
    }
    if (layoutKnown && problems.isClean(memory.path("hbm_total_gb_per_cube")) && total % pes != 0) {
      memory.problem(
          "hbm_total_gb_per_cube",
          """
          got %s GiB, which %s PEs cannot share in whole bytes; expected a multiple of \
          the number of PEs\
          """
              .formatted(total >> 30, pes));
    }
    return hbmPort(cubeMap.map("hbm"), total, cube);
  }

  private HbmSpec hbmPort(ConfigMap map, long total, CubeConfig cube) {
    int channels = map.integer("channels", 1, 1 << 16);
    long channelBandwidth = map.bandwidth("channel_bandwidth");
    long efficiency = map.billionths("efficiency");
    long burst = map.size("burst");
    long latency = map.time("latency");
    HbmFidelity fidelity = map.choice("fidelity", HbmFidelity.values());
    Optional<Rate> channel =
        map.isClean("channel_bandwidth")
            ? Optional.of(Rate.ofBytesPerSecond(channelBandwidth))
            : Optional.empty();
    DramSpec dram = DramSpec.read(map.map("dram"), burst, channel);
    map.done();
    boolean banked = fidelity == HbmFidelity.BANKED;
    int pes = cube.pes();
    if (problems.isClean("cube.pe_layout", map.path("channels"))) {
      boolean divides = channels % pes == 0;
      if (!divides || Integer.bitCount(channels / pes) != 1) {
        map.problem(
            "channels",
            """
            got %s pseudo-channels for %s PEs; expected a power of two for each PE, e.g. %s\
            """
                .formatted(
                    channels, pes, pes * Integer.highestOneBit(Math.max(1, channels / pes))));
      }
    }
    map.checkPowerOfTwo("burst", burst);
    int perPe = Math.max(1, channels / pes);
    if (perPe > Long.MAX_VALUE / channelBandwidth) {
      map.problem("channel_bandwidth", "the slice of a PE exceeds what we can hold; expected less");
      perPe = 1;
    }
    long given = banked ? Math.min(channelBandwidth, dram.bytesPerSecond()) : channelBandwidth;
    long peak = perPe * given;
    long effective = peak / BILLION * efficiency + peak % BILLION * efficiency / BILLION;
    HbmSpec spec =
        new HbmSpec(
            total / pes,
            Rate.ofBytesPerSecond(banked ? peak : Math.max(1, effective)),
            Rate.ofBytesPerSecond(peak),
            perPe,
            burst,
            banked ? Math.min(dram.tCl(), dram.tCwl()) + dram.tBl() : latency,
            fidelity,
            dram);
    links.put(LinkKind.HBM_PORT, new LinkSpec(spec.rate(), spec.latencyPs()));
    return spec;
  }

  private FabricSpec fabric(ConfigMap map, HbmSpec hbm, int dimensions) {
    long chunk = map.size("chunk");
    boolean burstKnown = problems.isClean("cube.hbm.burst");
    if (map.checkPowerOfTwo("chunk", chunk) && burstKnown && chunk < hbm.burstBytes()) {
      map.problem(
          "chunk",
          "got %s B; expected at least the HBM burst, cube.hbm.burst: %s B"
              .formatted(chunk, hbm.burstBytes()));
    }
    long flit = map.size("flit");
    Optional<RouterSpec> router = RouterSpec.read(map, hbm);
    int most = router.isPresent() ? RouterSpec.MOST_CHANNELS : RoutePhases.most(dimensions);
    int channels = map.integerOr("virtual_channels", "auto", 1, most);
    long buffer =
        map.isText("buffer", "unlimited")
            ? FabricSpec.UNLIMITED
            : map.sizeOr("buffer", "unlimited");
    map.done();
    if (map.checkPowerOfTwo("flit", flit) && flit > chunk) {
      map.problem("flit", "got " + flit + " B; expected at most fabric.chunk: " + chunk + " B");
    }
    boolean finite = buffer != FabricSpec.UNLIMITED && problems.isClean(map.path());
    if (finite && (buffer < flit || buffer % flit != 0)) {
      map.problem(
          "buffer",
          "got %s B; expected a multiple of fabric.flit, e.g. %s B"
              .formatted(buffer, Math.ceilDiv(buffer, flit) * flit));
    }
    if (router.isPresent() && buffer == FabricSpec.UNLIMITED && problems.isClean(map.path())) {
      map.problem(
          "buffer",
          """
          got unlimited, but fabric.router describes routers with buffers; expected a size per \
          virtual channel, e.g. %s B, or no fabric.router\
          """
              .formatted(8 * flit));
    }
    return new FabricSpec(chunk, buffer, flit, channels, router);
  }

  /** With finite buffers, routes that wait for each other in a circle may stop for ever. */
  private void checkDeadlock(Machine machine) {
    FabricSpec fabric = machine.fabric();
    if (!fabric.isBuffered()) {
      return;
    }
    if (machine.sips() > ChannelGraph.MAX_SIPS) {
      problems.add(
          tree.positionOf("fabric.buffer"),
          "fabric.buffer",
          """
          finite buffers are checked for deadlock on up to %s sips; this machine has %s; \
          expected unlimited\
          """
              .formatted(ChannelGraph.MAX_SIPS, machine.sips()));
    } else {
      List<Link> circle = ChannelGraph.findCircle(machine);
      if (!circle.isEmpty()) {
        problems.add(
            tree.positionOf("fabric.virtual_channels"),
            "fabric.virtual_channels",
            """
            got %s: with finite buffers these %s links can wait for each other for ever: \
            %s; expected auto (here %s), or fabric.buffer: unlimited\
            """
                .formatted(
                    fabric.virtualChannels(), circle.size(), names(circle), machine.phaseCount()));
      }
    }
    problems.throwIfAny();
  }

  private static String names(List<Link> circle) {
    List<String> sips =
        circle.stream().filter(l -> l.kind() == LinkKind.SIP_TO_SIP).map(Link::name).toList();
    List<String> shown = sips.isEmpty() ? circle.stream().map(Link::name).toList() : sips;
    String first = String.join(", ", shown.subList(0, Math.min(6, shown.size())));
    return shown.size() == circle.size() && shown.size() <= 6 ? first : first + " and others";
  }

  private void link(ConfigMap parent, String key, LinkKind kind) {
    ConfigMap map = parent.map(key);
    links.put(kind, LinkSpec.read(map));
    map.done();
  }

  private void checkQueues(IpcqSpec ipcq, PeSpec pe, HbmSpec hbm, SramSpec sram, CubeConfig cube) {
    if (!problems.isClean("ipcq.slots", "ipcq.slot_size", "ipcq.directions", "ipcq.buffer_kind")
        || !problems.isClean(
            "cube.pe_layout", "cube.memory_map", "cube.sram.size", "pe.tcm.size")) {
      return;
    }
    long slots = (long) ipcq.slots() * ipcq.directions();
    long size =
        switch (ipcq.bufferKind()) {
          case TCM -> pe.tcm().sizeBytes();
          case SRAM -> sram.sizeBytes() / cube.pes();
          case HBM -> hbm.sizeBytes();
        };
    if (ipcq.slotBytes() > size / slots) {
      String memory =
          switch (ipcq.bufferKind()) {
            case TCM -> "pe.tcm.size";
            case SRAM -> "a PE's share of cube.sram.size";
            case HBM -> "a PE's HBM slice";
          };
      String blamed =
          MachineWarnings.nearest(
              tree,
              "ipcq.slot_size",
              List.of("ipcq.slots", "ipcq.buffer_kind", "pe.tcm.size", "cube.sram.size"));
      problems.add(
          tree.positionOf(blamed),
          blamed,
          """
          got %s slots x %s x %s directions = %s; expected at most %s = %s; use fewer or \
          smaller slots, or another ipcq.buffer_kind\
          """
              .formatted(
                  ipcq.slots(),
                  binary((double) ipcq.slotBytes()),
                  ipcq.directions(),
                  binary((double) slots * ipcq.slotBytes()),
                  memory,
                  binary((double) size)));
    }
  }

  private static String binary(double bytes) {
    return Quantity.SIZE.formatRounded(bytes, 2);
  }

  private void checkSize(SystemConfig system, CubeConfig cube) {
    if (!problems.isClean("system.sips", "sip.cube_mesh", "cube.noc", "cube.pe_layout")) {
      return;
    }
    double nodes =
        (double) system.sips()
            * system.cubesWidth()
            * system.cubesHeight()
            * (cube.nocWidth() * cube.nocHeight() + 3.0 * cube.pes() + 3);
    if (nodes > MAX_NODES) {
      problems.add(
          tree.positionOf("system.sips.count"),
          "system.sips.count",
          """
          the machine would have %s million nodes; expected at most %s million; use fewer \
          sips, cubes, routers or PEs\
          """
              .formatted(Math.round(nodes / 1e6), MAX_NODES / 1_000_000));
    }
  }

  private void checkAddresses(AddressMap addresses) {
    if (addresses.excessBits() > 0) {
      problems.add(
          tree.positionOf("cube.memory_map"),
          "cube.memory_map",
          """
          the memories need %s more address bits than the %s there are (%s for sips, %s \
          for dies); expected smaller memories, fewer cubes or fewer sips\
          """
              .formatted(
                  addresses.excessBits(),
                  AddressMap.ADDRESS_BITS,
                  addresses.sipBits(),
                  addresses.dieBits()));
    }
  }
}
