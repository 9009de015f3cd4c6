package org.kernbench.eval.layouts;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.kernbench.ccl.library.CclConfig;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.output.Numbers;
import org.kernbench.eval.output.TextTable;
import org.kernbench.eval.training.MimoBench;
import org.kernbench.eval.training.TwoModuleStep;
import org.kernbench.machine.Machine;
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.compare.FirstDifference;
import org.kernbench.nn.compare.LayoutRun;
import org.kernbench.nn.compare.LayoutVerdict;
import org.kernbench.nn.multimodal.Microbatch;
import org.kernbench.nn.multimodal.Microbatches;
import org.kernbench.nn.multimodal.TwoModuleConfig;
import org.kernbench.nn.multimodal.TwoModuleLayout;
import org.kernbench.nn.multimodal.TwoModuleTraining;
import org.kernbench.nn.multimodal.TwoModuleTraining.Settings;
import org.kernbench.nn.parallel.ModuleRole;
import org.kernbench.tensor.DType;
import org.kernbench.torch.TorchOptions;
import org.kernbench.torch.placement.RankLevel;
import org.kernbench.torch.placement.Spread;

/**
 * {@code kernbench layout check}: proves that layouts of two modules compute the same gradients.
 * Each is compared with one rank, in f64, on the same model and data; where one differs, the first
 * wrong tensor, rank and likely cause are named. Beside that, what a step of each costs.
 */
public final class LayoutCheck {
  private final Problem problem;
  private final Hardware hardware;
  private final List<Microbatch> data;
  private final List<Row> rows = new ArrayList<>();

  /**
   * What is trained.
   *
   * @param samples of each microbatch, over all ranks
   * @param sequence length of a sample
   * @param steps of SGD, after which parameters are compared as well; 0 for gradients only
   * @param fault a mistake to put into every layout
   */
  public record Problem(
      TwoModuleConfig model,
      int samples,
      int sequence,
      int microbatches,
      Microbatches.Masks masks,
      boolean frozen,
      int steps,
      long seed,
      Fault fault) {}

  /**
   * Where it runs.
   *
   * @param level what a rank owns
   * @param spread which PEs of that compute; empty for values on all, and the quickest time
   * @param ccl how collectives run; its world size is chosen here
   * @param dtype of the values of a timed step
   * @param timed whether to predict times
   */
  public record Hardware(
      Machine machine,
      RankLevel level,
      Optional<Spread> spread,
      Ccl ccl,
      DType dtype,
      boolean timed) {}

  /** Loads the configuration of collectives with changes after the user's. */
  @FunctionalInterface
  public interface Ccl {
    /** The configuration with these {@code path=value} changed. */
    CclConfig with(List<String> overrides);
  }

  private record Row(
      String name,
      TwoModuleLayout layout,
      LayoutVerdict verdict,
      Optional<TwoModuleStep.Timing> timing) {}

  private LayoutCheck(Problem problem, Hardware hardware) {
    this.problem = problem;
    this.hardware = hardware;
    this.data =
        Microbatches.random(
            problem.model,
            problem.samples,
            problem.sequence,
            problem.microbatches,
            problem.masks,
            problem.seed);
  }

  /**
   * Checks layouts.
   *
   * @throws UsageException if one cannot divide the samples or the sequence
   */
  public static LayoutCheck of(List<TwoModuleLayout> layouts, Problem problem, Hardware hardware) {
    for (TwoModuleLayout layout : layouts) {
      MimoBench.check(problem.model, layout, problem.samples, problem.sequence);
      MimoBench.checkPipelines(problem.model, layout, problem.microbatches, problem.frozen);
      int devices = hardware.level.devices(hardware.machine);
      if (layout.worldSize() > devices) {
        throw new UsageException(
            """
            layout %s needs %s ranks; machine %s has %s devices of level %s; choose a \
            smaller --rank-level or another machine\
            """
                .formatted(
                    layout,
                    layout.worldSize(),
                    hardware.machine.name(),
                    devices,
                    hardware.level.name().toLowerCase(Locale.ROOT)));
      }
    }
    LayoutCheck check = new LayoutCheck(problem, hardware);
    LayoutRun one = check.record(TwoModuleLayout.ONE_RANK, Fault.NONE);
    for (int i = 0; i < layouts.size(); i++) {
      TwoModuleLayout layout = layouts.get(i);
      LayoutVerdict verdict = check.record(layout, problem.fault).compareWith(one);
      check.rows.add(
          new Row(String.valueOf((char) ('A' + i)), layout, verdict, check.time(layout)));
    }
    return check;
  }

