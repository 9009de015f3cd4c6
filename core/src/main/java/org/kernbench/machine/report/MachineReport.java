package org.kernbench.machine.report;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.kernbench.config.Problem;
import org.kernbench.config.Quantity;
import org.kernbench.machine.AddressMap;
import org.kernbench.machine.ChannelGraph;
import org.kernbench.machine.LevelCut;
import org.kernbench.machine.Link;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Neighbours;
import org.kernbench.machine.Pe;
import org.kernbench.machine.QueueReach;
import org.kernbench.machine.Route;
import org.kernbench.machine.Side;
import org.kernbench.machine.spec.Dimension;
import org.kernbench.machine.spec.DimensionKind;
import org.kernbench.machine.spec.DramSpec;
import org.kernbench.machine.spec.GemmSpec;
import org.kernbench.machine.spec.HbmSpec;
import org.kernbench.machine.spec.IpcqSpec;
import org.kernbench.machine.spec.LaunchSpec;
import org.kernbench.machine.spec.LinkKind;
import org.kernbench.machine.spec.MathSpec;
import org.kernbench.machine.spec.NodesSpec;
import org.kernbench.machine.spec.PeSpec;
import org.kernbench.machine.spec.SipTopology;

/**
 * The text of {@code kernbench machine show}: what a machine is, and what follows from its numbers.
 */
public final class MachineReport {
  /** Beyond this many PEs the farthest one is not searched. */
  private static final int MAX_SEARCH = 20_000;

  /** As if no package were slower than the others: the figures are those of a usual package. */
  private final Machine machine;

  private final Machine asItIs;
  private final StringBuilder out = new StringBuilder();

  private MachineReport(Machine machine) {
    this.asItIs = machine;
    this.machine =
        machine.slowPackages().isEmpty()
            ? machine
            : machine.with(List.of("system.sips.slow=alike"));
  }

  /** The report, several lines, each ended by a newline. */
  public static String text(Machine machine) {
    MachineReport report = new MachineReport(machine);
    report.title();
    report.size();
    report.memories();
    report.engines();
    report.bisections();
    report.levels();
    report.latencies();
    report.launch();
    report.bytesInFlight();
    report.notes();
    return report.out.toString();
  }

  private void title() {
    line("machine " + machine.name() + "   (configuration " + asItIs.hash() + ")");
    line(machine.description());
  }

  private void size() {
    heading("Size");
    String topology = machine.sipTopology().name().toLowerCase(Locale.ROOT);
    String grid =
        machine.sipTopology().isGrid()
            ? ", " + machine.sipGridWidth() + " x " + machine.sipGridHeight()
            : "";
    String sums = machine.sipTopology() == SipTopology.SWITCH ? sums(dimension(0)) : "";
    row("sips", machine.sips() + "   " + topology + grid + sums);
    if (machine.sipTopology() == SipTopology.NETWORK) {
      dimensions();
    }
    row(
        "cubes per sip",
        "%s   mesh %s x %s"
            .formatted(machine.cubesPerSip(), machine.cubeMeshWidth(), machine.cubeMeshHeight()));
    row(
        "PEs per cube",
        "%s   on a mesh of %s x %s routers"
            .formatted(machine.pesPerCube(), machine.nocWidth(), machine.nocHeight()));
    row(
        "PEs",
        machine.peCount() + "   " + machine.cubesPerSip() * machine.pesPerCube() + " per sip");
    if (!asItIs.slowPackages().isEmpty()) {
      row(
          "slow packages",
          "%s   all figures below are as if there were none"
              .formatted(String.join("; ", asItIs.slowPackages())));
    }
    if (machine.hasUnequalSipLinks()) {
      row("unequal links", String.join("; ", machine.unequalSipLinks()));
    }
    row("graph", machine.nodeCount() + " nodes, " + machine.linkCount() + " links");
    AddressMap map = machine.addresses();
    row(
        "addresses",
        "%s bits: %s sip, %s die, %s offset"
            .formatted(map.addressBits(), map.sipBits(), map.dieBits(), map.offsetBits()));
  }

  private Dimension dimension(int d) {
    return machine.dimensions().get(d);
  }

  /** What a switch does beside passing on. */
  private static String sums(Dimension each) {
    if (!each.reduces()) {
      return "";
    }
    return each.sumShareBillionths() == Dimension.FULL_SHARE
        ? ", the switch reduces"
        : ", the switch reduces at %s %% of a port's rate"
            .formatted(number(each.sumShareBillionths() / 1e7, 1));
  }

