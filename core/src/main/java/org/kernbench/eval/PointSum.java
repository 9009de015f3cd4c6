package org.kernbench.eval;

import java.util.Optional;
import org.kernbench.device.Mode;

/** What all points of a bench have in common: first failure, slowest point, hashes over all. */
final class PointSum {
  private final Digest opLogs = new Digest();
  private final Digest valueHashes = new Digest();
  private long events;
  private long checked;
  private long wrong;
  private double maxAbsError;
  private double allowed;
  private Optional<ValueCheck.Mismatch> first = Optional.empty();
  private String problem = "";
  private long slowestPs;
  private long slowestBoundPs;
  private String slowestKind = "";

  void add(String point, Outcome o) {
    events += o.events();
    opLogs.add(o.opLogHash());
    valueHashes.add(o.valuesHash());
    o.values().ifPresent(this::add);
    if (o.critPs() > slowestPs) {
      slowestPs = o.critPs();
      slowestBoundPs = o.boundPs();
      slowestKind = o.boundKind();
    }
    if (problem.isEmpty() && o.critPs() < o.boundPs()) {
      problem =
          point
              + ": simulated time "
              + Numbers.ns(o.critPs())
              + " ns is below its lower bound "
              + Numbers.ns(o.boundPs())
              + " ns ("
              + o.boundKind()
              + ")";
    } else if (problem.isEmpty() && !o.problem().isEmpty()) {
      problem = point + ": " + o.problem();
    }
  }

  private void add(ValueCheck v) {
    checked += v.checked();
    wrong += v.wrong();
    maxAbsError = Math.max(maxAbsError, v.maxAbsError());
    allowed = Math.max(allowed, v.allowed());
    first = first.isPresent() ? first : v.first();
  }

  void into(Outcome outcome, Mode mode) {
    outcome.simulated(events, mode == Mode.VALUES ? "" : opLogs.text());
    if (mode != Mode.TIME) {
      outcome.values(
          new ValueCheck(checked, wrong, maxAbsError, allowed, first), valueHashes.text());
    }
    outcome.time(slowestPs, slowestBoundPs, slowestKind).problem(problem);
    outcome.noBreakdown(
        "a sweep keeps no operations; run one point with ccl-allreduce to see where its time"
            + " goes");
  }
}
