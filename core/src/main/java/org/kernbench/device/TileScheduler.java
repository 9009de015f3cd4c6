package org.kernbench.device;

import java.util.ArrayDeque;
import org.jspecify.annotations.Nullable;

/**
 * Issues the commands of composite operations beside the programs of a PE, so that a program that
 * hands one over goes on at once.
 *
 * <p>It is one more {@link ProgramContext}: it shares engines, TCM and memories with the programs,
 * issues without regard to {@code cpu.issue}, and pays {@code cpu.scheduler_dispatch} per command.
 * Tasks are taken first come, first served; the next begins to issue when the one before has issued
 * its last command, so the tail of one overlaps the head of the next.
 *
 * <p>Rejected: a unit of its own that steps through tiles. It would have to know buffers, operands,
 * memory order and causes a second time, and mode {@code values} would need a third copy.
 */
final class TileScheduler {
  final ProgramContext context;
  private final TimedPort port;
  private final ArrayDeque<ScheduledTask> waiting = new ArrayDeque<>();
  private @Nullable ScheduledTask issuing;
  private boolean starting;

  TileScheduler(TimedPe pe, int stream) {
    this.context = new ProgramContext(pe, stream, this);
    this.port = new TimedPort(context);
  }

  /** The task whose commands are being issued. */
  @Nullable ScheduledTask issuing() {
    return issuing;
  }

  /** A task is handed over; its command has been issued. */
  void take(ScheduledTask task) {
    task.begins(task.command.issuePs);
    waiting.add(task);
    startNext();
  }

  private void startNext() {
    if (starting) {
      return;
    }
    starting = true;
    while (issuing == null && !waiting.isEmpty()) {
      ScheduledTask task = waiting.remove();
      issuing = task;
      Op command = task.command;
      context.cpu.raiseBarrier(command.issuePs, command.issueCause, command.issueCauseOp);
      context.program.start("scheduler@" + context.pe.pe, () -> task.body.accept(port));
    }
    starting = false;
  }

  /** The program of the context may have ended. */
  void programMayHaveEnded() {
    ScheduledTask task = issuing;
    if (task == null || !context.program.hasEnded()) {
      return;
    }
    issuing = null;
    task.allIssued = true;
    context.program.forget();
    finishIfDone(task);
    startNext();
  }

  /** A command of a task has ended, or will for certain, at {@code timePs}. */
  void ended(ScheduledTask task, int op, long timePs) {
    task.ended(op, timePs);
    finishIfDone(task);
  }

  private void finishIfDone(ScheduledTask task) {
    if (task.isDone()) {
      task.owner.isDone(task);
    }
  }
}