  private void dimensions() {
    int stride = 1;
    for (int d = 0; d < machine.dimensions().size(); d++) {
      Dimension each = machine.dimensions().get(d);
      boolean sides =
          each.kind() == DimensionKind.SWITCH
              && each.fromSwitch().latencyPs() != each.link().latencyPs();
      row(
          "  dimension " + d,
          "%s of %s   %s, %s%s%s%s%s%s%s"
              .formatted(
                  each.kind().name().toLowerCase(Locale.ROOT),
                  each.size(),
                  bandwidth(each.link().rate().bytesPerSecond()),
                  time(each.link().latencyPs()),
                  sides
                      ? " to the switch, " + time(each.fromSwitch().latencyPs()) + " from it"
                      : "",
                  each.wholeMessages() ? ", whole messages" : "",
                  sums(each),
                  each.uncontended() ? ", without contention" : "",
                  each.link().rate().isInWholeNs() ? ", in whole ns" : "",
                  stride == 1 ? "" : ", next at +" + stride));
      stride *= each.size();
    }
    machine.nodes().ifPresent(this::nodes);
  }

  private void nodes(NodesSpec nodes) {
    row(
        "  nodes",
        "%s of %s sips, %s   %s, %s, %s per message; %s, %s to a sip"
            .formatted(
                machine.sips() / nodes.packages(),
                nodes.packages(),
                nodes.sharing() == 1
                    ? "a NIC for each"
                    : nodes.nics() == 1
                        ? "one NIC for all"
                        : nodes.nics() + " NICs, each for " + nodes.sharing(),
                bandwidth(nodes.nic().rate().bytesPerSecond()),
                time(nodes.nic().latencyPs()),
                time(nodes.messageOverheadPs()),
                bandwidth(nodes.link().rate().bytesPerSecond()),
                time(nodes.link().latencyPs())));
  }

  private void memories() {
    heading("Memory");
    columns("", "per PE", "per cube", "per sip", "machine");
    HbmSpec hbm = machine.hbm();
    scaled("HBM", hbm.sizeBytes(), Quantity.SIZE);
    scaled("HBM bandwidth, peak", hbm.peakRate().bytesPerSecond(), Quantity.BANDWIDTH);
    scaled("HBM bandwidth, effective", hbm.rate().bytesPerSecond(), Quantity.BANDWIDTH);
    scaled("TCM", machine.pe().tcm().sizeBytes(), Quantity.SIZE);
    double sram = machine.sram().sizeBytes();
    double cubes = machine.cubesPerSip();
    columns("SRAM", "", size(sram), size(sram * cubes), size(sram * cubes * machine.sips()));
  }

  /** Of types whose products take another time than those of 16 bits. */
  private static String rates(GemmSpec gemm) {
    return IntStream.of(8, 32, 64)
        .filter(bits -> gemm.rate(bits) != 1)
        .mapToObj(bits ->
            "f%s x %s"
                .formatted(
                    bits, BigDecimal.valueOf(gemm.rate(bits)).stripTrailingZeros().toPlainString()))
        .collect(Collectors.joining(", "));
  }

  private void engines() {
    heading("Engines");
    columns("", "per PE", "per cube", "per sip", "machine");
    GemmSpec gemm = machine.pe().gemm();
    double flops = gemm.peakFlops();
    double cube = flops * machine.pesPerCube();
    double sip = cube * machine.cubesPerSip();
    columns("GEMM peak", flops(flops), flops(cube), flops(sip), flops(sip * machine.sips()));
    row(
        "GEMM array",
        "%s x %s at %s, %s"
            .formatted(
                gemm.rows(),
                gemm.columns(),
                Quantity.FREQUENCY.formatRounded((double) gemm.clockHz(), 2),
                gemm.mode().name().toLowerCase(Locale.ROOT)));
    String rates = rates(gemm);
    if (!rates.isEmpty()) {
      row("GEMM rates", rates + " of that, which is of 16 bits");
    }
    row(
        "ridge",
        "%s flop per HBM byte; below that HBM is the limit"
            .formatted(number(flops / machine.hbm().rate().bytesPerSecond(), 0)));
    MathSpec math = machine.pe().math();
    double lanes = (double) math.lanesBytesPerCycle() * math.clockHz();
    double fed = math.operandRate().map(rate -> rate.bytesPerSecond() / 3.0).orElse(lanes);
    row(
        "MATH",
        "%s B per cycle at %s; two operands in, %s of results out%s"
            .formatted(
                math.lanesBytesPerCycle(),
                Quantity.FREQUENCY.formatRounded((double) math.clockHz(), 2),
                bandwidth(Math.min(lanes, fed)),
                fed < lanes ? ", limited by the TCM" : ""));
  }

