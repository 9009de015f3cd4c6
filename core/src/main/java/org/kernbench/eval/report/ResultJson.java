package org.kernbench.eval.report;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.kernbench.ccl.AutoChoice;
import org.kernbench.device.check.Finding;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.SimulatedScope;
import org.kernbench.eval.ValueCheck;
import org.kernbench.eval.explain.Breakdown;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.output.Numbers;

/**
 * A result as JSON, schema {@value RunResult#SCHEMA}: {@code schema, kernbench, bench, machine
 * {name, hash}, mode, params, status, correct, max_abs_err, metrics {crit_ns, bound_ns, bound_kind,
 * efficiency, …}, breakdown [{cause, ns, share, place, line}], sim {events, wall_ms, events_per_s,
 * op_log_hash, numerics, scope {text, packages, simulated_packages, launches,
 * simulated_launches}}}, and where they apply {@code problems, first_wrong, breakdown_note, rows,
 * compared [{kind, tensors, values, worst, worst_tensor}], verified, op_log_note, choices [{op,
 * bytes, chosen, basis, candidates [{algorithm, simulated_ns, forecast_ns, note}]}], checked
 * {accesses, messages, findings [{kind, tensor, place, first_byte, end_byte, by, other}]}}. Benches
 * add metrics and never rename these; golden files seal it.
 */
public final class ResultJson {
  private ResultJson() {}

  /** The JSON text, with a line end. */
  public static String write(RunResult r) {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("schema", RunResult.SCHEMA);
    json.put("kernbench", r.version());
    json.put("bench", r.bench());
    json.put("machine", object("name", r.machineName(), "hash", r.machineHash()));
    json.put("mode", r.mode());
    json.put("params", r.params());
    json.put("status", r.status().word());
    json.put("correct", r.values().<Object>map(ValueCheck::isCorrect).orElse(Json.NULL));
    json.put("max_abs_err", r.values().<Object>map(ValueCheck::maxAbsError).orElse(Json.NULL));
    List<ValueCheck.Compared> compared = r.values().map(ValueCheck::compared).orElse(List.of());
    if (!compared.isEmpty()) {
      json.put("compared", compared.stream().map(ResultJson::compared).toList());
    }
    if (!r.problems().isEmpty()) {
      json.put("problems", r.problems());
    }
    r.values().flatMap(ValueCheck::first).ifPresent(m -> json.put("first_wrong", mismatch(r, m)));
    json.put("metrics", r.metrics());
    json.put("breakdown", breakdown(r));
    if (!r.breakdownNote().isEmpty()) {
      json.put("breakdown_note", r.breakdownNote());
    }
    if (!r.rows().isEmpty()) {
      json.put("rows", r.rows());
    }
    if (!r.verified().isEmpty()) {
      json.put("verified", r.verified());
    }
    if (!r.choices().isEmpty()) {
      json.put("choices", choices(r.choices()));
    }
    r.checked().ifPresent(c -> json.put("checked", checked(c)));
    r.log()
        .filter(log -> !log.isComplete())
        .ifPresent(log -> json.put("op_log_note", "the op log " + log.lack()));
    json.put("sim", sim(r.sim()));
    return Json.write(json);
  }

  private static Map<String, Object> compared(ValueCheck.Compared c) {
    Map<String, Object> json = object("kind", c.kind(), "tensors", c.tensors());
    json.put("values", c.values());
    json.put("worst", Double.isInfinite(c.worst()) ? Json.NULL : (Object) Numbers.share(c.worst()));
    json.put("worst_tensor", c.worstTensor());
    return json;
  }

  private static Map<String, Object> mismatch(RunResult r, ValueCheck.Mismatch m) {
    Map<String, Object> json = object("rank", m.rank(), "index", m.index());
    json.put("got", m.got());
    json.put("expected", m.expected());
    if (!m.tensor().isEmpty()) {
      json.put("tensor", m.tensor());
      json.put("allowed", m.allowed());
    }
    json.put("wrong", r.values().map(ValueCheck::wrong).orElse(0L));
    return json;
  }

  private static List<Object> breakdown(RunResult r) {
    List<Object> list = new ArrayList<>();
    for (Breakdown.Share s : r.breakdown()) {
      Map<String, Object> json = object("cause", s.cause().text(), "ns", Numbers.ns(s.ps()));
      json.put("share", Numbers.share(s.share()));
      json.put("place", s.place());
      json.put("line", s.line());
      list.add(json);
    }
    return list;
  }

  private static List<Object> choices(List<AutoChoice> choices) {
    List<Object> list = new ArrayList<>();
    for (AutoChoice choice : choices) {
      Map<String, Object> json = object("op", choice.op().word(), "bytes", choice.bytes());
      json.put("chosen", choice.chosen());
      json.put("basis", choice.basis().word());
      List<Object> candidates = new ArrayList<>();
      for (AutoChoice.Candidate c : choice.candidates()) {
        Map<String, Object> candidate = new LinkedHashMap<>();
        candidate.put("algorithm", c.algorithm());
        candidate.put("simulated_ns", ns(c.simulatedPs()));
        candidate.put("forecast_ns", ns(c.forecastPs()));
        candidate.put("note", c.note());
        candidates.add(candidate);
      }
      json.put("candidates", candidates);
      list.add(json);
    }
    return list;
  }

  private static Object ns(OptionalLong ps) {
    return ps.isPresent() ? Numbers.ns(ps.getAsLong()) : Json.NULL;
  }

  private static Map<String, Object> checked(RunResult.Checked c) {
    Map<String, Object> json = object("accesses", c.accesses(), "messages", c.messages());
    List<Object> findings = new ArrayList<>();
    for (Finding f : c.findings()) {
      Map<String, Object> finding = new LinkedHashMap<>();
      finding.put("kind", f.kind().word());
      f.bytes()
          .ifPresent(b -> {
            finding.put("tensor", b.tensor());
            finding.put("place", b.place());
            finding.put("first_byte", b.first());
            finding.put("end_byte", b.end());
          });
      if (!f.counts().isEmpty()) {
        finding.put("counts", f.counts());
      }
      finding.put("by", party(f.by()));
      f.other().ifPresent(o -> finding.put("other", party(o)));
      findings.add(finding);
    }
    json.put("findings", findings);
    if (c.left() > 0) {
      json.put("more_findings", c.left());
    }
    return json;
  }

  private static Map<String, Object> party(Finding.Party p) {
    Map<String, Object> json = object("who", p.who(), "does", p.does());
    json.put("kernel", p.kernel());
    json.put("line", p.line());
    json.put("ns", p.timePs() < 0 ? Json.NULL : Numbers.ns(p.timePs()));
    return json;
  }

  private static Map<String, Object> sim(RunResult.Sim sim) {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("events", sim.events());
    json.put("wall_ms", Math.round(sim.wallMs() * 1e3) / 1e3);
    json.put("events_per_s", sim.eventsPerSecond());
    json.put("op_log_hash", sim.opLogHash());
    json.put("numerics", sim.numerics());
    json.put("scope", scope(sim.scope()));
    return json;
  }

  private static Map<String, Object> scope(SimulatedScope scope) {
    Map<String, Object> json = object("text", scope.text(), "packages", scope.packages());
    json.put("simulated_packages", scope.simulatedPackages());
    json.put("launches", scope.launches());
    json.put("simulated_launches", scope.simulatedLaunches());
    return json;
  }

  private static Map<String, Object> object(
      String key1, Object value1, String key2, Object value2) {
    Map<String, Object> json = new LinkedHashMap<>();
    json.put(key1, value1);
    json.put(key2, value2);
    return json;
  }
}
