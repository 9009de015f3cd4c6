package org.kernbench.eval.report;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.kernbench.config.Suggest;
import org.kernbench.device.log.OpLog;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.explain.Breakdown;
import org.kernbench.eval.explain.Segment;
import org.kernbench.eval.explain.Sensitivity;
import org.kernbench.eval.explain.Utilisation;
import org.kernbench.eval.explain.Why;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.output.Numbers;
import org.kernbench.machine.Link;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Node;
import org.kernbench.machine.spec.LinkKind;

/**
 * What a report shows of one run, as JSON in {@code report.json}: {@code run --out} writes it, the
 * page of {@code kernbench report} holds it and draws from it.
 */
final class ReportData {
  private static final int MOST_SLICES = 12_000;
  private static final int MOST_TRACKS = 400;
  private static final int MOST_LINKS = 30;
  private static final int MOST_NUMBERS = 20; // of the machine, with what each is worth
  private static final int WINDOWS = 80; // of a curve over time

  private final RunResult result;

  private ReportData(RunResult result) {
    this.result = result;
  }

  /** The JSON text of a run. */
  static String of(RunResult result) {
    return Json.compact(new ReportData(result).json());
  }

  private Map<String, Object> json() {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("kind", "run");
    json.put("title", result.bench());
    json.put("conditions", conditions());
    json.put("status", result.status().word());
    json.put("problems", result.problems());
    json.put("values", values());
    json.put("metrics", result.metrics());
    json.put("breakdown", breakdown());
    json.put("breakdown_note", result.breakdownNote());
    json.put("why", result.path().map(Why::of).orElse(List.of()));
    json.put("sensitivities", result.path().map(ReportData::sensitivities).orElse(List.of()));
    json.put(
        "sensitivities_leave_out",
        result.path().flatMap(path -> Sensitivity.leftOut(path.machine())).orElse(""));
    json.put("rows", result.rows());
    if (result.machine().isPresent()) {
      json.put("machine", machine(result.machine().get()));
    }
    if (result.log().isPresent() && result.machine().isPresent()) {
      log(json, result.machine().get(), result.log().get());
    }
    return json;
  }