  private void bisections() {
    heading("Cuts through the middle, per direction");
    double hbm =
        (double) machine.hbm().peakRate().bytesPerSecond()
            * machine.pesPerCube()
            * machine.cubesPerSip();
    for (Bisection cut : Bisection.of(machine)) {
      String share =
          cut.ofSip()
              ? ", " + number(100 * cut.bytesPerSecond() / hbm, 1) + " % of the sip's HBM"
              : "";
      row(
          cut.name(),
          "%s   %s%s%s"
              .formatted(
                  bandwidth(cut.bytesPerSecond()),
                  cut.links(),
                  cut.links() == 1 ? " link" : " links",
                  share));
    }
  }

  /** Lower bounds of an all-reduce by cuts through each level, and which of them binds. */
  private void levels() {
    List<LevelCut> cuts = LevelCut.of(machine);
    if (machine.sipTopology() != SipTopology.NETWORK || cuts.size() < 2) {
      return;
    }
    heading(
        "Levels: least time of an all-reduce of 1 MiB over all sips, by what enters their parts");
    Optional<LevelCut> binding = LevelCut.binding(cuts);
    for (LevelCut cut : cuts) {
      row(
          cut.name(),
          "%s ns   %s parts, %s into each%s"
              .formatted(
                  number(cut.secondsPerByte() * (1 << 20) * 1e9, 1),
                  cut.parts(),
                  bandwidth(cut.bytesPerSecond() / cut.parts()),
                  binding.filter(cut::equals).isPresent() ? "; this binds" : ""));
    }
  }

  private void latencies() {
    heading("First byte, nothing else on the way");
    PeSpec pe = machine.pe();
    Pe first = new Pe(0, 0, 0);
    Route request = machine.route(machine.peNode(first), machine.hbmNode(first));
    Route data = machine.route(machine.hbmNode(first), machine.peNode(first));
    long toMemory = request.requestPs();
    long fixed = pe.cpu().dispatchPs() + pe.dma().setupPs();
    long row = closedRowPs();
    row(
        "read own HBM",
        "%s   dispatch %s + DMA setup %s + request %s + %s"
            .formatted(
                time(fixed + toMemory + data.latencyPs() + row),
                ns(pe.cpu().dispatchPs()),
                ns(pe.dma().setupPs()),
                ns(toMemory),
                breakdown(data) + (row == 0 ? "" : " + closed row " + ns(row))));
    for (Neighbours pair : Neighbours.of(machine)) {
      distance("PE to " + pair.what().replace("the ", ""), pair.from(), pair.to());
    }
    farthest("farthest in the sip", machine.cubesPerSip() * machine.pesPerCube());
    if (machine.sips() > 1) {
      farthest("farthest PE", machine.peCount());
    }
  }

  /** What a read of a row that is not open takes beyond the least of a bank. */
  private long closedRowPs() {
    DramSpec dram = machine.hbm().dram();
    return machine.hbm().isBanked()
        ? dram.tRcdRd() + dram.tCl() + dram.tBl() - machine.hbm().latencyPs()
        : 0;
  }

  private void farthest(String label, int count) {
    if (count > MAX_SEARCH || count < 2) {
      return;
    }
    Pe first = new Pe(0, 0, 0);
    long worst = -1;
    Pe far = first;
    for (int i = 1; i < count; i++) {
      Pe each = machine.peAt(i);
      long latency = machine.route(first, each).latencyPs();
      if (latency > worst) {
        worst = latency;
        far = each;
      }
    }
    distance(label, first, far);
  }

  private void distance(String label, Pe from, Pe to) {
    Route route = machine.route(from, to);
    row(label, time(route.latencyPs()) + "   " + breakdown(route));
  }

