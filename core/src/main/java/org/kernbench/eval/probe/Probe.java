package org.kernbench.eval.probe;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.kernbench.config.Quantity;
import org.kernbench.device.CopyDirection;
import org.kernbench.device.log.OpKind;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.output.Numbers;
import org.kernbench.eval.probe.ProbePaths.Access;
import org.kernbench.eval.probe.ProbePaths.Case;
import org.kernbench.eval.probe.ProbePaths.Hop;
import org.kernbench.eval.probe.ProbePaths.Measured;
import org.kernbench.eval.probe.ProbePaths.Place;
import org.kernbench.eval.report.ResultCsv;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;

/**
 * {@code kernbench probe}: what a machine's paths can do. Latency and bandwidth between each two
 * kinds of place, closed form beside simulation; the way of one transfer link by link; crowds that
 * share links; and checks that hold on any machine that can be built.
 */
public final class Probe {
  /** The least size: one latency. */
  private static final long SMALL = 64;

  private static final long CROWD_BYTES = 64L << 10;
  private static final long[] SIZES = {SMALL, 4L << 10, 16L << 10, 64L << 10, 256L << 10, 1L << 20};

  /** A hot spot that gets less of the link it shares has lost bytes on the way. */
  private static final double LEAST_SHARE = 0.7;

  /** Where nothing is shared, closed form and simulation differ by rounding. */
  private static final double EXACT = 0.001;

  private static final String DIMENSION = "dimension";

  /** One measurement. */
  private record Row(
      String table,
      String name,
      String place,
      String operation,
      long bytes,
      long formulaPs,
      long simulatedPs,
      double peak) {
    double bytesPerSecond() {
      return bytes * 1e12 / simulatedPs;
    }

    double deviation() {
      return (double) simulatedPs / formulaPs - 1;
    }

    Map<String, Object> columns() {
      Map<String, Object> columns = new LinkedHashMap<>();
      columns.put("table", table);
      columns.put("case", name);
      columns.put("place", place);
      columns.put("operation", operation);
      columns.put("bytes", bytes);
      columns.put("formula_ns", Numbers.ns(formulaPs));
      columns.put("simulated_ns", Numbers.ns(simulatedPs));
      columns.put("over_formula", Numbers.rounded(deviation()));
      columns.put("gigabytes_per_s", Numbers.rounded(bytesPerSecond() / 1e9));
      columns.put("peak_gigabytes_per_s", Numbers.rounded(peak / 1e9));
      columns.put("utilisation", Numbers.rounded(bytesPerSecond() / peak));
      return columns;
    }
  }

  /**
   * What should hold.
   *
   * @param excuse why it need not on this machine; empty if it must
   */
  private record Check(String name, boolean holds, String detail, String excuse) {
    boolean failed() {
      return !holds && excuse.isEmpty();
    }

    String told() {
      return holds || failed() ? detail : excuse + ": " + detail;
    }
  }

  private final Machine machine;
  private final ProbePaths paths;
  private final List<Row> rows = new ArrayList<>();
  private final Map<String, List<Hop>> hops = new LinkedHashMap<>();
  private final List<Check> checks = new ArrayList<>();
  private final Map<String, Long> crowdLatencyPs = new LinkedHashMap<>();

  private Probe(Machine machine) {
    this.machine = machine;
    this.paths = new ProbePaths(machine);
  }

  /** Probes a machine. */
  public static Probe of(Machine machine) {
    Probe probe = new Probe(machine);
    Pe me = new Pe(0, 0, 0);
    List<Place> places = paths(probe, me);
    probe.host(places);
    probe.dimensions(me);
    probe.crowds();
    probe.check();
    return probe;
  }

  private static List<Place> paths(Probe probe, Pe me) {
    List<Place> places = probe.paths.places(me);
    for (Place place : places) {
      probe.measure(me, place);
    }
    int sram = probe.machine.sramNode(0, 0);
    probe.measure(me, new Place("cube SRAM", sram, probe.machine.addresses().sram(0, 0, 0)));
    return places;
  }

