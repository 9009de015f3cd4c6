package org.kernbench.eval.explain;

import org.kernbench.device.log.LaunchLog;
import org.kernbench.device.log.OpLog;
import org.kernbench.device.log.TransferLog;
import org.kernbench.machine.Machine;

/**
 * What each moment of a run followed from, as its logs have it.
 *
 * <p>The log knows one cause of an operation's start, and all causes inside the fabric and of
 * launches. Operations that waited for two others until the same picosecond therefore count with
 * one of them.
 */
final class Causes implements CausalGraph.Rules {
  private final OpLog log;
  private final TransferLog ways;
  private final LaunchLog launches;
  private final TransferRules transferRules;
  private final OperationRules operationRules;
  private final LaunchRules launchRules;

  /**
   * @param allTight whether to add all predecessors that the logs know, not only the one that is
   *     shown
   */
  Causes(CausalGraph graph, Machine machine, OpLog log, boolean allTight) {
    this.log = log;
    this.ways = log.transfers();
    this.launches = log.launches();
    this.transferRules = new TransferRules(graph, machine, log, allTight);
    this.operationRules = new OperationRules(graph, machine, log, transferRules);
    this.launchRules = new LaunchRules(graph, log, allTight);
  }

  @Override
  public long timePs(long key) {
    int i = Moment.index(key);
    return switch (Moment.kind(key)) {
      case END -> log.endPs(i);
      case LEFT -> transferRules.leftPs(i);
      case FREED -> operationRules.freedPs(i);
      case START -> log.startPs(i);
      case PART_END -> ways.endPs(i);
      case PART_START -> ways.startPs(i);
      case HEAD_IN -> ways.startPsOf(i);
      case TAIL_IN -> ways.tailPs(i);
      case CALLED -> launches.calledPs(i);
      case STARTED -> launches.startPs(i);
      case DONE_THERE -> launches.doneTherePs(i);
      case DONE -> launches.donePs(i);
      case BETWEEN -> throw new IllegalStateException("moment between two costs");
    };
  }

  @Override
  public void expand(int m, long key) {
    int i = Moment.index(key);
    switch (Moment.kind(key)) {
      case END -> operationRules.end(m, i);
      case LEFT -> transferRules.left(m, i);
      case FREED -> operationRules.freed(m, i);
      case START -> operationRules.start(m, i);
      case PART_END -> transferRules.partEnd(m, i);
      case PART_START -> transferRules.partStart(m, i);
      case HEAD_IN -> transferRules.headIn(m, i);
      case TAIL_IN -> transferRules.tailIn(m, i);
      case CALLED -> launchRules.called(m, i);
      case STARTED -> launchRules.started(m, i);
      case DONE_THERE -> launchRules.doneThere(m, i);
      case DONE -> launchRules.done(m, i);
      case BETWEEN -> throw new IllegalStateException("moment between two costs");
    }
  }
}