  private void launch() {
    heading("Launch, host to PE");
    Pe near = machine.peAt(0);
    Pe far = near;
    int inSip = machine.cubesPerSip() * machine.pesPerCube();
    for (int i = 1; i < Math.min(inSip, MAX_SEARCH); i++) {
      Pe each = machine.peAt(i);
      near = machine.controlLatencyPs(each) < machine.controlLatencyPs(near) ? each : near;
      far = machine.controlLatencyPs(each) > machine.controlLatencyPs(far) ? each : far;
    }
    launchRow("nearest", near);
    launchRow("farthest", far);
  }

  private void launchRow(String label, Pe pe) {
    LaunchSpec launch = machine.launch();
    Route toCube = machine.route(machine.ioNode(0, Side.N), machine.mCpuNode(0, pe.cube()));
    Route toPe = machine.route(machine.mCpuNode(0, pe.cube()), machine.peNode(pe));
    row(
        label,
        """
        %s   doorbell %s + host link %s + IO CPU %s + way %s + M_CPU %s + way %s + PE \
        CPU %s\
        """
            .formatted(
                time(machine.controlLatencyPs(pe)),
                ns(launch.doorbellPs()),
                ns(machine.spec(LinkKind.HOST_LINK).latencyPs()),
                ns(launch.ioCpuPs()),
                ns(toCube.latencyPs()),
                ns(launch.mCpuPs()),
                ns(toPe.latencyPs()),
                ns(launch.peCpuPs())));
  }

  private void bytesInFlight() {
    IpcqSpec ipcq = machine.ipcq();
    heading(
        "Queues, %s slots x %s in %s for each of %s directions"
            .formatted(
                ipcq.slots(),
                size((double) ipcq.slotBytes()),
                ipcq.bufferKind().name().toLowerCase(Locale.ROOT),
                ipcq.directions()));
    for (Neighbours pair : Neighbours.of(machine)) {
      QueueReach reach = QueueReach.of(machine, pair.from(), pair.to());
      double slots = Math.ceil(reach.bytesInFlight() / ipcq.slotBytes());
      row(
          "to " + pair.what(),
          "%s x %s round trip = %s in flight, %s%s; one queue reaches %s"
              .formatted(
                  bandwidth((double) reach.linkBytesPerSecond()),
                  time(reach.roundTripPs()),
                  size(reach.bytesInFlight()),
                  number(slots, 0),
                  slots == 1 ? " slot" : " slots",
                  bandwidth(reach.bytesPerSecond())));
    }
    if (hasRingOfEqualHops()) {
      halfPerformance();
    }
  }

  /**
   * Whether a ring round all packages has hops that are all as long, from each to a neighbour or
   * through one switch (docs/spec/collectives.md O10).
   */
  private boolean hasRingOfEqualHops() {
    int w = machine.sipGridWidth();
    int h = machine.sipGridHeight();
    return machine.sips() > 1
        && !machine.hasUnequalSipLinks()
        && switch (machine.sipTopology()) {
          case RING_1D, TORUS_2D, FULLY_CONNECTED, SWITCH -> true;
          case MESH_2D_NO_WRAP -> w > 1 && h > 1 && w * h % 2 == 0;
          case NETWORK -> false;
        };
  }

  /**
   * Where an all-reduce round a ring, both ways at once, spends as long on latency as on bytes: P
   * hops of latency, P - 1 if P is odd, and {@code S (P - 1) / P} over the rate of the links of a
   * package to its two neighbours together, or of the one link by which they leave the PE if that
   * has less (docs/spec/collectives.md O3). Through a switch, and of two packages, both ways have
   * one link.
   */
  private void halfPerformance() {
    List<Neighbours> pairs = Neighbours.of(machine);
    Neighbours pair = pairs.get(pairs.size() - 1);
    Route route = machine.route(pair.from(), pair.to());
    double hop = route.messagePs(0);
    double rate = route.narrowest().bytesPerSecond() * 1e-12;
    int p = machine.sips();
    int links = p == 2 || machine.sipTopology() == SipTopology.SWITCH ? 1 : 2;
    double ofPe = machine.spec(LinkKind.PE_TO_ROUTER).rate().bytesPerSecond() * 1e-12;
    double bothWays = Math.min(rate * links, ofPe);
    double waits = (p - p % 2) * hop;
    row(
        "half performance",
        """
        %s per PE: a ring all-reduce over %s sips, both ways round, then waits as long \
        as it sends\
        """
            .formatted(size(waits * bothWays / 2 * p / (p - 1)), p));
  }

