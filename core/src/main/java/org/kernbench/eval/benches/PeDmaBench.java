package org.kernbench.eval.benches;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.kernbench.config.UsageException;
import org.kernbench.device.Mode;
import org.kernbench.device.log.OpKind;
import org.kernbench.eval.Bench;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.Param;
import org.kernbench.eval.output.Digest;
import org.kernbench.eval.output.Numbers;
import org.kernbench.eval.probe.ProbePaths;
import org.kernbench.eval.probe.ProbePaths.Access;
import org.kernbench.eval.probe.ProbePaths.Case;
import org.kernbench.eval.probe.ProbePaths.Measured;
import org.kernbench.eval.probe.ProbePaths.Place;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;

/**
 * {@code pe-dma}: one PE's DMA by distance, and many PEs' DMAs at once.
 *
 * <p>Each row is a simulator of its own. The bound of a row is its closed form: for one access
 * exact on a flat machine; for a crowd all its bytes over the link that most of them share. In mode
 * full each row runs once more with values, and every byte is compared.
 */
final class PeDmaBench implements Bench {
  private static final Param<Long> BYTES =
      Param.size("bytes", "16 KiB", 1, 1 << 20, "size of each load or store");

  @Override
  public String name() {
    return "pe-dma";
  }

  @Override
  public String description() {
    return "DMA of a PE by distance, and of many PEs that share a slice, a link or nothing";
  }

  @Override
  public List<Param<?>> params() {
    return List.of(BYTES);
  }

  @Override
  public Outcome run(BenchContext context) {
    if (context.mode() == Mode.VALUES) {
      throw new UsageException("pe-dma measures time; expected --mode full or time");
    }
    Machine machine = context.machine();
    long bytes = context.param(BYTES);
    if (bytes > machine.pe().tcm().sizeBytes()) {
      throw new UsageException(
          "--param bytes: got " + bytes + " B; expected at most pe.tcm.size of the machine");
    }
    ProbePaths paths = new ProbePaths(machine, context.recording());
    Sum sum = new Sum(context, machine);
    Pe me = new Pe(0, 0, 0);
    for (Place place : paths.places(me)) {
      for (OpKind kind : List.of(OpKind.LOAD, OpKind.STORE)) {
        Access access = new Access(me, place, bytes, kind);
        String name = place.name() + ", " + kind.name().toLowerCase(java.util.Locale.ROOT);
        if (context.runs(name)) {
          Measured measured = paths.access(access);
          long formula = paths.formulaPs(access);
          sum.outcome.row(row(name, 1, bytes, formula, measured.ps(), paths.peak(access)));
          sum.add(name, measured, Math.min(formula, measured.ps()));
          sum.check(name, paths, List.of(access));
        }
      }
    }
    for (Case each : paths.crowds(bytes)) {
      if (context.runs(each.name())) {
        Measured measured = paths.crowd(each.crowd());
        long all = each.crowd().stream().mapToLong(Access::bytes).sum();
        long formula = paths.crowdBoundPs(each.crowd());
        double peak = paths.crowdPeak(each.crowd());
        int pes = each.crowd().size();
        sum.outcome.row(row(each.name(), pes, all, formula, measured.ps(), peak));
        sum.add(each.name(), measured, formula);
        sum.check(each.name(), paths, each.crowd());
      }
    }
    return sum.outcome();
  }

  /** The slowest of all cases, or the one that was chosen. */
  private static final class Sum {
    private final BenchContext context;
    private final Outcome outcome;
    private final Digest logs = new Digest();
    private long events;
    private long critPs;
    private long boundPs;
    private long wayPs;

    Sum(BenchContext context, Machine machine) {
      this.context = context;
      this.outcome = Outcome.on(machine).noBreakdown(PointSum.OF_POINTS);
    }

    void add(String point, Measured measured, long bound) {
      context.took(point, measured.ps());
      if (measured.ps() > critPs) {
        critPs = measured.ps();
        boundPs = bound;
        wayPs =
            Outcome.on(outcome.machine())
                .time(critPs, boundPs, "links")
                .opLog(measured.log())
                .launchWayPs();
      }
      events += measured.events();
      logs.add(measured.log().hash());
      if (context.choosesPoint()) {
        outcome.explained(measured.log(), measured.fromPs(), measured.lastOp());
      }
    }

    void check(String point, ProbePaths paths, List<Access> crowd) {
      if (context.mode() == Mode.FULL && !paths.areExact(crowd)) {
        outcome.problem("pe-dma: " + point + ": bytes did not arrive as they were");
      }
    }

    Outcome outcome() {
      return outcome.time(critPs, boundPs, "links").launchWay(wayPs).simulated(events, logs.text());
    }
  }

  private static Map<String, Object> row(
      String name, int pes, long bytes, long boundPs, long ps, double peak) {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("case", name);
    row.put("pes", pes);
    row.put("bytes", bytes);
    row.put("time_ns", Numbers.ns(ps));
    row.put("bound_ns", Numbers.ns(boundPs));
    row.put("gigabytes_per_s", Numbers.rounded(bytes * 1e3 / ps));
    row.put("peak_gigabytes_per_s", Numbers.rounded(peak / 1e9));
    row.put("utilisation", Numbers.rounded(bytes * 1e12 / ps / peak));
    return row;
  }
}
