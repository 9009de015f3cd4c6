package org.kernbench.eval.report;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.kernbench.config.Suggest;
import org.kernbench.eval.RunResult;
import org.kernbench.eval.explain.Breakdown;
import org.kernbench.eval.explain.Sensitivity;
import org.kernbench.eval.explain.Utilisation;
import org.kernbench.eval.explain.Why;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.output.Numbers;

/**
 * An explanation as JSON, schema {@value #SCHEMA}: {@code schema, kernbench, bench, machine {name,
 * hash}, params, metrics, why [], kernels [{kernel, launches, ns, share}], resources [{cause,
 * resource, ns, share}], path [{cause, place, line, ns, share}], waits [{who, for, of, operations,
 * ns, longest_ns, longest_op}], engines [{pe, engine, operations, busy_ns, occupied_ns, bytes}],
 * links [{link, kind, bytes, busy_ns, waited_ns}], sensitivities_leave_out (on machines with finite
 * buffers or banks), sensitivities [{path, value, kind, more, less}]}, where {@code more} and
 * {@code less} are {@code {set, change, ns, simulated_ns, agrees, same_path, verdict}}.
 */
public final class ExplanationJson {
  /** Version of the JSON. */
  public static final int SCHEMA = 1;

  private ExplanationJson() {}

  /** The JSON text, with a line end. */
  public static String write(Explanation e) {
    RunResult r = e.result();
    Map<String, Object> json = new LinkedHashMap<>();
    json.put("schema", SCHEMA);
    json.put("kernbench", r.version());
    json.put("bench", r.bench());
    Map<String, Object> machine = new LinkedHashMap<>();
    machine.put("name", r.machineName());
    machine.put("hash", r.machineHash());
    json.put("machine", machine);
    json.put("params", r.params());
    json.put("metrics", r.metrics());
    json.put("why", Why.of(e.breakdown()));
    json.put("kernels", kernels(e));
    json.put("resources", shares(e.breakdown().resources(), "resource"));
    json.put("path", shares(e.breakdown().places(), "place"));
    json.put("waits", waits(e));
    json.put("engines", engines(e));
    json.put("links", links(e));
    Sensitivity.leftOut(e.breakdown().machine())
        .ifPresent(what -> json.put("sensitivities_leave_out", what));
    json.put("sensitivities", sensitivities(e));
    return Json.write(json);
  }

  private static List<Object> kernels(Explanation e) {
    List<Object> list = new ArrayList<>();
    for (Breakdown.KernelShare s : e.breakdown().kernels()) {
      Map<String, Object> json = new LinkedHashMap<>();
      json.put("kernel", s.kernel());
      json.put("launches", s.launches());
      json.put("ns", Numbers.ns(s.ps()));
      json.put("share", Numbers.share(s.share()));
      list.add(json);
    }
    return list;
  }

  private static List<Object> shares(List<Breakdown.Share> shares, String what) {
    List<Object> list = new ArrayList<>();
    for (Breakdown.Share s : shares) {
      Map<String, Object> json = new LinkedHashMap<>();
      json.put("cause", s.cause().text());
      json.put(what, s.place());
      if (what.equals("place")) {
        json.put("line", s.line());
      }
      json.put("ns", Numbers.ns(s.ps()));
      json.put("share", Numbers.share(s.share()));
      list.add(json);
    }
    return list;
  }

  private static List<Object> waits(Explanation e) {
    List<Object> list = new ArrayList<>();
    for (Explanation.Wait w : e.waits()) {
      Map<String, Object> json = new LinkedHashMap<>();
      json.put("who", w.who());
      json.put("for", w.cause());
      json.put("of", w.by());
      json.put("operations", w.operations());
      json.put("ns", Numbers.ns(w.ps()));
      json.put("longest_ns", Numbers.ns(w.longestPs()));
      json.put("longest_op", w.longestOp());
      list.add(json);
    }
    return list;
  }

  private static List<Object> engines(Explanation e) {
    List<Object> list = new ArrayList<>();
    for (Utilisation.EngineUse u : e.utilisation().engines()) {
      Map<String, Object> json = new LinkedHashMap<>();
      json.put("pe", u.pe().toString());
      json.put("engine", u.engine());
      json.put("operations", u.operations());
      json.put("busy_ns", Numbers.ns(u.busyPs()));
      json.put("occupied_ns", Numbers.ns(u.occupiedPs()));
      json.put("bytes", u.bytes());
      list.add(json);
    }
    return list;
  }

  private static List<Object> links(Explanation e) {
    List<Object> list = new ArrayList<>();
    for (Utilisation.LinkUse u : e.utilisation().links()) {
      Map<String, Object> json = new LinkedHashMap<>();
      json.put("link", u.link().name());
      json.put("kind", Suggest.fold(u.link().kind().name()));
      json.put("bytes", u.bytes());
      json.put("busy_ns", Numbers.ns(u.busyPs()));
      json.put("waited_ns", Numbers.ns(u.waitedPs()));
      list.add(json);
    }
    return list;
  }

  private static List<Object> sensitivities(Explanation e) {
    List<Object> list = new ArrayList<>();
    for (Sensitivity s : e.sensitivities()) {
      Map<String, Object> json = new LinkedHashMap<>();
      json.put("path", s.parameter().path());
      json.put("value", s.parameter().value());
      json.put("kind", Suggest.fold(s.parameter().kind().name()));
      effect("more", s, s.more(), e, json);
      effect("less", s, s.less(), e, json);
      list.add(json);
    }
    return list;
  }

  private static void effect(
      String name,
      Sensitivity sensitivity,
      Optional<Sensitivity.Effect> effect,
      Explanation e,
      Map<String, Object> into) {
    effect.ifPresent(x -> {
      Map<String, Object> json = new LinkedHashMap<>();
      json.put("set", x.step().override());
      json.put("change", Numbers.ratio(Math.round(x.step().change() * 1e9), 1_000_000_000));
      json.put("ns", Numbers.ns(x.computedPs()));
      if (x.simulatedPs().isPresent()) {
        json.put("simulated_ns", Numbers.ns(x.simulatedPs().getAsLong()));
        json.put("agrees", x.agrees(e.breakdown().totalPs()));
        json.put("same_path", x.samePath());
        sensitivity
            .verdict(x, e.breakdown().totalPs())
            .ifPresent(v -> json.put("verdict", Suggest.fold(v.name())));
      }
      into.put(name, json);
    });
  }
}