  private void measure(Pe me, Place place) {
    for (OpKind kind : List.of(OpKind.LOAD, OpKind.STORE)) {
      for (long bytes : SIZES) {
        if (bytes <= roomFor(place)) {
          Measured measured = measure("path", new Access(me, place, bytes, kind));
          if (bytes == SMALL && kind == OpKind.LOAD) {
            hops.put(place.name(), measured.hops());
          }
        }
      }
    }
  }

  private Measured measure(String table, Access access) {
    Measured measured = paths.access(access);
    rows.add(
        new Row(
            table,
            access.place().name(),
            machine.node(access.place().node()).name(),
            access.kind().name().toLowerCase(Locale.ROOT),
            access.bytes(),
            paths.formulaPs(access),
            measured.ps(),
            paths.peak(access)));
    return measured;
  }

  /** Of a network of several dimensions: what differs in one place only, near and far along it. */
  private void dimensions(Pe me) {
    for (Place place : paths.alongDimensions(me)) {
      long most = Arrays.stream(SIZES).filter(b -> b <= roomFor(place)).max().orElse(SMALL);
      for (OpKind kind : List.of(OpKind.LOAD, OpKind.STORE)) {
        for (long bytes : new long[] {SMALL, most}) {
          measure(DIMENSION, new Access(me, place, bytes, kind));
        }
      }
    }
  }

  /** A load's value has to fit TCM, beside the slots of queues that may be installed. */
  private long roomFor(Place place) {
    return Math.min(machine.pe().tcm().sizeBytes(), machine.memoryBytes(place.node()));
  }

  private void host(List<Place> places) {
    for (Place place : places) {
      boolean ownPackage = machine.node(place.node()).sip() == 0;
      if (ownPackage && !place.name().startsWith("same cube")) {
        String name = "host, " + (place.name().startsWith("own") ? "cube 0" : place.name());
        for (CopyDirection direction : CopyDirection.values()) {
          for (long bytes : SIZES) {
            rows.add(
                new Row(
                    "host",
                    name,
                    machine.node(place.node()).name(),
                    direction == CopyDirection.HOST_TO_DEVICE ? "h2d" : "d2h",
                    bytes,
                    paths.hostFormulaPs(place, bytes, direction),
                    paths.hostCopyPs(place, bytes, direction),
                    paths.hostRoute(place, direction).narrowest().bytesPerSecond()));
          }
        }
      }
    }
  }

  private void crowds() {
    for (Case each : paths.crowds(CROWD_BYTES)) {
      long bytes = each.crowd().stream().mapToLong(Access::bytes).sum();
      Access first = each.crowd().getFirst();
      crowdLatencyPs.put(
          each.name(), paths.formulaPs(new Access(first.pe(), first.place(), SMALL, first.kind())));
      rows.add(
          new Row(
              "crowd",
              each.name(),
              each.crowd().size() + " PEs",
              "load",
              bytes,
              paths.crowdBoundPs(each.crowd()),
              paths.crowd(each.crowd()).ps(),
              paths.crowdPeak(each.crowd())));
    }
  }

  // ---- checks ----

  private void check() {
    List<Row> near =
        rows.stream()
            .filter(r -> r.table.equals("path") && r.operation.equals("load") && r.bytes == SMALL)
            .filter(r -> !r.name.equals("cube SRAM"))
            .toList();
    check("farther is slower", ProbePaths.isSorted(near, r -> r.simulatedPs), listed(near));
    check(
        "every path takes time",
        rows.stream().allMatch(r -> r.simulatedPs > 0),
        rows.size() + " measured");
    @Nullable Row fastest = null;
    @Nullable Row unlike = null;
    @Nullable Row poor = null;
    for (Row r : rows) {
      fastest = r.simulatedPs < r.formulaPs ? r : fastest;
      boolean exact = !r.table.equals("crowd");
      unlike = exact && Math.abs(r.deviation()) > EXACT ? r : unlike;
      poor = r.table.equals("crowd") && shareOfPeak(r) < LEAST_SHARE ? r : poor;
    }
    check("nothing beats its closed form", fastest == null, told(fastest));
    String buffers = isBuffered() ? "closed forms have no finite buffers" : "";
    String banks = machine.hbm().isBanked() ? "closed forms have no banks" : "";
    String why = buffers.isEmpty() ? banks : buffers;
    check("alone it is the closed form", unlike == null, told(unlike), why);
    check("a crowd gets 70 % of the link it shares", poor == null, told(poor), buffers);
    String oneWay = isBuffered() ? "a short buffer may hold up one way only" : "";
    check("reading for the host is no faster than writing", d2hNotFaster(), "d2h >= h2d", oneWay);
    check("more bytes take longer and go faster", monotone(), "per place and operation");
  }