  private void notes() {
    List<String> notes = new ArrayList<>();
    for (Problem warning : machine.warnings()) {
      notes.add("warning: " + warning);
    }
    int inSip = machine.cubesPerSip() * machine.pesPerCube();
    if (machine.sips() <= ChannelGraph.MAX_SIPS && inSip <= 1024) {
      List<Link> circle = ChannelGraph.findCircle(machine);
      if (!circle.isEmpty()) {
        notes.add(
            """
            routes wait for each other in a circle of %s links, from %s on; finite buffers \
            would need more virtual channels (buffers are unlimited now)\
            """
                .formatted(circle.size(), circle.get(0).name()));
      }
    }
    if (!notes.isEmpty()) {
      heading("Notes");
      for (String note : notes) {
        line("  " + note);
      }
    }
  }

  /** {@code PE link 2 + 3 x NoC 2 + into TCM 4}: links of a kind together, by first appearance. */
  private String breakdown(Route route) {
    Map<String, Integer> counts = new LinkedHashMap<>();
    for (int link : route.links()) {
      String term = label(machine.linkKind(link)) + " " + ns(machine.specOf(link).latencyPs());
      counts.merge(term, 1, Integer::sum);
    }
    List<String> terms = new ArrayList<>();
    counts.forEach((term, count) -> terms.add((count == 1 ? "" : count + " x ") + term));
    long ofLinks = 0;
    for (int link : route.links()) {
      ofLinks += machine.specOf(link).latencyPs();
    }
    if (route.latencyPs() > ofLinks) {
      terms.add("message of a NIC " + ns(route.latencyPs() - ofLinks));
    }
    return String.join(" + ", terms);
  }

  private static String label(LinkKind kind) {
    return switch (kind) {
      case NOC -> "NoC";
      case PE_TO_ROUTER -> "PE link";
      case ROUTER_TO_PE -> "into TCM";
      case HBM_LINK -> "HBM link";
      case HBM_PORT -> "HBM";
      case SRAM_LINK -> "SRAM link";
      case SRAM_PORT -> "SRAM";
      case M_CPU_LINK -> "M_CPU link";
      case CUBE_TO_CUBE -> "cube link";
      case CUBE_TO_IO -> "IO link";
      case SIP_TO_SIP -> "sip link";
      case SIP_TO_NIC -> "NIC link";
      case NIC -> "NIC";
      case HOST_LINK -> "host link";
    };
  }

  private void scaled(String label, long perPe, Quantity kind) {
    int decimals = kind == Quantity.BANDWIDTH ? 2 : 1;
    double cube = (double) perPe * machine.pesPerCube();
    double sip = cube * machine.cubesPerSip();
    columns(
        label,
        kind.formatRounded((double) perPe, decimals),
        kind.formatRounded(cube, decimals),
        kind.formatRounded(sip, decimals),
        kind.formatRounded(sip * machine.sips(), decimals));
  }

  private static String flops(double flops) {
    return flops >= 1e15
        ? number(flops / 1e15, 2) + " PFLOP/s"
        : number(flops / 1e12, 2) + " TFLOP/s";
  }

  private static String bandwidth(double bytesPerSecond) {
    return Quantity.BANDWIDTH.formatRounded(bytesPerSecond, 2);
  }

  private static String size(double bytes) {
    return Quantity.SIZE.formatRounded(bytes, 1);
  }

  private static String time(long ps) {
    return ns(ps) + " ns";
  }

  private static String ns(long ps) {
    return number(ps / 1000.0, 3);
  }

  private static String number(double value, int decimals) {
    return Quantity.round(value, decimals);
  }

  private void heading(String text) {
    out.append('\n').append(text).append('\n');
  }

  private void line(String text) {
    out.append(text).append('\n');
  }

  private void row(String label, String text) {
    out.append("  ").append(padded(label, 26)).append(text).append('\n');
  }

  private void columns(String label, String... cells) {
    StringBuilder text = new StringBuilder();
    for (String cell : cells) {
      text.append(" ".repeat(Math.max(1, 15 - cell.length()))).append(cell);
    }
    row(label, text.toString());
  }

  private static String padded(String text, int width) {
    return text + " ".repeat(Math.max(1, width - text.length()));
  }
}
