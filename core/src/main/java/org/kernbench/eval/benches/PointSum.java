package org.kernbench.eval.benches;

import java.util.Optional;
import org.kernbench.device.Mode;
import org.kernbench.eval.BenchContext;
import org.kernbench.eval.Outcome;
import org.kernbench.eval.ValueCheck;
import org.kernbench.eval.explain.Breakdown;
import org.kernbench.eval.output.Digest;
import org.kernbench.eval.output.Numbers;

/** What all points of a bench have in common: first failure, slowest point, hashes over all. */
final class PointSum {
  /** Why a table of many points has no breakdown. */
  static final String OF_POINTS =
      "the rows are runs of their own; --point N shows where the time of one of them goes";

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
  private long slowestWayPs;

  private final BenchContext context;
  private Optional<Outcome> only = Optional.empty();
  private boolean several;

  PointSum(BenchContext context) {
    this.context = context;
  }

  void add(String point, Outcome o) {
    context.took(point, o.critPs());
    several |= only.isPresent();
    only = Optional.of(o);
    events += o.events();
    opLogs.add(o.opLogHash());
    valueHashes.add(o.valuesHash());
    o.values().ifPresent(this::add);
    if (o.critPs() > slowestPs) {
      slowestPs = o.critPs();
      slowestBoundPs = o.boundPs();
      slowestKind = o.boundKind();
      slowestWayPs = o.launchWayPs();
    }
    if (problem.isEmpty() && o.critPs() < o.boundPs()) {
      problem =
          "%s: simulated time %s ns is below its lower bound %s ns (%s)"
              .formatted(point, Numbers.ns(o.critPs()), Numbers.ns(o.boundPs()), o.boundKind());
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

  void into(Outcome outcome) {
    Mode mode = context.mode();
    outcome.simulated(events, mode == Mode.VALUES ? "" : opLogs.text());
    if (mode != Mode.TIME) {
      outcome.values(
          new ValueCheck(checked, wrong, maxAbsError, allowed, first), valueHashes.text());
    }
    outcome.time(slowestPs, slowestBoundPs, slowestKind).launchWay(slowestWayPs).problem(problem);
    Optional<Breakdown> path = several ? Optional.empty() : only.flatMap(Outcome::breakdown);
    path.ifPresentOrElse(
        p -> outcome.opLog(p.log()).breakdown(p), () -> outcome.noBreakdown(OF_POINTS));
  }
}