  private Map<String, Object> conditions() {
    Map<String, Object> all = new LinkedHashMap<>();
    all.put("bench", result.bench());
    all.put("machine", result.machineName() + " (configuration " + result.machineHash() + ")");
    all.put("mode", result.mode());
    all.putAll(result.params());
    all.put("kernbench", result.version());
    all.put("seed", "none: the simulation is deterministic");
    all.put(
        "Java", System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"));
    all.put("system", System.getProperty("os.name") + " " + System.getProperty("os.arch"));
    all.put("op log hash", result.sim().opLogHash());
    all.put(
        "simulated in",
        "%s ms, %s events"
            .formatted(grouped(Math.round(result.sim().wallMs())), grouped(result.sim().events())));
    all.put("simulated", result.sim().scope().text());
    return all;
  }

  private String values() {
    return result
        .values()
        .map(v ->
            v.isCorrect()
                ? "%s values compared, %s"
                    .formatted(
                        grouped(v.checked()),
                        v.allowed() == 0
                            ? "all exact"
                            : "all within " + BigDecimal.valueOf(v.allowed()))
                : grouped(v.wrong()) + " of " + grouped(v.checked()) + " values are wrong")
        .orElse("no values were compared");
  }

  private static String grouped(long count) {
    return String.format(Locale.ROOT, "%,d", count);
  }

  private List<Object> breakdown() {
    List<Object> list = new ArrayList<>();
    for (Breakdown.Share s : result.breakdown()) {
      list.add(
          List.of(
              s.cause().text(), Numbers.ns(s.ps()), Numbers.share(s.share()), s.place(), s.line()));
    }
    return list;
  }

  /** Path, value and step of what changes the time most, and nanoseconds for more and for less. */
  private static List<Object> sensitivities(Breakdown path) {
    List<Object> list = new ArrayList<>();
    for (Sensitivity s : Sensitivity.of(path.machine(), path)) {
      if (list.size() < MOST_NUMBERS && (moves(s.more()) || moves(s.less()))) {
        list.add(
            List.of(
                s.parameter().path(),
                s.parameter().value(),
                s.more().or(s::less).map(ReportData::step).orElse(""),
                effect(s.more()),
                effect(s.less())));
      }
    }
    return list;
  }

  private static boolean moves(Optional<Sensitivity.Effect> effect) {
    return effect.map(x -> x.computedPs() != 0).orElse(false);
  }

  private static Object effect(Optional<Sensitivity.Effect> effect) {
    return effect.<Object>map(x -> Numbers.ns(x.computedPs())).orElse("");
  }

  private static String step(Sensitivity.Effect x) {
    return x.isOnePercent() ? "1 %" : "to " + x.step().override().replaceFirst(".*=", "");
  }

  private static Map<String, Object> machine(Machine m) {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("sips", m.sips());
    json.put("sip_width", Math.max(1, m.sipGridWidth()));
    json.put("cube_width", m.cubeMeshWidth());
    json.put("cube_height", m.cubeMeshHeight());
    json.put("pes", m.pesPerCube());
    return json;
  }

  // ---- what happened when ----

  private void log(Map<String, Object> json, Machine machine, OpLog log) {
    List<Segment> path = result.path().map(Breakdown::segments).orElse(List.of());
    List<Object> segments = new ArrayList<>();
    for (Segment s : path) {
      segments.add(List.of(s.fromPs(), s.toPs(), s.cause().text(), s.place(), s.line()));
    }
    json.put("path", segments);
    if (!log.isComplete() || !log.transfers().isComplete()) {
      json.put("timeline_note", "the op log did not keep every operation: no timeline");
      return;
    }
    Trace trace = Trace.of(machine, log);
    tracks(json, trace, path, log);
    long end = 0;
    for (int id = 0; id < log.size(); id++) {
      end = log.has(id) ? Math.max(end, log.endPs(id)) : end;
    }
    long begin = path.isEmpty() ? 0 : path.getFirst().fromPs();
    json.put("begin_ps", begin);
    json.put("end_ps", end);
    Utilisation use = Utilisation.of(machine, log, begin, end);
    links(json, machine, use);
    busiestCube(use, machine)
        .ifPresent(cube -> json.put("cube_inside", inside(cube, use, machine)));
    if (end > begin) {
      json.put("engines_over_time", shares(Utilisation.enginesOverTime(log, begin, end, WINDOWS)));
      json.put(
          "links_over_time", shares(Utilisation.linksOverTime(machine, log, begin, end, WINDOWS)));
    }
  }

  private static Map<String, Object> shares(Map<String, double[]> windows) {
    Map<String, Object> json = new LinkedHashMap<>();
    windows.forEach(
        (kind, of) -> json.put(kind, Arrays.stream(of).mapToObj(Numbers::share).toList()));
    return json;
  }

  // ---- inside a cube ----

  /** A cube of a package. */
  private record Cube(int sip, int cube) {
    boolean has(Node node) {
      return node.sip() == sip && node.cube() == cube;
    }
  }

  /** The cube whose inner links were taken longest in sum. */
  private static Optional<Cube> busiestCube(Utilisation use, Machine machine) {
    Map<Cube, Long> busy = new LinkedHashMap<>();
    for (Utilisation.LinkUse l : use.links()) {
      Node from = machine.node(l.link().fromNode());
      Node to = machine.node(l.link().toNode());
      Cube cube = new Cube(from.sip(), from.cube());
      if (from.cube() >= 0 && cube.has(to)) {
        busy.merge(cube, l.busyPs(), Long::sum);
      }
    }
    return busy.entrySet().stream().max(Map.Entry.comparingByValue()).map(Map.Entry::getKey);
  }

  /** Nodes with name, kind and place; used links by the numbers of their nodes. */
  private static Map<String, Object> inside(Cube cube, Utilisation use, Machine machine) {
    Map<Integer, Integer> numbers = new LinkedHashMap<>();
    List<Object> nodes = new ArrayList<>();
    for (int id = 0; id < machine.nodeCount(); id++) {
      Node n = machine.node(id);
      if (cube.has(n)) {
        numbers.put(id, nodes.size());
        String name = n.name().substring(n.name().lastIndexOf('.') + 1);
        nodes.add(List.of(name, Suggest.fold(n.kind().name()), n.x(), n.y()));
      }
    }
    List<Object> links = new ArrayList<>();
    for (Utilisation.LinkUse l : use.links()) {
      Integer from = numbers.get(l.link().fromNode());
      Integer to = numbers.get(l.link().toNode());
      if (from != null && to != null) {
        links.add(row(l, use, List.of(from, to)));
      }
    }
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("name", "sip" + cube.sip + ".cube" + cube.cube);
    json.put("nodes", nodes);
    json.put("links", links);
    return json;
  }

  /** Engines on the critical path first; as many as a page can hold. */
  private static void tracks(Map<String, Object> json, Trace trace, List<Segment> path, OpLog log) {
    Set<String> critical = new LinkedHashSet<>();
    for (Segment s : path) {
      if (s.op() >= 0 && log.has(s.op())) {
        critical.add(log.pe(s.op()).toString());
      }
    }
    List<Trace.Track> engines =
        new ArrayList<>(
            trace.tracks().stream().filter(t -> t.group() == Trace.Group.ENGINES).toList());
    engines.sort(
        Comparator.comparing(
            (Trace.Track t) -> !critical.contains(t.name().substring(0, t.name().indexOf(' ')))));
    Map<String, Integer> names = new LinkedHashMap<>();
    List<Object> shown = new ArrayList<>();
    int slices = 0;
    for (Trace.Track track : engines) {
      if (slices + track.slices().size() > MOST_SLICES || shown.size() >= MOST_TRACKS) {
        break;
      }
      slices += track.slices().size();
      List<Object> own = new ArrayList<>();
      for (Trace.Slice s : track.slices()) {
        int name = names.computeIfAbsent(s.name(), n -> names.size());
        own.add(List.of(s.fromPs(), s.toPs(), name, s.notes().getOrDefault("bytes", 0)));
      }
      shown.add(List.of(track.name(), own));
    }
    json.put("labels", new ArrayList<>(names.keySet()));
    json.put("tracks", shown);
    json.put("tracks_left_out", engines.size() - shown.size());
  }

  private static void links(Map<String, Object> json, Machine machine, Utilisation use) {
    List<Object> packages = new ArrayList<>();
    List<Object> cubes = new ArrayList<>();
    List<Utilisation.LinkUse> all = new ArrayList<>(use.links());
    all.sort(
        Comparator.comparingLong(Utilisation.LinkUse::busyPs)
            .reversed()
            .thenComparing(l -> l.link().id()));
    for (Utilisation.LinkUse l : all) {
      Node from = machine.node(l.link().fromNode());
      Node to = machine.node(l.link().toNode());
      if (l.link().kind() == LinkKind.SIP_TO_SIP && from.sip() >= 0 && to.sip() >= 0) {
        packages.add(row(l, use, List.of(from.sip(), to.sip())));
      } else if (l.link().kind() == LinkKind.CUBE_TO_CUBE) {
        cubes.add(row(l, use, List.of(from.sip(), from.cube(), to.cube())));
      }
    }
    List<Object> busiest = new ArrayList<>();
    for (Utilisation.LinkUse l : all.subList(0, Math.min(MOST_LINKS, all.size()))) {
      busiest.add(row(l, use, List.of(kind(l.link()))));
    }
    json.put("package_links", packages);
    json.put("cube_links", cubes);
    json.put("busiest_links", busiest);
  }

  /** Places, then name, share of the time, bytes, nanoseconds that others waited. */
  private static List<Object> row(Utilisation.LinkUse l, Utilisation use, List<Object> places) {
    List<Object> row = new ArrayList<>(places);
    row.add(l.link().name());
    row.add(Numbers.share(use.share(l.busyPs())));
    row.add(l.bytes());
    row.add(Numbers.ns(l.waitedPs()));
    return row;
  }

  private static String kind(Link link) {
    return link.kind().name().toLowerCase(Locale.ROOT).replace('_', ' ');
  }
}
