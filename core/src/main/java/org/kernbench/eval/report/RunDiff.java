package org.kernbench.eval.report;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.config.UsageException;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.explain.Breakdown;
import org.kernbench.eval.explain.Segment;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.output.Numbers;

/**
 * What changed between two runs, and which resource did it: the difference of their times, split by
 * what their critical paths spent it on. The parts sum to the difference exactly.
 *
 * @param a the first run
 * @param b the second run
 * @param conditions that differ, the machine's values among them
 * @param resources by resource and cause, the largest difference first
 * @param places by cause and place, the largest difference first
 */
public record RunDiff(
    RunResult a, RunResult b, List<Condition> conditions, List<Part> resources, List<Part> places) {

  /**
   * A condition that differs.
   *
   * @param name of a parameter, or path of a machine's value
   * @param a in the first run; empty if it has none
   * @param b in the second run; empty if it has none
   */
  public record Condition(String name, String a, String b) {}

  /**
   * A part of the difference.
   *
   * @param what resource or place
   * @param cause of the time
   * @param aPs picoseconds on the first critical path
   * @param bPs picoseconds on the second critical path
   */
  public record Part(String what, String cause, long aPs, long bPs) {
    /** By how much the second run took longer there. */
    public long differencePs() {
      return bPs - aPs;
    }
  }

  /**
   * Compares two runs.
   *
   * @throws UsageException if the critical path of one of them is not known
   */
  public static RunDiff of(RunResult a, RunResult b) {
    Breakdown pathA = a.path().orElseThrow(() -> Explanation.notKnown(a));
    Breakdown pathB = b.path().orElseThrow(() -> Explanation.notKnown(b));
    return new RunDiff(
        a,
        b,
        conditions(a, b),
        parts(pathA.segments(), pathB.segments(), true),
        parts(pathA.segments(), pathB.segments(), false));
  }

  /** By how much the second run took longer. */
  public long differencePs() {
    return total(b) - total(a);
  }

  private static long total(RunResult r) {
    return r.path().map(Breakdown::totalPs).orElse(0L);
  }

  private static List<Condition> conditions(RunResult a, RunResult b) {
    Map<String, String> left = conditions(a);
    Map<String, String> right = conditions(b);
    List<String> names = new ArrayList<>(left.keySet());
    right.keySet().stream().filter(n -> !left.containsKey(n)).forEach(names::add);
    List<Condition> differing = new ArrayList<>();
    for (String name : names) {
      String x = left.getOrDefault(name, "");
      String y = right.getOrDefault(name, "");
      if (!x.equals(y)) {
        differing.add(new Condition(name, x, y));
      }
    }
    return differing;
  }

  private static Map<String, String> conditions(RunResult r) {
    Map<String, String> all = new LinkedHashMap<>();
    all.put("kernbench", r.version());
    all.put("bench", r.bench());
    all.put("mode", r.mode());
    all.put("machine", r.machineName());
    r.params()
        .forEach((name, value) ->
            all.put(name, value instanceof BigDecimal d ? d.toPlainString() : value.toString()));
    r.machine()
        .ifPresent(m ->
            Arrays.stream(m.configText().split("\n"))
                .map(line -> line.split("=", 2))
                .forEach(pair -> all.put(pair[0], pair[1])));
    return all;
  }

  private static List<Part> parts(List<Segment> a, List<Segment> b, boolean byResource) {
    Map<List<String>, long[]> sums = new LinkedHashMap<>();
    add(a, 0, byResource, sums);
    add(b, 1, byResource, sums);
    List<Part> parts = new ArrayList<>();
    sums.forEach((key, ps) -> parts.add(new Part(key.get(0), key.get(1), ps[0], ps[1])));
    parts.sort(
        Comparator.comparingLong((Part p) -> Math.abs(p.differencePs()))
            .reversed()
            .thenComparing(Part::what)
            .thenComparing(Part::cause));
    return parts;
  }

  private static void add(
      List<Segment> segments, int side, boolean byResource, Map<List<String>, long[]> sums) {
    for (Segment s : segments) {
      List<String> key = List.of(byResource ? s.resource() : s.place(), s.cause().text());
      sums.computeIfAbsent(key, k -> new long[2])[side] += s.ps();
    }
  }

  /**
   * As JSON: {@code schema, a {bench, machine, crit_ns}, b, difference_ns, conditions [{name, a,
   * b}], resources [{what, cause, a_ns, b_ns, difference_ns}], places}.
   */
  public String toJson() {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("schema", 1);
    json.put("a", side(a));
    json.put("b", side(b));
    json.put("difference_ns", Numbers.ns(differencePs()));
    List<Object> list = new ArrayList<>();
    for (Condition c : conditions) {
      Map<String, Object> o = new LinkedHashMap<>();
      o.put("name", c.name());
      o.put("a", c.a());
      o.put("b", c.b());
      list.add(o);
    }
    json.put("conditions", list);
    json.put("resources", parts(resources));
    json.put("places", parts(places));
    return Json.write(json);
  }

  private static Map<String, Object> side(RunResult r) {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("bench", r.bench());
    json.put("machine", r.machineName());
    json.put("crit_ns", Numbers.ns(total(r)));
    return json;
  }

  private static List<Object> parts(List<Part> parts) {
    List<Object> list = new ArrayList<>();
    for (Part p : parts) {
      Map<String, Object> o = new LinkedHashMap<>();
      o.put("what", p.what());
      o.put("cause", p.cause());
      o.put("a_ns", Numbers.ns(p.aPs()));
      o.put("b_ns", Numbers.ns(p.bPs()));
      o.put("difference_ns", Numbers.ns(p.differencePs()));
      list.add(o);
    }
    return list;
  }
}
