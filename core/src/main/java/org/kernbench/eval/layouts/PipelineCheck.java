package org.kernbench.eval.layouts;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.kernbench.config.UsageException;
import org.kernbench.eval.output.Json;
import org.kernbench.eval.output.TextTable;
import org.kernbench.eval.training.PipelineComparison;
import org.kernbench.eval.training.PipelineComparison.Ccl;
import org.kernbench.eval.training.PipelineComparison.Layout;
import org.kernbench.eval.training.PipelineComparison.Task;
import org.kernbench.machine.Machine;
import org.kernbench.nn.autograd.Fault;
import org.kernbench.nn.compare.FirstDifference;
import org.kernbench.nn.compare.LayoutVerdict;
import org.kernbench.torch.placement.RankLevel;
import org.kernbench.torch.placement.Spread;

/**
 * {@code kernbench layout check} of one model that is cut into stages: each layout is compared with
 * one rank, in f64; where one differs, the first wrong tensor, rank and likely cause are named.
 */
public final class PipelineCheck {
  private final Task task;
  private final Fault fault;
  private final Machine machine;
  private final List<Row> rows = new ArrayList<>();

  private record Row(String name, Layout layout, LayoutVerdict verdict) {
    String groups() {
      int ep = layout.experts().ep();
      int etp = layout.experts().etp();
      int zero = layout.zeroStage();
      return "tp=%s,cp=%s,dp=%s,pp=%s%s%s%s"
          .formatted(
              layout.tp(),
              layout.cp(),
              layout.dp(),
              layout.pp(),
              ep * etp > 1 ? ",ep=" + ep + ",etp=" + etp : "",
              zero > 0 ? ",zero=" + zero : "",
              layout.sp() ? " sp" : "");
    }

    String order() {
      return layout.schedule() + (layout.vpp() > 1 ? " vpp=" + layout.vpp() : "");
    }
  }

  private PipelineCheck(Task task, Fault fault, Machine machine) {
    this.task = task;
    this.fault = fault;
    this.machine = machine;
  }

  /**
   * Checks layouts.
   *
   * @param level what a rank owns
   * @param spread which PEs of that compute
   * @throws UsageException if one cannot be, or does not fit the machine
   */
  public static PipelineCheck of(
      List<Layout> layouts,
      Task task,
      Fault fault,
      Machine machine,
      RankLevel level,
      Spread spread,
      Ccl ccl) {
    PipelineCheck check = new PipelineCheck(task, fault, machine);
    for (Layout layout : layouts) {
      int devices = level.devices(machine);
      if (layout.ranks() > devices) {
        throw new UsageException(
            """
            layout of %s ranks; machine %s has %s devices of level %s; choose a smaller \
            --rank-level or another machine\
            """
                .formatted(
                    layout.ranks(),
                    machine.name(),
                    devices,
                    level.name().toLowerCase(Locale.ROOT)));
      }
      String name = String.valueOf((char) ('A' + check.rows.size()));
      check.rows.add(
          new Row(name, layout, PipelineComparison.of(machine, spread, ccl, task, layout, fault)));
    }
    return check;
  }

  /** Whether all layouts compute what one rank does. */
  public boolean isEqual() {
    return rows.stream().allMatch(row -> row.verdict.isEqual());
  }

  /** For people. */
  public String text() {
    StringBuilder out = new StringBuilder();
    out.append(
        String.format(
            Locale.ROOT,
            "%s, %d layers, %d samples of %d tokens%n",
            task.model(),
            task.layers(),
            task.batch(),
            task.tokens()));
    if (fault != Fault.NONE) {
      out.append("put in on purpose: ").append(fault.description()).append('\n');
    }
    TextTable table =
        new TextTable(
                List.of(
                    "",
                    "layout",
                    "schedule",
                    "microbatches",
                    "gradients",
                    "worst error",
                    "norm",
                    "replicas",
                    "verdict"))
            .left(0, 1, 2, 8);
    for (Row row : rows) {
      LayoutVerdict v = row.verdict;
      table.add(
          List.of(
              row.name,
              row.groups(),
              row.order(),
              Integer.toString(row.layout.microbatches()),
              Integer.toString(v.tensors()),
              String.format(Locale.ROOT, "%.1e", v.worstError()),
              LayoutCheck.ratio(v, "model"),
              v.unequal().isEmpty() ? "equal" : v.unequal().size() + " differ",
              v.isEqual() ? "equal to one rank" : "DIFFERS"));
    }
    out.append('\n').append(table);
    for (Row row : rows) {
      row.verdict.first().ifPresent(f -> out.append('\n').append(LayoutCheck.told(row.name, f)));
    }
    return out.toString();
  }

  /** For programs. */
  public String json() {
    Map<String, Object> root = new LinkedHashMap<>();
    root.put("model", task.model());
    root.put("layers", task.layers());
    root.put("samples", task.batch());
    root.put("sequence", task.tokens());
    root.put("fault", fault == Fault.NONE ? Json.NULL : fault.id());
    root.put("machine", machine.name());
    root.put("equal", isEqual());
    root.put("layouts", rows.stream().map(PipelineCheck::json).toList());
    return Json.write(root);
  }

  private static Map<String, Object> json(Row row) {
    Map<String, Object> map = new LinkedHashMap<>();
    LayoutVerdict v = row.verdict;
    map.put("layout", row.groups());
    map.put("schedule", row.order());
    map.put("microbatches", row.layout.microbatches());
    map.put("equal", v.isEqual());
    map.put("gradients", v.tensors());
    map.put("worst_error", v.worstError());
    map.put("worst_tensor", v.worstTensor());
    map.put("unequal_replicas", v.unequal());
    if (v.first().isPresent()) {
      FirstDifference f = v.first().get();
      map.put("first_tensor", f.tensor());
      map.put("first_where", f.where());
      map.put("cause", f.cause().text());
      map.put("evidence", f.evidence());
    }
    return map;
  }
}
