package org.kernbench.eval.explain;

import org.kernbench.device.log.Cost;
import org.kernbench.device.log.LaunchLog;
import org.kernbench.device.log.OpKind;
import org.kernbench.device.log.OpLog;
import org.kernbench.eval.explain.CausalGraph.Piece;

/** What starts and ends of launches followed from: the host, its calls, and other launches. */
final class LaunchRules {
  private static final int NO_OP = -1;

  private final CausalGraph graph;
  private final OpLog log;
  private final LaunchLog launches;
  private final boolean allTight;

  LaunchRules(CausalGraph graph, OpLog log, boolean allTight) {
    this.graph = graph;
    this.log = log;
    this.launches = log.launches();
    this.allTight = allTight;
  }

  private int at(Moment kind, int index) {
    return graph.moment(kind.of(index));
  }

  /** A PE is done when its last command is complete. */
  void doneThere(int m, int row) {
    int op = launches.lastOp(row);
    if (op == LaunchLog.NONE) {
      graph.same(m, at(Moment.STARTED, launches.launch(row)), NO_OP);
      return;
    }
    boolean left = log.kind(op) == OpKind.SEND && log.endPs(op) != graph.timePs(m);
    graph.same(m, at(left ? Moment.LEFT : Moment.END, op), op);
  }

  /** A launch is done when the last of its PEs is. */
  void done(int m, int launch) {
    for (int row = launches.firstRow(launch); row < launches.endRow(launch); row++) {
      if (launches.doneTherePs(row) == graph.timePs(m)) {
        graph.same(m, at(Moment.DONE_THERE, row), launches.lastOp(row));
        if (!allTight) {
          return;
        }
      }
    }
  }

  /** A launch starts when its PEs are free, what it comes after is done, and it has been called. */
  void started(int m, int launch) {
    long now = graph.timePs(m);
    for (int row = launches.firstRow(launch); row < launches.endRow(launch); row++) {
      int before = launches.before(row);
      if (before != LaunchLog.NONE && launches.doneTherePs(before) == now) {
        graph.same(m, at(Moment.DONE_THERE, before), launches.lastOp(before));
        if (!allTight) {
          return;
        }
      }
    }
    for (int other : launches.after(launch)) {
      if (launches.donePs(other) == now) {
        graph.same(m, at(Moment.DONE, other), NO_OP);
        if (!allTight) {
          return;
        }
      }
    }
    if (launches.arrivedPs(launch) == now || graph.firstEdge(m) == CausalGraph.NONE) {
      Cost call = new Cost.LaunchCall(launches.pes(launch));
      Piece way = new Piece(call, PathCause.LAUNCH, NO_OP);
      graph.join(m, at(Moment.CALLED, launch), PathCause.OTHER, NO_OP, way);
    }
  }

  /** The host, which takes no time itself, calls when what it has waited for is done. */
  void called(int m, int launch) {
    int before = launches.hostWaitedFor(launch);
    int from = before == LaunchLog.NONE ? CausalGraph.ROOT : at(Moment.DONE, before);
    graph.join(m, from, PathCause.HOST, NO_OP);
  }
}
