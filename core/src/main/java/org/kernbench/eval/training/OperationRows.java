package org.kernbench.eval.training;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.kernbench.device.log.LaunchLog;
import org.kernbench.device.log.OpLog;
import org.kernbench.eval.output.Numbers;
import org.kernbench.machine.Machine;
import org.kernbench.machine.Pe;
import org.kernbench.nn.kernels.WorkCount;

/**
 * What the kernels of the first rank took, those of layers that are alike together, and what they
 * could not have been below: their products at the peak of all engines of the rank; each operand
 * read and each result written once by all slices of its HBM; the operands of products as often as
 * blocks of their sums need them; or copies through the links between cubes. Beside that, how long
 * the engines of the busiest PE were at work: what is left of a kernel's time waited for memory or
 * for others.
 *
 * <p>Kernels overlap, so times may add up to more than the step.
 */
public final class OperationRows {
  private final Machine machine;
  private final int pes;
  private final long totalPs;
  private final Map<String, Sum> sums = new LinkedHashMap<>();

  private static final class Sum {
    private long launches;
    private long ps;
    private long kept;
    private long keptPs;
    private long busyPs;
    private WorkCount work = WorkCount.NONE;
  }

  /**
   * Of a run.
   *
   * @param ofRank which PEs the rank has
   * @param pes how many of them compute
   * @param totalPs of the whole run
   */
  public OperationRows(
      Machine machine,
      OpLog ops,
      Predicate<Pe> ofRank,
      int pes,
      long totalPs,
      Map<String, WorkCount> work) {
    this.machine = machine;
    this.pes = pes;
    this.totalPs = totalPs;
    LaunchLog log = ops.launches();
    BusyEngines busy = new BusyEngines(ops, ofRank);
    for (int i = 0; i < log.size(); i++) {
      if (log.donePs(i) != LaunchLog.NONE && ofRank.test(log.pes(i).getFirst())) {
        Sum sum = sums.computeIfAbsent(alike(log.name(i)), name -> new Sum());
        sum.launches++;
        sum.ps += log.donePs(i) - log.startPs(i);
        if (ops.keepsAll(i)) {
          sum.kept++;
          sum.keptPs += log.donePs(i) - log.startPs(i);
          sum.busyPs += busy.ps(i);
        }
      }
    }
    work.forEach((name, one) -> {
      Sum sum = sums.get(alike(name));
      if (sum != null) {
        sum.work = sum.work.plus(one);
      }
    });
  }

  /** What the way of operands to the PEs is called in bounds. */
  private String operandsKind() {
    return WorkCount.isInTurn(machine) ? "compute and operands in turn" : "operands";
  }

  /** Layers are alike: their numbers are left out. */
  private static String alike(String name) {
    return name.replaceAll("\\.[0-9]+", ".*");
  }

  /** A row for each kind, the longest first. */
  public List<Map<String, Object>> rows() {
    List<Map.Entry<String, Sum>> all = new ArrayList<>(sums.entrySet());
    all.sort((a, b) -> Long.compare(b.getValue().ps, a.getValue().ps));
    List<Map<String, Object>> rows = new ArrayList<>();
    for (Map.Entry<String, Sum> e : all) {
      rows.add(row(e.getKey(), e.getValue()));
    }
    return rows;
  }

  private Map<String, Object> row(String name, Sum sum) {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("operation", name);
    row.put("launches", sum.launches);
    row.put("time_ns", Numbers.ns(sum.ps));
    row.put("share_pct", Numbers.rounded(100.0 * sum.ps / totalPs));
    long products = TrainingFlops.boundPs(machine, sum.work.flops(), pes);
    long memory =
        (long) (sum.work.bytes() / ((double) pes * machine.hbm().rate().bytesPerSecond()) * 1e12);
    boolean known = sum.work.launches() == sum.launches;
    long operands = sum.work.operandsPs();
    long links = sum.work.linksPs();
    long bound = Math.max(Math.max(products, memory), Math.max(operands, links));
    row.put("bound_ns", known ? Numbers.ns(bound) : "");
    String kind =
        bound == products
            ? "compute"
            : bound == memory ? "memory" : bound == operands ? operandsKind() : "links";
    row.put("bound_kind", known ? kind : "");
    row.put("of_bound_pct", known && sum.ps > 0 ? Numbers.rounded(100.0 * bound / sum.ps) : "");
    // the busy time of launches that the log does not hold is not known
    row.put("engines_ns", sum.kept == sum.launches ? Numbers.ns(sum.busyPs) : "");
    row.put("engines_pct", sum.keptPs > 0 ? Numbers.rounded(100.0 * sum.busyPs / sum.keptPs) : "");
    return row;
  }
}
