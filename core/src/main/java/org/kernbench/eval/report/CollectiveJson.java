package org.kernbench.eval.report;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import org.kernbench.ccl.conformance.Conformance;
import org.kernbench.ccl.library.Tuner;
import org.kernbench.eval.output.Json;
import org.kernbench.machine.Machine;
import org.kernbench.torch.placement.RankLevel;

/** What {@code kernbench conformance} and {@code kernbench tune} found, as JSON. */
public final class CollectiveJson {
  private CollectiveJson() {}

  /**
   * Schema {@code kernbench/conformance/1}: {@code algorithms [{name, passes, cases, failed,
   * refused, slots {counted, least, most}, forecasts {exact, worst_exact, others, worst_other,
   * elsewhere, not_used, worst_elsewhere}, time_over_bound {least, most, long_vectors}, refusals
   * {where: why}, failures []}]}.
   */
  public static String conformance(List<Conformance.Report> reports) {
    List<Object> algorithms = new ArrayList<>();
    for (Conformance.Report r : reports) {
      Map<String, Object> json = new LinkedHashMap<>();
      json.put("name", r.algorithm());
      json.put("passes", r.passes());
      json.put("cases", r.cases());
      json.put("failed", r.failed());
      json.put("refused", r.refused());
      Map<String, Object> slots = new LinkedHashMap<>();
      slots.put("counted", r.slots().counted());
      slots.put("least", r.slots().least());
      slots.put("most", r.slots().most());
      json.put("slots", slots);
      Map<String, Object> forecasts = new LinkedHashMap<>();
      forecasts.put("exact", r.forecasts().exact());
      forecasts.put("worst_exact", r.forecasts().worstExact());
      forecasts.put("others", r.forecasts().others());
      forecasts.put("worst_other", r.forecasts().worstOther());
      forecasts.put("elsewhere", r.forecasts().used());
      forecasts.put("not_used", r.forecasts().notUsed());
      forecasts.put("worst_elsewhere", r.forecasts().worstElsewhere());
      json.put("forecasts", forecasts);
      Map<String, Object> ratios = new LinkedHashMap<>();
      ratios.put("least", r.ratios().least());
      ratios.put("most", r.ratios().most());
      ratios.put("long_vectors", r.ratios().longVectors());
      json.put("time_over_bound", ratios);
      json.put("refusals", new LinkedHashMap<String, Object>(r.refusals()));
      json.put("failures", r.failures());
      algorithms.add(json);
    }
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("schema", "kernbench/conformance/1");
    json.put("algorithms", algorithms);
    return Json.write(json);
  }

  /**
   * Schema {@code kernbench/tune/1}: {@code machine {name, hash}, rank_level, ranks, calls [{op,
   * bytes, fastest, ps, bound_ps, auto, auto_over_best, candidates [{algorithm, ps,
   * forecast_ps}]}]}; null is what was not simulated or has no forecast.
   */
  public static String tuning(
      Machine machine, RankLevel level, int ranks, List<Tuner.Comparison> found) {
    List<Object> calls = new ArrayList<>();
    for (Tuner.Comparison c : found) {
      Map<String, Object> call = new LinkedHashMap<>();
      call.put("op", c.question().op().word());
      call.put("bytes", c.question().elements() * c.question().dtype().sizeBytes());
      call.put("fastest", c.best().algorithm());
      call.put("ps", orNull(c.best().ps()));
      call.put("bound_ps", c.bound().ps());
      call.put("auto", c.auto());
      call.put("auto_over_best", c.autoOverBest());
      List<Object> candidates = new ArrayList<>();
      for (Tuner.Candidate each : c.candidates()) {
        Map<String, Object> candidate = new LinkedHashMap<>();
        candidate.put("algorithm", each.algorithm());
        candidate.put("ps", orNull(each.ps()));
        candidate.put("forecast_ps", orNull(each.predictedPs()));
        candidates.add(candidate);
      }
      call.put("candidates", candidates);
      calls.add(call);
    }
    Map<String, Object> name = new LinkedHashMap<>();
    name.put("name", machine.name());
    name.put("hash", machine.hash());
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("schema", "kernbench/tune/1");
    json.put("machine", name);
    json.put("rank_level", level.name().toLowerCase(Locale.ROOT));
    json.put("ranks", ranks);
    json.put("calls", calls);
    return Json.write(json);
  }

  private static Object orNull(OptionalLong value) {
    return value.isPresent() ? value.getAsLong() : Json.NULL;
  }
}