  private Settings settings(DType dtype) {
    return Settings.of(dtype)
        .withInit(problem.seed, 0.2)
        .withMethod(TwoModuleTraining.Method.SGD, 0.05)
        .withFrozen(problem.frozen);
  }

  private CclConfig ccl(TwoModuleLayout layout) {
    return hardware.ccl.with(TwoModuleStep.world(hardware.level, layout.worldSize()));
  }

  private LayoutRun record(TwoModuleLayout layout, Fault fault) {
    Settings settings = settings(DType.F64).withFault(fault);
    LayoutRun run = new LayoutRun(layout, problem.model, settings, data, problem.steps);
    try {
      TwoModuleStep.run(
          hardware.machine,
          ccl(layout),
          TorchOptions.DEFAULT.withMode(Mode.VALUES).withSpread(hardware.spread.orElse(Spread.ALL)),
          layout.worldSize(),
          run::body,
          torch -> {});
    } catch (RuntimeException e) {
      if (!run.isFailed()) {
        throw e; // otherwise the comparison tells why
      }
    }
    return run;
  }

  private Optional<TwoModuleStep.Timing> time(TwoModuleLayout layout) {
    if (!hardware.timed) {
      return Optional.empty();
    }
    Settings settings = settings(hardware.dtype);
    CclConfig ccl = ccl(layout);
    return candidates().stream()
        .map(by -> new TwoModuleStep.Place(hardware.machine, ccl, hardware.level, by))
        .map(place -> TwoModuleStep.time(place, problem.model, layout, settings, data))
        .min(Comparator.comparingLong(TwoModuleStep.Timing::ps));
  }

  /** On which PEs a step is timed. */
  private List<Spread> candidates() {
    List<Spread> all =
        hardware.level == RankLevel.PE ? List.of(Spread.LEAD) : List.of(Spread.values());
    return hardware.spread.map(List::of).orElse(all);
  }

  /** Whether all layouts compute what one rank does. */
  public boolean isEqual() {
    return rows.stream().allMatch(row -> row.verdict.isEqual());
  }

  // ---- for people ----

  /** For people. */
  public String text() {
    StringBuilder out = new StringBuilder();
    int tokens = data.stream().mapToInt(Microbatch::tokens).sum();
    out.append(
        String.format(
            Locale.ROOT,
            "%s before %s, %d x %d samples of %d tokens, %s masks: %d tokens count%s%n",
            problem.model.encoder().name(),
            problem.model.language().name(),
            problem.microbatches,
            problem.samples,
            problem.sequence,
            problem.masks.name().toLowerCase(Locale.ROOT),
            tokens,
            problem.frozen ? "; encoder frozen" : ""));
    if (problem.fault != Fault.NONE) {
      out.append("put in on purpose: ").append(problem.fault.description()).append('\n');
    }
    out.append('\n').append(values());
    if (hardware.timed) {
      out.append('\n')
          .append("a step on ")
          .append(hardware.machine.name())
          .append(" in ")
          .append(hardware.dtype.name().toLowerCase(Locale.ROOT))
          .append(", a rank is a ")
          .append(hardware.level.name().toLowerCase(Locale.ROOT))
          .append('\n')
          .append(times());
    }
    rows.forEach(
        row -> row.verdict.first().ifPresent(f -> out.append('\n').append(told(row.name, f))));
    return out.toString();
  }

  private TextTable values() {
    List<String> heads = new ArrayList<>();
    heads.addAll(List.of("", "encoder", "language", "bridge", "gradients", "worst error"));
    heads.addAll(List.of("norm enc.", "norm lang.", "replicas"));
    if (problem.steps > 0) {
      heads.add("after " + problem.steps + " steps");
    }
    heads.add("verdict");
    TextTable table = new TextTable(heads).left(0, 1, 2, 3, heads.size() - 1);
    for (Row row : rows) {
      LayoutVerdict v = row.verdict;
      TwoModuleLayout l = row.layout;
      List<String> cells = new ArrayList<>();
      cells.addAll(
          List.of(
              row.name,
              l.encoder().toString(),
              l.language() + (l.sequenceParallel() ? " sp" : ""),
              l.bridge().direction().toString(),
              v.tensors() == 0 ? "-" : Integer.toString(v.tensors()),
              v.tensors() == 0 ? "-" : String.format(Locale.ROOT, "%.1e", v.worstError()),
              ratio(v, ModuleRole.ENCODER.token()),
              ratio(v, ModuleRole.LANGUAGE.token()),
              v.tensors() == 0
                  ? "-"
                  : v.unequal().isEmpty() ? "equal" : v.unequal().size() + " differ"));
      if (problem.steps > 0) {
        cells.add(
            v.stepsError().isPresent()
                ? String.format(Locale.ROOT, "%.1e", v.stepsError().getAsDouble())
                : "-");
      }
      cells.add(v.isEqual() ? "equal to one rank" : "DIFFERS");
      table.add(cells);
    }
    return table;
  }