  private boolean isBuffered() {
    return machine.fabric().isBuffered();
  }

  /** Of the links that a crowd shares, while bytes flow: without the latency of a small access. */
  private double shareOfPeak(Row r) {
    long latencyPs = crowdLatencyPs.getOrDefault(r.name, 0L);
    return r.bytes * 1e12 / (r.simulatedPs - latencyPs) / r.peak;
  }

  private void check(String name, boolean ok, String detail) {
    check(name, ok, detail, "");
  }

  private void check(String name, boolean holds, String detail, String excuse) {
    checks.add(new Check(name, holds, detail, excuse));
  }

  private static String listed(List<Row> list) {
    return String.join(
        " < ", list.stream().map(r -> Numbers.ns(r.simulatedPs).toPlainString()).toList());
  }

  private String told(@Nullable Row r) {
    return r == null
        ? rows.size() + " measured"
        : "%s, %s of %s B: %s ns, closed form %s"
            .formatted(
                r.name, r.operation, r.bytes, Numbers.ns(r.simulatedPs), Numbers.ns(r.formulaPs));
  }

  private boolean d2hNotFaster() {
    for (Row h2d : rows) {
      for (Row d2h : rows) {
        boolean pair =
            h2d.operation.equals("h2d")
                && d2h.operation.equals("d2h")
                && h2d.name.equals(d2h.name)
                && h2d.bytes == d2h.bytes;
        if (pair && d2h.simulatedPs < h2d.simulatedPs && !machine.hbm().isBanked()) {
          return false;
        }
        if (pair && h2d.bytes == SMALL && d2h.simulatedPs < h2d.simulatedPs) {
          return false;
        }
      }
    }
    return true;
  }

  private boolean monotone() {
    for (int i = 1; i < rows.size(); i++) {
      Row before = rows.get(i - 1);
      Row r = rows.get(i);
      boolean follows =
          !r.table.equals("crowd")
              && before.name.equals(r.name)
              && before.operation.equals(r.operation);
      boolean better =
          r.simulatedPs >= before.simulatedPs
              && r.bytesPerSecond() >= 0.99 * before.bytesPerSecond();
      if (follows && !better) {
        return false;
      }
    }
    return true;
  }

  /** Whether all checks hold that must. */
  public boolean isOk() {
    return checks.stream().noneMatch(Check::failed);
  }

  /** The checks that do not hold, a line each. */
  public List<String> problems() {
    return checks.stream()
        .filter(Check::failed)
        .map(c -> "probe: check failed: " + c.name + " (" + c.detail + ")")
        .toList();
  }

  // ---- output ----