  static String ratio(LayoutVerdict v, String module) {
    Double ratio = v.ratios().get(module);
    return ratio == null
        ? "-"
        : Math.abs(ratio - 1) <= LayoutVerdict.RATIO_TOLERANCE
            ? "x 1"
            : String.format(Locale.ROOT, "x %.4g", ratio);
  }

  private TextTable times() {
    TextTable table =
        new TextTable(
            List.of("", "step, ns", "bound, ns", "collectives, ns", "exposed, ns", "exposed"));
    table.left(0);
    for (Row row : rows) {
      row.timing.ifPresent(t ->
          table.add(
              List.of(
                  row.name,
                  Numbers.ns(t.ps()).toString(),
                  Numbers.ns(t.boundPs()).toString(),
                  Numbers.ns(t.communicationPs()).toString(),
                  Numbers.ns(t.exposedPs()).toString(),
                  String.format(Locale.ROOT, "%.1f %%", 100.0 * t.exposedPs() / t.ps()))));
    }
    return table;
  }

  static String told(String name, FirstDifference f) {
    return String.format(
        Locale.ROOT,
        """
        %s differs first in %s%n  at            %s%n  got           %s%n  likely cause  %s%n  \
        because       %s%n\
        """,
        name,
        f.tensor(),
        f.where(),
        Double.isNaN(f.got())
            ? "another number of elements"
            : String.format(
                Locale.ROOT,
                "%.6g instead of %.6g; relative error of the tensor %.2g",
                f.got(),
                f.expected(),
                f.error()),
        f.cause().text(),
        f.evidence());
  }

  // ---- for programs ----

  /** For programs. */
  public String json() {
    Map<String, Object> root = new LinkedHashMap<>();
    root.put("model", problem.model.language().name());
    root.put("encoder", problem.model.encoder().name());
    root.put("samples", problem.samples);
    root.put("sequence", problem.sequence);
    root.put("microbatches", problem.microbatches);
    root.put("masks", problem.masks.name().toLowerCase(Locale.ROOT));
    root.put("tokens", data.stream().mapToInt(Microbatch::tokens).sum());
    root.put("frozen_encoder", problem.frozen);
    root.put("seed", problem.seed);
    root.put("fault", problem.fault == Fault.NONE ? Json.NULL : problem.fault.id());
    root.put("machine", hardware.machine.name());
    root.put("equal", isEqual());
    root.put("layouts", rows.stream().map(this::json).toList());
    return Json.write(root);
  }

  private Map<String, Object> json(Row row) {
    Map<String, Object> map = new LinkedHashMap<>();
    LayoutVerdict v = row.verdict;
    map.put("encoder", row.layout.encoder().toString());
    map.put("language", row.layout.language().toString());
    map.put("sequence_parallel", row.layout.sequenceParallel());
    map.put("bridge", row.layout.bridge().direction().toString());
    map.put("equal", v.isEqual());
    map.put("gradients", v.tensors());
    map.put("worst_error", v.worstError());
    map.put("worst_tensor", v.worstTensor());
    Map<String, Object> ratios = new LinkedHashMap<>();
    v.ratios().forEach((module, r) -> ratios.put(module, Math.round(r * 1e12) / 1e12));
    map.put("norm_ratios", ratios);
    map.put("unequal_replicas", v.unequal());
    if (v.stepsError().isPresent()) {
      map.put("steps_error", v.stepsError().getAsDouble());
    }
    v.first().ifPresent(f -> map.put("first", json(f)));
    row.timing.ifPresent(t -> {
      map.put("step_ns", Numbers.ns(t.ps()));
      map.put("bound_ns", Numbers.ns(t.boundPs()));
      map.put("collectives_ns", Numbers.ns(t.communicationPs()));
      map.put("exposed_ns", Numbers.ns(t.exposedPs()));
    });
    return map;
  }

  private static Map<String, Object> json(FirstDifference f) {
    Map<String, Object> map = new LinkedHashMap<>();
    map.put("tensor", f.tensor());
    map.put("where", f.where());
    map.put("rank", f.rank());
    map.put("got", Double.isNaN(f.got()) ? Json.NULL : (Object) f.got());
    map.put("expected", Double.isNaN(f.expected()) ? Json.NULL : (Object) f.expected());
    map.put("error", Double.isInfinite(f.error()) ? Json.NULL : (Object) f.error());
    map.put("cause", f.cause().name().toLowerCase(Locale.ROOT));
    map.put("text", f.cause().text());
    map.put("evidence", f.evidence());
    return map;
  }
}