  /** For people. */
  public String text() {
    StringBuilder out = new StringBuilder();
    out.append("probe of ").append(machine.name());
    out.append("   (configuration ").append(machine.hash()).append(")\n");
    out.append("from sip0.cube0.pe0; alone on an idle machine, set-up of the DMA included\n");
    table(out, "path", "Loads and stores of a PE", "formula, ns");
    table(out, "host", "Copies of the host", "formula, ns");
    if (rows.stream().anyMatch(r -> r.table.equals(DIMENSION))) {
      table(out, DIMENSION, "To packages along one dimension of the network", "formula, ns");
    }
    table(out, "crowd", "Crowds, " + (CROWD_BYTES >> 10) + " KiB each", "bound, ns");
    out.append("\nThe way of a load of ").append(SMALL).append(" B, ns since it started\n");
    hops.forEach((place, way) -> {
      out.append("  ").append(place).append('\n');
      out.append(
          line(
              "    %-46s %10s %9s %9s %9s %9s",
              "link", "rate", "latency", "head", "enters", "tail in"));
      for (Hop h : way) {
        out.append(
            line(
                "    %-46s %10s %9s %9s %9s %9s",
                h.link(),
                rate(h.bytesPerSecond()),
                ns(h.latencyPs()),
                ns(h.headPs()),
                ns(h.enteredPs()),
                ns(h.tailPs())));
      }
    });
    out.append("\nChecks\n");
    for (Check c : checks) {
      out.append(
          line("  %-6s %s   %s", c.holds ? "ok" : c.failed() ? "FAILED" : "-", c.name, c.told()));
    }
    return out.toString();
  }

  private void table(StringBuilder out, String table, String title, String formula) {
    out.append('\n').append(title).append('\n');
    out.append(
        line(
            "  %-38s %-6s %9s %13s %13s %8s %11s %6s",
            "", "", "size", formula, "simulated, ns", "over", "rate", "of peak"));
    String before = "";
    for (Row r : rows) {
      if (r.table.equals(table)) {
        String name = r.name.equals(before) ? "" : r.name;
        before = r.name;
        out.append(
            line(
                "  %-38s %-6s %9s %13s %13s %8s %11s %6s",
                name,
                r.operation,
                Quantity.SIZE.formatRounded(r.bytes, 1),
                ns(r.formulaPs),
                ns(r.simulatedPs),
                String.format(Locale.ROOT, "%+.1f %%", 100 * r.deviation() + 0.0),
                rate(r.bytesPerSecond()),
                String.format(Locale.ROOT, "%.0f %%", 100 * r.bytesPerSecond() / r.peak)));
      }
    }
  }

  private static String line(String pattern, Object... values) {
    return String.format(Locale.ROOT, pattern, values).stripTrailing() + "\n";
  }

  private static String ns(long ps) {
    return String.format(Locale.ROOT, "%,.3f", ps / 1e3);
  }

  private static String rate(double bytesPerSecond) {
    return Quantity.BANDWIDTH.formatRounded(bytesPerSecond, 1);
  }

  /** For programs. */
  public String json() {
    Map<String, Object> result = new LinkedHashMap<>();
    result.put("schema", "kernbench-probe-1");
    result.put("machine", machine.name());
    result.put("machine_hash", machine.hash());
    result.put("ok", isOk());
    result.put("rows", rows.stream().map(Row::columns).toList());
    Map<String, Object> ways = new LinkedHashMap<>();
    hops.forEach((place, way) -> ways.put(place, way.stream().map(Probe::columns).toList()));
    result.put("hops", ways);
    result.put("checks", checks.stream().map(Probe::columns).toList());
    return Json.write(result);
  }

  private static Map<String, Object> columns(Hop h) {
    Map<String, Object> columns = new LinkedHashMap<>();
    columns.put("link", h.link());
    columns.put("gigabytes_per_s", Numbers.rounded(h.bytesPerSecond() / 1e9));
    columns.put("latency_ns", Numbers.ns(h.latencyPs()));
    columns.put("head_ns", Numbers.ns(h.headPs()));
    columns.put("enters_ns", Numbers.ns(h.enteredPs()));
    columns.put("tail_in_ns", Numbers.ns(h.tailPs()));
    return columns;
  }

  private static Map<String, Object> columns(Check c) {
    Map<String, Object> columns = new LinkedHashMap<>();
    columns.put("check", c.name);
    columns.put("ok", c.holds || c.failed() ? c.holds : Json.NULL);
    columns.put("detail", c.told());
    return columns;
  }

  /** All measurements as a table. */
  public String csv() {
    return ResultCsv.table(rows.stream().map(Row::columns).toList());
  }
}
